# SPDX-License-Identifier: Apache-2.0
"""Legs of a model: their joints, feet and soles, and which tags carry load.

*Support*, the one rule for which tags of a sole carry load.

A sole has corners, which outline it, and may stand on balls instead
(:mod:`humans_sim.contact.geometry.foot_spheres`). Everything that sums forces over a
foot, lets one stand, or draws its outline asks here:

- :func:`support_tags`: what a sole stands on, balls where it has any, else its corners.
- :func:`load_tags`: every tag through which a force on the sole may come. Of a contact
  table :func:`contacts_of` picks those that are there, whatever a scene put into it.
- :func:`corner_places`: the outline, which does not depend on what touches.

*Feet and soles*, the flat faces below. In the zero position, on a base that stands
upright (x forwards, y to the left, z up: REP 103), feet are the two links that reach
lowest and hang on different joints. Shapes are those of
:mod:`humans_sim.models.collision_shapes`: collision geometry, of links without any what
is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.core.convex_polygon import convex_hull
from humans_sim.core.errors import ParameterError
from humans_sim.models.collision_shapes import CollisionShape, collision_shapes
from humans_sim.models.description import Sole
from humans_sim.models.model import Model
from humans_sim.models.points import link_on


def sole_named(model: Model, name: str) -> Sole:
    """A sole of a model by the name of its frame."""
    for sole in model.soles:
        if sole.name == name:
            return sole
    raise ParameterError(f"{model.name} has no sole called '{name}'")


def support_tags(sole: Sole) -> tuple[str, ...]:
    """The tags a sole stands on: its balls, or its corners where it has none."""
    return sole.spheres or sole.contacts


def load_tags(sole: Sole) -> tuple[str, ...]:
    """All tags through which a sole may carry load: corners and balls."""
    return sole.contacts + sole.spheres


def tag_of(contact: str) -> str:
    """The tag of a contact: what stands before the solid that it touches."""
    return contact.partition("/")[0]


def contacts_of(sole: Sole, contacts: Sequence[str]) -> dict[str, np.ndarray]:
    """Rows of the contacts that load a sole, by tag; tags without one are left out."""
    tags = np.array([tag_of(name) for name in contacts], dtype=object)
    rows = {tag: np.flatnonzero(tags == tag) for tag in load_tags(sole)}
    return {tag: points for tag, points in rows.items() if len(points)}


def corner_places(model: Model, sole: Sole) -> np.ndarray:
    """Corners of a sole in its own frame (n, 3) [m]."""
    return tag_places(model, sole, sole.contacts)


def tag_places(model: Model, sole: Sole, tags: Sequence[str]) -> np.ndarray:
    """Some tags of a sole in its own frame, in the zero position (n, 3) [m]."""
    q = model.neutral()
    frame = model.frame_pose(q, sole.name)
    points = model.tags(q)[[model.tag_names.index(tag) for tag in tags]]
    return np.array([frame.actInv(point) for point in points]).reshape(-1, 3)


ROLL, PITCH, YAW = "roll", "pitch", "yaw"
_NAMES = (ROLL, PITCH, YAW)
_ALONG = 0.8
"""Cosine from which a joint's axis counts as along one of the base's."""
_APART = 0.15
"""Of the leg's length: a knee is farther from hip and ankle than this."""


class NoBipedError(ParameterError):
    """A model has no two legs to walk with; the message says what is there."""


@dataclass(frozen=True)
class Leg:
    """The joints of a leg, from the hip on, in the zero position.

    Attributes:
        joints: places in ``model.joint_names``.
        axes: directions in the base's frame (n, 3).
        origins: in the base's frame (n, 3) [m].
        kinds: ``roll``, ``pitch``, ``yaw``, or empty where an axis is oblique (n,).
        knee: place among the joints.
        bend: sign of the knee's angles that bend it.
        length: from the hip over the knee to the ankle [m].
    """

    joints: tuple[int, ...]
    names: tuple[str, ...]
    axes: np.ndarray
    origins: np.ndarray
    kinds: tuple[str, ...]
    knee: int
    bend: int
    length: float

    @property
    def rolls_ankle(self) -> bool:
        """Whether the foot can roll: its soles stay level while the body sways."""
        return any(kind != PITCH for kind in self.kinds[self.knee + 1 :])

    def pitches(self) -> tuple[int, int, int]:
        """Places of the pitch joints of hip, knee and ankle among the joints."""
        pitches = [n for n, kind in enumerate(self.kinds) if kind == PITCH]
        return pitches[0], self.knee, pitches[-1]


def chain(model: Model, joint: int) -> list[int]:
    """Pinocchio's joints from the base to one of them, the floating base left out."""
    path = []
    while joint > 1:
        path.append(joint)
        joint = int(model.pin.parents[joint])
    return path[::-1]


def leg_chains(model: Model, left: int, right: int) -> tuple[list[int], list[int]]:
    """Pinocchio's joints that move one foot and not the other."""
    first, second = chain(model, left), chain(model, right)
    shared = set(first) & set(second)
    return (
        [joint for joint in first if joint not in shared],
        [joint for joint in second if joint not in shared],
    )


