# SPDX-License-Identifier: Apache-2.0
"""Which links of a robot are its feet, and the flat face below each: its sole.

In the zero position, on a base that stands upright (x forwards, y to the left, z up:
REP 103), feet are the two links that reach lowest and hang on different joints. Shapes
are those of :mod:`humans_sim.models.collision_shapes`: collision geometry, of links
without any what is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.core.convex_polygon import convex_hull
from humans_sim.models.collision_shapes import CollisionShape, collision_shapes
from humans_sim.models.legs.chains import (
    Leg,
    NoBipedError,
    chain,
    leg_chains,
    read_leg,
)
from humans_sim.models.model import Model

_LEVEL = 0.02
"""Of the robot's height: feet stand on one floor within this."""
_SAME = 0.004
"""Of the robot's height: parts of one foot are as low as each other within this."""
_THICK = 0.01
"""Of the robot's height: what is so much higher belongs to the face below a foot."""
_POINT = 0.03
"""Of the leg's length: shortest side of a sole; shorter ones are points."""


@dataclass(frozen=True)
class Foot:
    """A foot in the zero position.

    Attributes:
        link: that is it.
        joint: pinocchio's number of the joint that carries it.
        corners: of its sole, counter-clockwise from the front left, in the link's
            frame (4, 3) [m].
        sole: frame of the sole in the link's frame: below the last joint, x forwards,
            z up.
        leg: its joints.
    """

    link: str
    joint: int
    corners: np.ndarray
    sole: pin.SE3
    leg: Leg

    @property
    def size(self) -> np.ndarray:
        """Length and width of its sole (2,) [m]."""
        flat = (self.corners - self.sole.translation) @ self.sole.rotation
        return np.ptp(flat, axis=0)[:2]


@dataclass(frozen=True)
class Feet:
    """The feet of a biped.

    Attributes:
        left, right: the feet.
        doubts: what is not sure, one sentence each.
    """

    left: Foot
    right: Foot
    doubts: tuple[str, ...]


def find_feet(model: Model) -> Feet:
    """Find the feet of a robot.

    Raises:
        NoBipedError: it has no two legs with flat feet; says why.
        ModelFileError: a mesh of its shapes cannot be read.
    """
    shapes = [s for s in collision_shapes(model) if s.joint > 1]
    if not shapes:
        raise NoBipedError(
            f"{model.name}: no link has a shape: feet are found from <collision> or "
            "<visual> geometry"
        )
    data = model.data()
    pin.framesForwardKinematics(model.pin, data, model.neutral())
    base = data.oMi[1]
    poses = {joint: base.actInv(data.oMi[joint]) for joint in {s.joint for s in shapes}}
    low = {joint: np.inf for joint in poses}
    top = -np.inf
    for shape in shapes:
        up = poses[shape.joint].rotation[2]
        height = poses[shape.joint].translation[2]
        low[shape.joint] = min(
            low[shape.joint], height - float(shape.support(-up[None])[0])
        )
        top = max(top, height + float(shape.support(up[None])[0]))
    height = top - min(low.values())
    left, right, doubts = _pair(model, low, poses, height)
    chains = leg_chains(model, left, right)
    feet = []
    for joint, joints in zip((left, right), chains, strict=True):
        leg = read_leg(model, joints)
        own = [shape for shape in shapes if shape.joint == joint]
        feet.append(_foot(model, data, own, leg, height))
    doubts += _differences(feet[0], feet[1])
    doubts += _turned(feet[0])
    return Feet(feet[0], feet[1], tuple(doubts))


def _pair(
    model: Model,
    low: dict[int, float],
    poses: dict[int, pin.SE3],
    height: float,
) -> tuple[int, int, list[str]]:
    """Joints that carry the left and the right foot."""
    floor = min(low.values())
    near = sorted(
        (j for j in low if low[j] - floor < _LEVEL * height), key=low.__getitem__
    )
    roots = _roots(model, near, low, _SAME * height)
    names = {j: _link(model, j) for j in roots}
    listed = ", ".join(names[j] for j in roots)
    if len(roots) < 2:
        raise NoBipedError(
            f"{model.name}: only {listed} reaches the ground in the zero position: two "
            "feet are wanted"
        )
    if len(roots) > 2:
        raise NoBipedError(
            f"{model.name}: {len(roots)} links reach the ground in the zero position "
            f"({listed}): a biped has two feet"
        )
    first, second = roots
    apart = poses[first].translation - poses[second].translation
    if abs(apart[1]) < abs(apart[0]):
        raise NoBipedError(
            f"{model.name}: {listed} stand behind each other: the base must have x "
            "forwards and y to the left"
        )
    doubts = []
    toes = [j for j in near if j not in roots and set(chain(model, j)) & set(roots)]
    if toes:
        listed = ", ".join(_link(model, j) for j in toes)
        doubts.append(f"{listed}: taken as toes, which stay as they are")
    if apart[1] < 0:
        first, second = second, first
    return first, second, doubts


