# SPDX-License-Identifier: Apache-2.0
"""Feet and soles of a robot that nobody described: the flat faces below.

In the zero position, on a base that stands upright (x forwards, y to the left, z up:
REP 103), feet are the two links that reach lowest and hang on different joints. A sole
is the face that lies lowest; of a foot that is tilted there, its largest face that
looks down. Shapes are those of :mod:`humans_sim.models.collision_shapes`: collision
geometry, of links without any what is drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from scipy.spatial import ConvexHull, QhullError

from humans_sim.core.convex_polygon import convex_hull
from humans_sim.core.expressions import shortened
from humans_sim.models.collision_shapes import (
    CollisionShape,
    collision_shapes,
    missing_meshes,
)
from humans_sim.models.legs import Leg, NoBipedError, chain, leg_chains, read_leg
from humans_sim.models.model import Model
from humans_sim.models.points import frame_index, link_on

_LEVEL = 0.02
"""Of the robot's height: feet stand on one floor within this."""
_SAME = 0.004
"""Of the robot's height: parts of one foot are as low as each other within this."""
_THICK = 0.01
"""Of the robot's height: what is so much higher belongs to the face below a foot."""
_MIRRORED = 0.1
"""Of a sole's length: soles that differ by less are made mirror images."""
_WHEELS = 0.1
"""Of the height of all joints: wheels are among the lowest."""
_TILTED, _DOWN = math.radians(3.0), math.radians(45.0)
"""The largest face of a foot that looks down is its sole, though it is tilted by more
than the one and less than the other in the zero position."""
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
    _refuse_wheels(model)
    shapes = [s for s in collision_shapes(model) if s.joint > 1]
    if not shapes:
        raise NoBipedError(
            f"{model.name}: no link has a shape: feet are found from <collision> or "
            f"<visual> geometry{_missing(model)}"
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
    _check_missing(model, data, low)
    left, right, doubts = _pair(model, low, poses, height)
    chains = leg_chains(model, left, right)
    feet = []
    for joint, joints in zip((left, right), chains, strict=True):
        leg = read_leg(model, joints)
        own = [shape for shape in shapes if shape.joint == joint]
        feet.append(_foot(model, data, own, leg, height))
    doubts += _make_alike(model, data, feet)
    for link, mesh in missing_meshes(model).items():
        if model.pin.frames[frame_index(model.pin, link)].parentJoint in (left, right):
            doubts.append(
                f"the mesh '{shortened(mesh)}' of the foot {link} is missing: its sole "
                "is that of its other shapes"
            )
    doubts += _doubts(feet[0], feet[1])
    return Feet(feet[0], feet[1], tuple(doubts))


def _refuse_wheels(model: Model) -> None:
    """Refuse a robot whose lowest joints turn without end, side by side on one link."""
    data = model.data()
    pin.forwardKinematics(model.pin, data, model.neutral())
    base = data.oMi[1]
    heights = {
        joint: float(base.actInv(data.oMi[joint].translation)[2])
        for joint in range(2, model.pin.njoints)
    }
    if not heights:
        return
    low, high = min(heights.values()), max(0.0, *heights.values())
    by_parent: dict[int, list[str]] = {}
    for joint, height in heights.items():
        endless = np.isinf(model.upper_limits[joint - 2])
        if endless and height - low < _WHEELS * (high - low):
            names = by_parent.setdefault(int(model.pin.parents[joint]), [])
            names.append(str(model.pin.names[joint]))
    for names in by_parent.values():
        if len(names) > 1:
            raise NoBipedError(
                f"{model.name}: {', '.join(map(shortened, names))} turn without end at "
                "its lowest place: it stands on wheels, and has no legs to walk with"
            )


def _missing(model: Model) -> str:
    """What to do about meshes that are missing; nothing where none are."""
    links = missing_meshes(model)
    if not links:
        return ""
    first = shortened(next(iter(links.values())))
    return f"; meshes of {len(links)} links are missing: put '{first}' where it says"


def _check_missing(model: Model, data: pin.Data, low: dict[int, float]) -> None:
    """Refuse a robot whose feet may be meshes that are not there."""
    base, floor = data.oMi[1], min(low.values())
    for link, mesh in missing_meshes(model).items():
        pose = data.oMf[frame_index(model.pin, link)]
        if base.actInv(pose.translation)[2] <= floor:
            raise NoBipedError(
                f"{model.name}: the mesh '{shortened(mesh)}' of {link} is not there, "
                "and that link is lower than what is: put the mesh where it says"
            )


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
    first, second = _alike(model, near, roots)
    apart = poses[first].translation - poses[second].translation
    if abs(apart[1]) < abs(apart[0]):
        raise NoBipedError(
            f"{model.name}: {listed} stand behind each other: the base must have x "
            "forwards and y to the left"
        )
    doubts = []
    pair = {first, second}
    toes = [j for j in near if j not in pair and set(chain(model, j)) & pair]
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


def _alike(model: Model, near: list[int], roots: list[int]) -> tuple[int, int]:
    """Feet at the ends of equal legs: of unequal ones the longer is the foot's.

    Where the shapes of two links of a foot are equally low, a micrometre decides which
    of them stands; on both sides it shall be the same one.
    """
    chains = leg_chains(model, *roots)
    if len(chains[0]) == len(chains[1]):
        return roots[0], roots[1]
    short = int(len(chains[1]) < len(chains[0]))
    for joint in near:
        pair = [joint, joint]
        pair[1 - short] = roots[1 - short]
        if roots[short] in chain(model, joint):
            lengths = [len(own) for own in leg_chains(model, *pair)]
            if lengths[0] == lengths[1]:
                return pair[0], pair[1]
    return roots[0], roots[1]


def _foot(
    model: Model, data: pin.Data, shapes: list[CollisionShape], leg: Leg, height: float
) -> Foot:
    """The face of a foot that lies lowest, with its frame."""
    joint = shapes[0].joint
    base = data.oMi[1]
    in_base = base.actInv(data.oMi[joint])
    up = in_base.rotation[2]  # the base's z axis in the joint's frame
    points = np.vstack([s.vertices - s.radius * up for s in shapes])
    tilted = _tilted_face(points, up)
    if tilted is not None:
        up = tilted
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
    frame = model.pin.frames[frame_index(model.pin, link)]
    local = frame.placement.inverse()
    sole = local * pin.SE3(axes, origin)
    return Foot(link, joint, np.array([local.act(c) for c in corners]), sole, leg)


def _tilted_face(points: np.ndarray, up: np.ndarray) -> np.ndarray | None:
    """The direction that is up for the largest face that looks down, if it is tilted.

    Facets of the hull whose normals are within a small angle are one face.
    """
    try:
        hull = ConvexHull(points)
    except QhullError:  # all in a plane
        return None
    corners = hull.points[hull.simplices]
    sides = corners[:, 1:] - corners[:, :1]
    areas = 0.5 * np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    normals = hull.equations[:, :3]
    down = normals @ -up > math.cos(_DOWN)
    if not down.any():
        return None
    near = normals[down] @ normals.T > math.cos(_TILTED)
    largest = near[int(np.argmax(near @ areas))]
    mean = -(areas[largest] @ normals[largest])
    mean /= np.linalg.norm(mean)
    return mean if mean @ up < math.cos(_TILTED) else None


def _make_alike(model: Model, data: pin.Data, feet: list[Foot]) -> list[str]:
    """Make the soles of two feet mirror images, where they nearly are; doubts else.

    Meshes of the two sides differ by what their makers did not notice, and the last
    joint of a leg may lie on either side of its foot: a sole frame below it then is
    not the other one's mirror image.
    """
    base = data.oMi[1]
    poses = [
        pin.SE3(
            foot.sole.rotation.T,  # level, whatever they are in the zero position
            base.actInv(data.oMf[frame_index(model.pin, foot.link)]).translation,
        )
        for foot in feet
    ]
    corners = [
        np.array([pose.act(corner) for corner in foot.corners])
        for pose, foot in zip(poses, feet, strict=True)
    ]
    origins = [
        np.array(pose.act(foot.sole.translation))
        for pose, foot in zip(poses, feet, strict=True)
    ]
    middle = 0.5 * (corners[0][:, 1].mean() + corners[1][:, 1].mean())
    # As if both were left feet: the right one's corners go round the other way.
    own = [corners[0][:, :2] - (0.0, middle), corners[1][::-1, :2] - (0.0, middle)]
    own[1] = own[1] * (1.0, -1.0)
    length = float(max(np.ptp(part[:, 0]) for part in own))
    apart = float(np.abs(own[0] - own[1]).max())
    if apart > _MIRRORED * length:
        sizes = [" x ".join(f"{size:.3f}" for size in foot.size) for foot in feet]
        return [f"the soles are no mirror images: {sizes[0]} and {sizes[1]} m"]
    mean = 0.5 * (own[0] + own[1])
    below = [origins[0][:2] - (0.0, middle), origins[1][:2] - (0.0, middle)]
    below[1] = below[1] * (1.0, -1.0)
    centre = 0.5 * (below[0] + below[1])
    if abs(below[0][1] - below[1][1]) > _MIRRORED * length:
        centre[1] = 0.5 * (mean[:, 1].min() + mean[:, 1].max())
    for k, (foot, pose) in enumerate(zip(feet, poses, strict=True)):
        side = np.array([1.0, -1.0 if k else 1.0])
        flat = mean[::-1] if k else mean
        points = np.column_stack([flat * side + (0.0, middle), corners[k][:, 2]])
        place = np.array([*(centre * side + (0.0, middle)), origins[k][2]])
        feet[k] = replace(
            foot,
            corners=np.array([pose.actInv(corner) for corner in points]),
            sole=pin.SE3(foot.sole.rotation, pose.actInv(place)),
        )
    if apart > _SAME * length:
        return [f"the soles differ by {1e3 * apart:.1f} mm: both are their mean"]
    return []


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


def goes_backwards(feet: Feet) -> bool:
    """Whether heels are where toes should be, and knees bend to the front."""
    legs = (feet.left.leg, feet.right.leg)
    knees = all(leg.axes[leg.knee, 1] * leg.bend < 0.0 for leg in legs)
    return knees and _heel_longer(feet.left) and _heel_longer(feet.right)


def _heel_longer(foot: Foot) -> bool:
    """Whether more of a sole is behind the ankle than before it."""
    along = (foot.corners - foot.sole.translation) @ foot.sole.rotation[:, 0]
    return bool(-along.min() > along.max())


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
    if width > length:
        doubts.append(
            f"{left.link}: its sole is {width:.3f} m wide and {length:.3f} m long: "
            "does the base's x point forwards?"
        )
    elif _heel_longer(left):
        doubts.append(
            f"{left.link}: more of its sole is behind the ankle than before it: does "
            "the base's x point forwards?"
        )
    return doubts