def read_leg(model: Model, joints: list[int]) -> Leg:
    """The joints of a leg, from pinocchio's numbers from the hip to the foot."""
    names = tuple(model.pin.names[joint] for joint in joints)
    listed = ", ".join(names) or "none"
    if len(joints) < 3:
        raise NoBipedError(
            f"{model.name}: a leg needs three joints or more to walk, not {listed}"
        )
    data = model.data()
    pin.computeJointJacobians(model.pin, data, model.neutral())
    base = data.oMi[1]
    axes = np.empty((len(joints), 3))
    origins = np.empty((len(joints), 3))
    for n, joint in enumerate(joints):
        column = model.pin.joints[joint].idx_v
        axes[n] = base.rotation.T @ data.J[3:, column]
        origins[n] = base.actInv(data.oMi[joint].translation)
    kinds = tuple(axis_kind(axis) for axis in axes)
    pitches = [n for n, kind in enumerate(kinds) if kind == PITCH]
    if len(pitches) < 3:
        raise NoBipedError(
            f"{model.name}: a leg needs pitch joints at hip, knee and ankle, its "
            f"joints are {listed}"
        )
    knee = _knee(origins, pitches)
    if knee is None:
        raise NoBipedError(f"{model.name}: no joint of the leg is a knee: {listed}")
    low, high = (
        limits[joints[knee] - 2] for limits in (model.lower_limits, model.upper_limits)
    )
    bend = 1 if high >= -low else -1
    hip, ankle = origins[pitches[0]], origins[pitches[-1]]
    length = np.linalg.norm(hip - origins[knee]) + np.linalg.norm(origins[knee] - ankle)
    return Leg(
        tuple(joint - 2 for joint in joints),
        names,
        axes,
        origins,
        kinds,
        knee,
        bend,
        float(length),
    )


def axis_kind(axis: np.ndarray) -> str:
    """``roll``, ``pitch``, ``yaw``, or empty where an axis is oblique."""
    along = int(np.abs(axis).argmax())
    return _NAMES[along] if abs(axis[along]) > _ALONG else ""


def _knee(origins: np.ndarray, pitches: list[int]) -> int | None:
    """The pitch joint farthest from hip and ankle; None: all are near one of them."""
    hip, ankle = origins[pitches[0]], origins[pitches[-1]]
    reach = float(np.linalg.norm(hip - ankle))
    apart = {
        n: min(
            float(np.linalg.norm(origins[n] - hip)),
            float(np.linalg.norm(origins[n] - ankle)),
        )
        for n in pitches[1:-1]
    }
    best = max(apart, key=lambda n: apart[n])
    return best if apart[best] > _APART * max(reach, 1e-9) else None


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
    """The feet of a biped."""

    left: Foot
    right: Foot
    doubts: tuple[str, ...]


def find_feet(model: Model) -> Feet:
    """Find the feet of a robot; :class:`NoBipedError` says why there are none."""
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
    doubts += _doubts(feet[0], feet[1])
    return Feet(feet[0], feet[1], tuple(doubts))


def _pair(
    model: Model, low: dict[int, float], poses: dict[int, pin.SE3], height: float
) -> tuple[int, int, list[str]]:
    """Joints that carry the left and the right foot."""
    floor = min(low.values())
    near = sorted(
        (j for j in low if low[j] - floor < _LEVEL * height), key=low.__getitem__
    )
    roots = _roots(model, near, low, _SAME * height)
    names = {j: link_on(model.pin, j) for j in roots}
    listed = ", ".join(names[j] for j in roots)
    if len(roots) < 2:
        raise NoBipedError(
            f"{model.name}: only {listed} reaches the ground in the zero position: a "
            "biped must have two feet"
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
        listed = ", ".join(link_on(model.pin, j) for j in toes)
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


def _foot(
    model: Model, data: pin.Data, shapes: list[CollisionShape], leg: Leg, height: float
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
    link = link_on(model.pin, joint)
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


def _doubts(left: Foot, right: Foot) -> list[str]:
    """Legs that are no mirror images; a base that may not point forwards."""
    doubts = []
    if len(left.leg.joints) != len(right.leg.joints):
        doubts.append(
            f"the legs have {len(left.leg.joints)} and {len(right.leg.joints)} joints"
        )
    elif abs(left.leg.length - right.leg.length) > 0.01 * left.leg.length:
        doubts.append(
            f"the legs are {left.leg.length:.3f} and {right.leg.length:.3f} m long"
        )
    length, width = left.size
    along = (left.corners - left.sole.translation) @ left.sole.rotation[:, 0]
    if width > length:
        doubts.append(
            f"{left.link}: its sole is {width:.3f} m wide and {length:.3f} m long: "
            "does the base's x point forwards?"
        )
    elif -along.min() > along.max():
        doubts.append(
            f"{left.link}: more of its sole is behind the ankle than before it: does "
            "the base's x point forwards?"
        )
    return doubts
