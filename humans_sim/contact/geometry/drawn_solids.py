# SPDX-License-Identifier: Apache-2.0
r"""Signed distance of convex solids: how far apart they are, or how deep they overlap.

A solid is the set of points within ``radius`` of the hull of its vertices: exactly what
is drawn, without a skin. Along a unit vector n the solids A and B are apart by

.. math:: s(n) = \min_{b \in B} n \cdot b - \max_{a \in A} n \cdot a

and their signed distance is the largest s(n) there is: where it is negative, the least
motion that takes them apart. So s of *any* direction is a bound from below, exact to
rounding: it certifies that an overlap is no deeper.

coal finds the direction (GJK and EPA). Its distances are exact to 1e-15 m, but where
solids just touch, its normal is not: with an overlap of 1e-9 m, s of that normal is off
by some 1e-8 m. Then the normals of faces, and the products of edges, that both solids
have where they touch are tried, too: the direction of a polytope's depth is one of
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import coal
import numpy as np

_FOREMOST = 6
"""Vertices of a solid, foremost along a normal, whose edges and faces are tried."""
_ROUNDS = 3
"""How often a normal is put right, at most."""
_PARALLEL = 1e-9
"""Sine of the angle below which two edges have no common normal."""
_FARTHEST = 1e9
"""coal has no depth, but a number below this, of what has no volume: a point in a
triangle, axes of capsules that cross [m]."""
_EXACT = 1e-13
"""By how much the distance along coal's normal may miss coal's distance [m]."""


class DrawnSolid:
    """The points within a radius of the hull of some vertices.

    Args:
        vertices: in the frame of the solid (n, 3) [m].
        radius: [m].

    Attributes:
        centre: of the box around it (3,) [m].
        reach: no point of it is farther from its centre [m].
    """

    def __init__(self, vertices: np.ndarray, radius: float = 0.0) -> None:
        self.vertices = np.array(vertices, dtype=float).reshape(-1, 3)
        self.radius = float(radius)
        low, high = self.vertices.min(axis=0), self.vertices.max(axis=0)
        self.centre = 0.5 * (low + high)
        away = np.linalg.norm(self.vertices - self.centre, axis=1)
        self.reach = float(away.max()) + self.radius

    @classmethod
    def box(cls, size: Sequence[float] | np.ndarray) -> DrawnSolid:
        """A box around its origin."""
        signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        return cls(signs * np.asarray(size, dtype=float))

    @classmethod
    def ball(cls, radius: float) -> DrawnSolid:
        """A ball around its origin."""
        return cls(np.zeros((1, 3)), radius)

    @cached_property
    def coal_solid(self) -> tuple[coal.CollisionGeometry, np.ndarray, np.ndarray]:
        """The solid as coal has it, its rotation and its place in this one's frame."""
        corners, turn = self.vertices, np.eye(3)
        if len(corners) == 1:
            return coal.Sphere(self.radius), turn, corners[0]
        if len(corners) == 2:
            along = corners[1] - corners[0]
            length = float(np.linalg.norm(along))
            _, _, axes = np.linalg.svd(along[None])
            turn = np.array([axes[1], np.cross(axes[0], axes[1]), axes[0]]).T
            return coal.Capsule(self.radius, length), turn, corners.mean(axis=0)
        points = coal.StdVec_Vec3s()
        for corner in corners:
            points.append(np.ascontiguousarray(corner))
        if len(corners) == 3:
            sides = coal.StdVec_Triangle()
            for side in ((0, 1, 2), (0, 2, 1)):
                sides.append(coal.Triangle(*side))
            solid = coal.Convex(points, sides)
        else:
            solid = coal.Convex.convexHull(points, True, "Qt")
        solid.setSweptSphereRadius(self.radius)
        return solid, turn, np.zeros(3)


def signed_distance(
    one: DrawnSolid, pose: np.ndarray, other: DrawnSolid, other_pose: np.ndarray
) -> tuple[float, np.ndarray]:
    """Signed distance of two solids [m], and the normal from the first to the second.

    Poses are rotations and places side by side (3, 4).
    """
    expected, normal = _by_coal(one, pose, other, other_pose)
    first = one.vertices @ pose[:, :3].T
    second = other.vertices @ other_pose[:, :3].T + (other_pose[:, 3] - pose[:, 3])
    distance = float((second @ normal).min() - (first @ normal).max())
    skin = one.radius + other.radius
    failed = expected < -_FARTHEST
    if distance < skin and (failed or distance - skin < expected - _EXACT):
        distance, normal = _put_right(first, second, distance, normal)
    return distance - skin, normal


