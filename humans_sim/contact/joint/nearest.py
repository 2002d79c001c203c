# SPDX-License-Identifier: Apache-2.0
"""Nearest points of two smooth surfaces: Newton's method along both surfaces.

*Speed of the contact point* over both surfaces. The contact frame has z out of body 1.
With the curvatures K1, K2 (2 x 2, in its x and y), sliding V and rolling w of body 2
relative to body 1, the point runs at u1 and u2:

    u1 - u2 = V             (the bodies slide on each other)
    K1 u1 + K2 u2 = w x z   (the normals stay opposite)

In one plane of curvature these are the equations of :mod:`planar_contact`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.contact.joint.surface_shapes import (
    Core,
    Edge,
    Plane,
    core_of,
    nearest_on_cores,
)
from humans_sim.contact.joint.surfaces import (
    CurvatureSumError,
    ForbiddenMotionError,
    Surface,
    SurfaceError,
    SurfacePoint,
    cross,
)

_FLAT = 1e-9
"""A curvature below this part of the greatest one counts as zero."""


def curvature_matrix(point: SurfacePoint, frame: pin.SE3) -> np.ndarray:
    """Curvatures in the x and y of a frame on the surface (2, 2) [1/m]."""
    flat = frame.rotation[:, :2].T @ point.axes
    return np.asarray((flat * point.curvatures) @ flat.T)


def flat_directions(k1: np.ndarray, k2: np.ndarray) -> np.ndarray:
    """Unit tangents along which both surfaces are flat: (2, 0), (2, 1) or (2, 2)."""
    scale = max(float(np.abs(k1).max()), float(np.abs(k2).max()))
    if scale == 0.0:
        return np.eye(2)
    (a, b), (_, d) = k1 + k2
    middle, spread = (a + d) / 2.0, math.hypot((a - d) / 2.0, b)
    if middle - spread > _FLAT * scale:
        return np.zeros((2, 0))
    if middle - spread < -_FLAT * scale:
        raise CurvatureSumError(float(middle - spread), conforming=False)
    values, vectors = np.linalg.eigh(k1 + k2)
    flat = vectors[:, np.abs(values) <= _FLAT * scale]
    own = np.abs(flat.T @ k1 @ flat).max()
    if own > _FLAT * scale:
        raise CurvatureSumError(0.0, conforming=True)
    return np.asarray(flat)


def contact_speeds(
    k1: np.ndarray, k2: np.ndarray, sliding: np.ndarray, rolling: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Speeds u1, u2 of the contact point in x and y [m/s].

    Along a line on which both surfaces are flat the point may be anywhere; it rests on
    body 2.
    """
    turning = np.array([rolling[1], -rolling[0]])
    flat = flat_directions(k1, k2)
    if not flat.shape[1]:
        (a, b), (c, d) = k1 + k2
        x, y = turning + k2 @ sliding
        u1 = np.array([d * x - b * y, a * y - c * x]) / (a * d - b * c)
        return u1, u1 - sliding
    lift = flat @ (flat.T @ turning)
    if math.hypot(lift[0], lift[1]) > _FLAT * math.hypot(turning[0], turning[1]):
        asked = {"rolling about x": float(-lift[1]), "rolling about y": float(lift[0])}
        raise ForbiddenMotionError(
            asked, "it would lift a contact along a line or plane; see basis(state)"
        )
    inverse = np.linalg.pinv(k1 + k2, rcond=_FLAT, hermitian=True)
    u1 = inverse @ (turning - lift + k2 @ sliding) + flat @ (flat.T @ sliding)
    return u1, u1 - sliding


