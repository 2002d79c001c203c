# SPDX-License-Identifier: Apache-2.0
"""How deep a convex solid is in a mesh: each triangle against the solid.

A solid that crosses the surface overlaps triangles. Of each the depth is the least
motion that takes the solid off it, as between convex solids; the deepest triangle
counts. There the motion has to take the solid off those triangles, too, that make a
flat or convex surface with it. So a corner in a flat floor is as deep as it is below
it, a peak in a sole as deep as it goes into it, and a foot in a wall and in the floor
as deep as it is in one of them.

Where the solid's centre is inside, that motion could lead farther in. Then only motions
to the outer side of a triangle count, along normals of triangles around it; a solid
that crosses none is as deep as it goes below the plane of the nearest one. Inside is
the side that normals point away from: what a closed mesh encloses, and what is below an
open surface or a height field.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.geometry.drawn_solids import DrawnSolid, signed_distance
from humans_sim.contact.geometry.mesh_contact_kernels import least_distances
from humans_sim.contact.geometry.terrain import TriangleMesh

_COARSE = 16
"""One of so many poses is looked at first."""
_AT_ONCE = 1 << 20
"""Pairs of poses and triangles whose boxes are compared together."""
_ACROSS = 1e-9
"""Cosine of the angle between a motion and a triangle along which it leads out."""
_FLAT = 1e-9
"""Height over a plane below which a corner counts as behind it [m]."""
_TOUCHING = 1e-9
"""Depth up to which a solid only touches a triangle [m]. It may touch several, far from
each other: no motion takes it off all of them, and none has to."""
_STILL = np.eye(3, 4)


class MeshSurface:
    """The triangles of a mesh, to find out how deep solids are in it."""

    def __init__(self, mesh: TriangleMesh) -> None:
        self.name = mesh.name
        self._rows, self._data = mesh.row()[None], mesh.data
        self._corners = mesh.vertices[mesh.faces]
        a, b, c = self._corners.transpose(1, 0, 2)
        normals = np.cross(b - a, c - a)
        self._normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
        self._low, self._high = self._corners.min(axis=1), self._corners.max(axis=1)
        low, high = self._low.min(axis=0), self._high.max(axis=0)
        if not mesh.closed:  # all that is below it is behind it
            low[2] = -np.inf
        self._box = low, high

    def least_distance(
        self, solid: DrawnSolid, poses: np.ndarray, below: float = 0.0
    ) -> tuple[float, int] | None:
        """Least signed distance of a solid in many poses (n, 3, 4), and in which.

        None where there is none below ``below``.
        """
        rows, inside = self._near(solid, poses, below)
        if not len(rows):
            return None
        pairs, bounds = self._pairs(solid, poses, rows)
        sunk = inside[np.searchsorted(rows, pairs[:, 0])]
        least = self._crossing(solid, poses, pairs[~sunk], bounds[~sunk], below)
        below = below if least is None else least[0]
        deeper = self._deepest_inside(solid, poses, rows[inside], pairs[sunk], below)
        if deeper is not None:
            return deeper
        if least is None:
            return None
        around = pairs[pairs[:, 0] == least[1], 1]
        together = self._together(solid, poses[least[1]], around, False)
        return min(least[0], together), least[1]

    def _near(
        self, solid: DrawnSolid, poses: np.ndarray, below: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Poses in which the ball around a solid meets the mesh; is its centre in?"""
        centres = poses[:, :, :3] @ solid.centre + poses[:, :, 3]
        low, high = self._box
        beyond = np.maximum(np.maximum(low - centres, centres - high), 0.0)
        rows = np.flatnonzero(np.linalg.norm(beyond, axis=1) < solid.reach + below)
        if not len(rows):
            return rows, np.zeros(0, dtype=bool)
        at = centres[rows]
        first = np.repeat(at[::_COARSE], _COARSE, axis=0)[: len(at)]
        room = least_distances(self._rows, self._data, at[::_COARSE])
        bounds = np.repeat(room, _COARSE)[: len(at)]
        bounds = bounds - np.linalg.norm(at - first, axis=1)
        left = bounds < solid.reach + below
        rows, at = rows[left], at[left]
        gaps = least_distances(self._rows, self._data, at)
        near = gaps < solid.reach + below
        return rows[near], gaps[near] < 0.0

    def _pairs(
        self, solid: DrawnSolid, poses: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Poses and triangles whose boxes meet (n, 2), with bounds of distances."""
        turns, places = poses[rows, :, :3], poses[rows, :, 3]
        heights = turns @ solid.vertices.T
        low = heights.min(axis=2) + places - solid.radius
        high = heights.max(axis=2) + places + solid.radius
        some = (self._low < high.max(axis=0)).all(axis=1)
        some &= (self._high > low.min(axis=0)).all(axis=1)
        numbers = np.flatnonzero(some)
        step = max(1, _AT_ONCE // max(1, len(numbers)))
        found = [np.zeros((0, 2), dtype=np.int64)]
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            meet = (self._low[numbers] < high[part, None]).all(axis=2)
            meet &= (self._high[numbers] > low[part, None]).all(axis=2)
            k, triangle = np.nonzero(meet)
            found.append(np.column_stack([rows[start + k], numbers[triangle]]))
        pairs = np.concatenate(found)
        bounds = self._along(solid, poses, pairs, self._normals[pairs[:, 1]])
        return pairs, bounds

    def _along(
        self,
        solid: DrawnSolid,
        poses: np.ndarray,
        pairs: np.ndarray,
        normals: np.ndarray,
    ) -> np.ndarray:
        """Distances of the solid from triangles along normals (n,)."""
        at, corners = poses[pairs[:, 0]], self._corners[pairs[:, 1]]
        local = np.einsum("nij,ni->nj", at[:, :, :3], normals)
        bottom = (local @ solid.vertices.T).min(axis=1) - solid.radius
        away = corners - at[:, None, :, 3]
        gaps: np.ndarray = bottom - (away @ normals[:, :, None]).max(axis=(1, 2))
        return gaps

    def _crossing(
        self,
        solid: DrawnSolid,
        poses: np.ndarray,
        pairs: np.ndarray,
        bounds: np.ndarray,
        below: float,
    ) -> tuple[float, int] | None:
        """The least distance from a triangle, of poses with the centre outside."""
        least: tuple[float, int] | None = None
        left = bounds < below
        while left.any():
            pairs, bounds = pairs[left], bounds[left]
            k = int(np.argmin(bounds))
            row = int(pairs[k, 0])
            exact, normal = self._exact(solid, poses[row], int(pairs[k, 1]))
            if exact < below:
                least, below = (exact, row), exact
            own = poses[pairs[:, 0], :, :3] @ (poses[row, :, :3].T @ normal)
            for normals in (np.broadcast_to(normal, own.shape), own):
                along = self._along(solid, poses, pairs, normals)
                bounds = np.maximum(bounds, along)
            bounds[k] = max(exact, below)
            left = bounds < below
        return least

    def _exact(
        self, solid: DrawnSolid, pose: np.ndarray, triangle: int
    ) -> tuple[float, np.ndarray]:
        """Signed distance of a solid from a triangle, and the normal towards it."""
        sheet = DrawnSolid(self._corners[triangle])
        return signed_distance(sheet, _STILL, solid, pose)

    def _deepest_inside(
        self,
        solid: DrawnSolid,
        poses: np.ndarray,
        rows: np.ndarray,
        pairs: np.ndarray,
        below: float,
    ) -> tuple[float, int] | None:
        """The least distance, of poses with the centre inside the mesh."""
        least: tuple[float, int] | None = None
        for row in rows.tolist():
            around = pairs[pairs[:, 0] == row, 1]
            distance = self._inside(solid, poses[row], around)
            if distance < below:
                least, below = (distance, row), distance
        return least

    def _inside(self, solid: DrawnSolid, pose: np.ndarray, around: np.ndarray) -> float:
        """Signed distance of a solid whose centre is inside the mesh.

        ``around``: triangles whose boxes meet the solid's.
        """
        together = self._together(solid, pose, around, True)
        if together < 0.0:
            return together
        nearest = self._nearest(pose @ [*solid.centre, 1.0])
        normal = self._normals[nearest]
        return float(self._gaps(solid, pose, np.array([nearest]), normal[None])[0, 0])

    def _together(
        self, solid: DrawnSolid, pose: np.ndarray, around: np.ndarray, inside: bool
    ) -> float:
        """Signed distance of a solid that crosses triangles; 0 where it crosses none.

        Off a triangle it moves in a direction that takes it off those, too, that the
        triangle makes a flat or convex surface with.
        """
        found = [self._exact(solid, pose, int(k)) for k in around]
        crossed = np.array([gap < -_TOUCHING for gap, _ in found], dtype=bool)
        if not crossed.any():
            return 0.0
        around = around[crossed]
        normals = self._normals[around]
        moves = np.vstack([normals, np.array([normal for _, normal in found])[crossed]])
        corners = self._corners[around]
        planes = (corners[:, 0] * normals).sum(axis=1)
        behind = (corners @ normals.T - planes).max(axis=1) <= _FLAT
        gaps = self._gaps(solid, pose, around, moves)
        joint = np.where((behind & behind.T)[:, :, None], gaps, np.inf).min(axis=1)
        if inside:
            joint = np.where(normals @ moves.T >= -_ACROSS, joint, -np.inf)
        return float(joint.max(axis=1).min())

    def _gaps(
        self,
        solid: DrawnSolid,
        pose: np.ndarray,
        triangles: np.ndarray,
        normals: np.ndarray,
    ) -> np.ndarray:
        """Distances of a solid from triangles along normals (triangles, normals)."""
        vertices = solid.vertices @ pose[:, :3].T + pose[:, 3]
        bottom = (vertices @ normals.T).min(axis=0) - solid.radius
        gaps: np.ndarray = bottom - (self._corners[triangles] @ normals.T).max(axis=1)
        return gaps

    def _nearest(self, point: np.ndarray) -> int:
        """The triangle that is nearest to a point."""
        ball = DrawnSolid(point)
        reach = np.linalg.norm(self._corners - point, axis=2).max(axis=1)
        beyond = np.maximum(np.maximum(self._low - point, point - self._high), 0.0)
        maybe = np.flatnonzero(np.linalg.norm(beyond, axis=1) <= reach.min())
        gaps = [self._exact(ball, _STILL, int(k))[0] for k in maybe]
        return int(maybe[int(np.argmin(gaps))])