def _by_coal(
    one: DrawnSolid, pose: np.ndarray, other: DrawnSolid, other_pose: np.ndarray
) -> tuple[float, np.ndarray]:
    """Signed distance and normal of two solids as coal finds them."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    parts = []
    for solid, place in ((one, pose), (other, other_pose)):
        shape, turn, at = solid.coal_solid
        rotation = place[:, :3] @ turn
        parts += [shape, coal.Transform3s(rotation, place[:, :3] @ at + place[:, 3])]
    distance = float(coal.distance(*parts, request, result))
    normal = np.array(result.normal)
    length = float(np.linalg.norm(normal))
    if not 0.5 < length < 2.0:  # coal has none: two balls around one point
        normal = other_pose @ [*other.centre, 1.0] - pose @ [*one.centre, 1.0]
        length = float(np.linalg.norm(normal))
    if length == 0.0:
        return distance, np.array([0.0, 0.0, 1.0])
    return distance, normal / length


def _put_right(
    first: np.ndarray, second: np.ndarray, distance: float, normal: np.ndarray
) -> tuple[float, np.ndarray]:
    """The largest distance along the normals of what two hulls touch each other with.

    Args:
        first: vertices of the one (n, 3).
        second: vertices of the other (m, 3).
        distance: along the normal.
        normal: from the first to the second, about right.
    """
    for _ in range(_ROUNDS):
        edges = np.vstack([_edges(first, -normal), _edges(second, normal), np.eye(3)])
        a, b = np.triu_indices(len(edges), 1)
        tried = np.cross(edges[a], edges[b])
        length = np.linalg.norm(tried, axis=1)
        tried, length = tried[length > _PARALLEL], length[length > _PARALLEL]
        tried = np.vstack([tried, -tried]) / np.tile(length, 2)[:, None]
        gaps = (tried @ second.T).min(axis=1) - (tried @ first.T).max(axis=1)
        best = int(np.argmax(gaps))
        if gaps[best] <= distance:
            break
        distance, normal = float(gaps[best]), tried[best]
    return distance, normal


def _edges(vertices: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Unit vectors between vertices that are lowest along a normal (k, 3)."""
    heights = vertices @ normal
    if len(heights) > _FOREMOST:
        vertices = vertices[np.argpartition(heights, _FOREMOST)[:_FOREMOST]]
    a, b = np.triu_indices(len(vertices), 1)
    edges = vertices[b] - vertices[a]
    length = np.linalg.norm(edges, axis=1, keepdims=True)
    return np.asarray(edges / np.where(length > 0.0, length, 1.0))


def distances_along(
    one: DrawnSolid,
    poses: np.ndarray,
    other: DrawnSolid,
    other_poses: np.ndarray,
    normals: np.ndarray,
) -> np.ndarray:
    """Distances of two solids along normals, in many poses (n,) [m].

    Each is a bound of the signed distance from below.

    Args:
        one: a solid.
        poses: its rotations and places (n, 3, 4).
        other: another one.
        other_poses: (n, 3, 4).
        normals: unit vectors from the one to the other (n, 3).
    """
    top = _heights(one, poses, normals).max(axis=1)
    bottom = -_heights(other, other_poses, -normals).max(axis=1)
    between = ((other_poses[:, :, 3] - poses[:, :, 3]) * normals).sum(axis=1)
    gaps: np.ndarray = between + bottom - top - one.radius - other.radius
    return gaps


def _heights(solid: DrawnSolid, poses: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Heights of vertices over the solid's origin, along normals (n, vertices)."""
    local = np.einsum("nij,ni->nj", poses[:, :, :3], normals)
    return np.asarray(local @ solid.vertices.T)


def least_distance(
    one: DrawnSolid,
    poses: np.ndarray,
    other: DrawnSolid,
    other_poses: np.ndarray,
    below: float = 0.0,
) -> tuple[float, int] | None:
    """Least signed distance of two solids in many poses, and in which.

    Poses in which a direction known from others keeps the solids apart cost no call of
    coal: the lowest bound is made exact until no pose has a lower one.

    Args:
        one: a solid.
        poses: its rotations and places (n, 3, 4).
        other: another one.
        other_poses: (n, 3, 4).
        below: nothing is looked for above it [m].

    Returns:
        None where there is no distance below ``below``.
    """
    apart = _centres(other, other_poses) - _centres(one, poses)
    bounds = np.linalg.norm(apart, axis=1) - one.reach - other.reach
    rows = np.flatnonzero(bounds < below)
    poses, other_poses, bounds = poses[rows], other_poses[rows], bounds[rows]
    least: tuple[float, int] | None = None
    while len(rows):
        k = int(np.argmin(bounds))
        exact, normal = signed_distance(one, poses[k], other, other_poses[k])
        if exact < below:
            least, below = (exact, int(rows[k])), exact
        turns, other_turns = poses[:, :, :3], other_poses[:, :, :3]
        for normals in (
            turns @ (turns[k].T @ normal),
            other_turns @ (other_turns[k].T @ normal),
        ):
            along = distances_along(one, poses, other, other_poses, normals)
            bounds = np.maximum(bounds, along)
        bounds[k] = max(exact, below)
        left = bounds < below
        rows, bounds = rows[left], bounds[left]
        poses, other_poses = poses[left], other_poses[left]
    return least


def _centres(solid: DrawnSolid, poses: np.ndarray) -> np.ndarray:
    """Centres of a solid in many poses (n, 3)."""
    return np.asarray(poses[:, :, :3] @ solid.centre + poses[:, :, 3])
