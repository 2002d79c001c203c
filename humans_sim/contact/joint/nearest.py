# SPDX-License-Identifier: Apache-2.0
"""Nearest points of two smooth surfaces: Newton's method along both surfaces."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.contact.joint.contact_errors import SurfaceError
from humans_sim.contact.joint.contact_speeds import curvature_matrix
from humans_sim.contact.joint.edges import Core, Edge, core_of, nearest_on_cores
from humans_sim.contact.joint.surface_shapes import Plane
from humans_sim.contact.joint.surfaces import Surface, cross

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
    """Nearest points of two surfaces that are smooth there.

    Args:
        one: surface of body 1.
        two: surface of body 2.
        relative: placement of body 2 in body 1.
        where: to look first, in body 1 (3,) [m].
    """
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
    """Nearest points of edges, or an edge and a sphere; None for other surfaces.

    Args:
        one: surface of body 1.
        two: surface of body 2.
        relative: placement of body 2 in body 1.

    Raises:
        SurfaceError: the axes of two edges cross.
    """
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
    """The outermost point of a surface towards a plane, where the surface knows it.

    Args:
        plane: surface of body 1.
        other: surface of body 2.
        relative: placement of body 2 in body 1.
    """
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
    """Nearest points of two surfaces, from frames that lie on them not far away.

    Args:
        one: surface of body 1.
        two: surface of body 2.
        relative: placement of body 2 in body 1.
        first: frame on surface 1, in body 1, z out of it.
        second: frame on surface 2, in body 2, z into it.
    """
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