def _roots(
    model: Model, near: list[int], low: dict[int, float], same: float
) -> list[int]:
    """Of links that hang on each other, the one that stands on the ground.

    Of a foot with toes, both do: the part that the toes hang on is the foot.
    """
    roots = []
    for joint in near:
        family = [
            k for k in near if joint in chain(model, k) or k in chain(model, joint)
        ]
        floor = min(low[k] for k in family)
        lowest = [k for k in family if low[k] - floor < same]
        first = min(lowest, key=lambda k: len(chain(model, k)))
        if first not in roots:
            roots.append(first)
    return roots


def _link(model: Model, joint: int) -> str:
    """The link that a joint carries."""
    for frame in model.pin.frames:
        if frame.type == pin.FrameType.BODY and frame.parentJoint == joint:
            return str(frame.name)
    return str(model.pin.names[joint])


def _foot(
    model: Model,
    data: pin.Data,
    shapes: list[CollisionShape],
    leg: Leg,
    height: float,
) -> Foot:
    """The face of a foot that lies lowest, with its frame."""
    joint = shapes[0].joint
    base = data.oMi[1]
    in_base = base.actInv(data.oMi[joint])
    up = in_base.rotation[2]  # the base's z axis in the joint's frame
    points = np.vstack([s.vertices - s.radius * up for s in shapes])
    heights = points @ up
    face = points[heights - heights.min() < _THICK * height]
    forwards = in_base.rotation[0] - (in_base.rotation[0] @ up) * up
    forwards /= np.linalg.norm(forwards)
    axes = np.column_stack([forwards, np.cross(up, forwards), up])
    flat = face @ axes
    hull = convex_hull(flat[:, :2])
    link = _link(model, joint)
    if len(hull) < 3 or min(np.ptp(hull, axis=0)) < _POINT * leg.length:
        raise NoBipedError(
            f"{model.name}: {link} touches the ground in a point or a line: walking "
            "patterns need soles with an area"
        )
    floor = float((points @ axes)[:, 2].min())
    corners = np.column_stack([_quadrangle(hull), np.full(4, floor)]) @ axes.T
    origin = axes @ np.array([0.0, 0.0, floor])  # below the joint, which is at zero
    frame = model.pin.frames[model.pin.getFrameId(link, pin.FrameType.BODY)]
    local = frame.placement.inverse()
    sole = local * pin.SE3(axes, origin)
    return Foot(link, joint, np.array([local.act(c) for c in corners]), sole, leg)


def _quadrangle(hull: np.ndarray) -> np.ndarray:
    """Four corners of a convex polygon that hold most of it, from the front left on."""
    if len(hull) == 3:
        hull = np.vstack([hull, hull[-1:]])
    best, most = hull[:4], -1.0
    count = len(hull)
    for i in range(count):
        for j in range(i + 1, count):
            across = hull[j] - hull[i]
            side = (
                across[0] * (hull - hull[i])[:, 1] - across[1] * (hull - hull[i])[:, 0]
            )
            area = float(side.max() - side.min())
            if area > most:
                most = area
                best = hull[[i, int(side.argmin()), j, int(side.argmax())]]
    middle = best.mean(axis=0)
    around = np.arctan2(*(best - middle).T[::-1])
    ordered = best[np.argsort(around)]
    front_left = int(np.argmax(ordered.sum(axis=1)))
    return np.roll(ordered, -front_left, axis=0)


def _differences(left: Foot, right: Foot) -> list[str]:
    """Where the legs are not mirror images of each other."""
    doubts = []
    if len(left.leg.joints) != len(right.leg.joints):
        doubts.append(
            f"the legs have {len(left.leg.joints)} and {len(right.leg.joints)} joints"
        )
    elif abs(left.leg.length - right.leg.length) > 0.01 * left.leg.length:
        doubts.append(
            f"the legs are {left.leg.length:.3f} and {right.leg.length:.3f} m long"
        )
    return doubts


def _turned(foot: Foot) -> list[str]:
    """Whether the base may point elsewhere than forwards."""
    length, width = foot.size
    if width > length:
        return [
            f"{foot.link}: its sole is {width:.3f} m wide and {length:.3f} m long: "
            "does the base's x point forwards?"
        ]
    along = (foot.corners - foot.sole.translation) @ foot.sole.rotation[:, 0]
    if -along.min() > along.max():
        return [
            f"{foot.link}: more of its sole is behind the ankle than before it: does "
            "the base's x point forwards?"
        ]
    return []