def planewise_speeds(
    curvatures: tuple[np.ndarray, np.ndarray],
    directions: Sequence[np.ndarray],
    sliding: np.ndarray,
    rolling: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The article's speeds: each plane of curvature on its own, as in two dimensions.

    The same as :func:`contact_speeds` where the principal planes of both surfaces agree
    or one surface is round; elsewhere the twist of one surface in the planes of the
    other is missed, and the bodies roll and slide a little otherwise than asked.
    """
    k1, k2 = curvatures
    flat_directions(k1, k2)
    turning = np.array([rolling[1], -rolling[0]])
    speeds = []
    for side, own in enumerate(curvatures):
        speed = np.zeros(2)
        # A round surface has no principal planes of its own: it takes the other's.
        (a, b), (_, d) = own
        even = math.hypot(a - d, 2 * b) <= _FLAT * math.hypot(a, d)
        for direction in directions[1 - side if even else side].T:
            c1, c2 = (float(direction @ k @ direction) for k in (k1, k2))
            slid, rolled = float(direction @ sliding), -float(direction @ turning)
            along = planar_speeds(c1, c2, slid, rolled)
            speed += along[side] * direction
        speeds.append(speed)
    return speeds[0], speeds[1]


def planar_speeds(
    c1: float, c2: float, sliding: float, rolling: float
) -> tuple[float, float]:
    """Speeds of the contact point along two contours in a plane [m/s].

    ``s1' = (C2 V - w) / (C1 + C2)`` and ``s2' = -(C1 V + w) / (C1 + C2)``; between two
    straight lines the point rests on body 2.

    Args:
        c1: curvature of contour 1, positive where convex [1/m].
        c2: the same of contour 2.
        sliding: V, of body 2 on body 1 along the tangent t [m/s].
        rolling: w, of body 2 relative to body 1 about t x n, n out of body 1 [rad/s].
    """
    scale, total = max(abs(c1), abs(c2)), c1 + c2
    if scale == 0.0:
        if rolling != 0.0:
            raise ForbiddenMotionError(
                {"rolling": rolling}, "two flat contours can only slide on each other"
            )
        return sliding, 0.0
    if total < -_FLAT * scale:
        raise CurvatureSumError(total, conforming=False)
    if total <= _FLAT * scale:
        raise CurvatureSumError(total, conforming=True)
    return (c2 * sliding - rolling) / total, -(c1 * sliding + rolling) / total


_FIRST_ROUNDS, _ROUNDS = 12, 60
_REACH = 0.5
"""Longest step of Newton's method, in radii of curvature."""
_SMALL, _QUICK = 1e-8, 1e-3
"""A last step is below this part of the longest, and of the one before it."""


@dataclass(frozen=True, eq=False, slots=True)
class Nearest:
    """Nearest points of two surfaces.

    Attributes:
        first: frame at the point of surface 1, in body 1, z out of it.
        second: frame at the point of surface 2, in body 2, z into it.
        gap: distance along the normal, below zero where the surfaces overlap [m].
        angle: between the z axes [rad]; zero where the points are nearest indeed.
    """

    first: pin.SE3
    second: pin.SE3
    gap: float
    angle: float


def nearest(
    one: Surface, two: Surface, relative: pin.SE3, where: np.ndarray
) -> Nearest:
    """Nearest points of two smooth surfaces; ``where`` to look first, in body 1."""
    cores = nearest_of_cores(one, two, relative)
    if cores is not None:
        return cores
    try:
        p1 = one.at(where)
        for _ in range(_FIRST_ROUNDS):
            p2 = two.at(relative.actInv(p1.point))
            p1 = one.at(relative.act(p2.point))
    except SurfaceError as error:
        raise SurfaceError(f"{error}; say where to look with near=") from error
    first = one.frame(p1.point, 1)
    second = _turned(two.frame(p2.point, -1), relative.actInv(first))
    return nearest_from(one, two, relative, first, second)


def nearest_of_cores(one: Surface, two: Surface, relative: pin.SE3) -> Nearest | None:
    """Nearest points of edges, or an edge and a sphere; None for other surfaces."""
    if not (isinstance(one, Edge) or isinstance(two, Edge)):
        return None
    first, second = core_of(one), core_of(two)
    if first is None or second is None:
        return None
    moved = Core(
        relative.act(second.start), relative.rotation @ second.along, second.radius
    )
    p1, p2 = nearest_on_cores(first, moved)
    distance = math.sqrt((p2 - p1) @ (p2 - p1))
    normal = (p2 - p1) / distance
    axis = int(np.argmin(np.abs(normal)))
    x = np.eye(3)[axis] - normal[axis] * normal
    x = x / math.sqrt(x @ x)
    turn = np.column_stack([x, cross(normal, x), normal])
    over = pin.SE3(turn, p2 - second.radius * normal)
    return Nearest(
        pin.SE3(turn, p1 + first.radius * normal),
        relative.actInv(over),
        distance - first.radius - second.radius,
        0.0,
    )


def nearest_to_plane(plane: Plane, other: Surface, relative: pin.SE3) -> Nearest | None:
    """The outermost point of a surface towards a plane, where the surface knows it."""
    up = plane.placement.rotation[:, 2]
    point = other.outermost(-(relative.rotation.T @ up))
    if point is None:
        return None
    over = relative.act(point)
    height = float(up @ (over - plane.placement.translation))
    first = pin.SE3(plane.placement.rotation, over - height * up)
    second = pin.SE3(relative.rotation.T @ plane.placement.rotation, point)
    return Nearest(first, second, height, 0.0)


def nearest_from(
    one: Surface, two: Surface, relative: pin.SE3, first: pin.SE3, second: pin.SE3
) -> Nearest:
    """Nearest points of two surfaces, from frames that lie on them not far away."""
    last = math.inf
    for _ in range(_ROUNDS):
        matched = relative.act(second)
        apart = first.rotation.T @ (matched.translation - first.translation)
        tilt = first.rotation.T @ matched.rotation[:, 2]
        k1 = curvature_matrix(one.at(first.translation), first)
        k2 = curvature_matrix(two.at(second.translation), second)
        # Move by u1 and u2: normals opposite, difference of the points along them.
        off, sideways = -tilt[:2], apart[:2]
        stretch = np.eye(2) + apart[2] * k1
        u1 = _solved(k1 + k2 @ stretch, k2 @ sideways - off)
        u2 = stretch @ u1 - sideways
        bound = _REACH / max(float(np.abs(k1).max()), float(np.abs(k2).max()), 1e-12)
        size = max(math.hypot(*u1), math.hypot(*u2))
        if size > bound:
            u1, u2 = u1 * bound / size, u2 * bound / size
        first = one.settle(one.walk(first, u1, 1), 1)
        second = two.settle(two.walk(second, u2, -1), -1)
        second = _turned(second, relative.actInv(first))
        # Steps shrink by their squares: after a small one, round-off is left.
        sure = size <= _SMALL * bound and size <= _QUICK * last
        if sure or size <= 1e-15 * (1.0 + float(np.abs(first.translation).max())):
            break
        last = size
    matched = relative.act(second)
    apart = first.rotation.T @ (matched.translation - first.translation)
    tilt = first.rotation.T @ matched.rotation[:, 2]
    angle = math.atan2(math.hypot(tilt[0], tilt[1]), tilt[2])
    return Nearest(first, second, float(apart[2]), angle)


def _solved(matrix: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Solution of two equations; the shortest one where they are one or none."""
    (a, b), (c, d) = matrix
    determinant, size = a * d - b * c, max(abs(a), abs(b), abs(c), abs(d))
    if abs(determinant) <= 1e-9 * size * size:
        return np.asarray(np.linalg.pinv(matrix, rcond=1e-9) @ known)
    x, y = known
    return np.array([d * x - b * y, a * y - c * x]) / determinant


def _turned(frame: pin.SE3, like: pin.SE3) -> pin.SE3:
    """The frame turned about its z until its x points as another's does."""
    x, z = like.rotation[:, 0], frame.rotation[:, 2]
    x = x - (x @ z) * z
    x = x / math.sqrt(x @ x)
    return pin.SE3(np.column_stack([x, cross(z, x), z]), frame.translation)
