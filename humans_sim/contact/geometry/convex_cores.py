# SPDX-License-Identifier: Apache-2.0
"""Convex solids: hulls of vertices, with a radius around them where they are round.

*Core*. Where two solids touch, nearest points and normal are not well defined. The core
of a solid with edges has its faces a little further inwards: where two solids touch,
their cores are apart. It serves to find the direction in which solids touch, nothing
else: contacts are those of the solids themselves. Of a round solid the core is the hull
of its vertices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, HalfspaceIntersection

_DEEPEST = 1e-3
"""How far a core lies inside its solid, at most [m]."""
_PART = 0.25
"""The same over the radius of a ball inside the solid."""
_FLAT, _FLAT_SHARE = 1e-4, 0.01
"""What has no thickness gets so much on either side, at most [m]; over its length, if
that is less."""
_SMOOTH = 300
"""Vertices from which on a solid is smooth: each vertex moves inwards by itself."""
_SAME = 1e-6
"""Vertices and directions that differ less are one, relative."""


@dataclass(frozen=True, eq=False)
class ConvexSolid:
    """The points within a radius of the convex hull of some vertices.

    Attributes:
        vertices: of the hull (n, 3) [m].
        radius: zero of a solid with edges and corners [m].
        normals: of the hull's faces, outwards (f, 3); none of a point or a segment.
        loops: vertices of the faces, in the order around each of them.
        loop_ends: end of each face in ``loops`` (f,).
        core: vertices of its core (m, 3) [m].
    """

    vertices: np.ndarray
    radius: float
    normals: np.ndarray
    loops: np.ndarray
    loop_ends: np.ndarray
    core: np.ndarray

    @classmethod
    def of(cls, vertices: np.ndarray, radius: float = 0.0) -> ConvexSolid:
        """The points within ``radius`` [m] of the hull of some vertices."""
        vertices = _thick(np.array(vertices, dtype=float))
        if len(vertices) < 4:
            none = np.zeros(0, dtype=np.int64)
            faces = np.zeros((0, 3))
            radius = radius or _half_thickness(vertices)
            return cls(vertices, radius, faces, none, none, vertices)
        vertices, normals, loops, ends = _faces(vertices)
        core = vertices if radius else _shrunk(vertices)
        return cls(vertices, radius, normals, loops, ends, core)

    @classmethod
    def half_space(cls, normal: np.ndarray, point: np.ndarray) -> ConvexSolid:
        """Everything below a plane."""
        none, row = np.zeros(0, dtype=np.int64), np.array(point, dtype=float)[None]
        return cls(row, 0.0, np.array(normal, dtype=float)[None], none, none, row)

    @property
    def is_half_space(self) -> bool:
        """Whether it has one face and no edges."""
        return len(self.normals) == 1


class SolidTable(NamedTuple):
    """Several solids as arrays, for compiled functions.

    Attributes:
        joint: joint that carries each solid, in whose frame it is given (s,).
        vertices: of all solids, one after the other (n, 3) [m].
        vertex_start: first vertex of each solid, and the end (s + 1,).
        normals: of all faces (f, 3).
        face_start: first face of each solid, and the end (s + 1,).
        loops: vertices of all faces, counted in ``vertices``.
        loop_start: first of ``loops`` of each face, and the end (f + 1,).
        radius: how far the solids go around their hulls (s,) [m].
        length: longest sides of the boxes around the solids (s,) [m].
        core: vertices of all cores (m, 3) [m].
        core_start: first vertex of each core, and the end (s + 1,).
        centre: of balls around the solids (s, 3) [m].
        reach: radii of these balls; infinite of half spaces (s,) [m].
        plane: whether they are half spaces (s,).
    """

    joint: np.ndarray
    vertices: np.ndarray
    vertex_start: np.ndarray
    normals: np.ndarray
    face_start: np.ndarray
    loops: np.ndarray
    loop_start: np.ndarray
    radius: np.ndarray
    length: np.ndarray
    core: np.ndarray
    core_start: np.ndarray
    centre: np.ndarray
    reach: np.ndarray
    plane: np.ndarray

    @classmethod
    def of(cls, solids: Sequence[ConvexSolid], joints: Sequence[int]) -> SolidTable:
        """The table of some solids."""
        vertex_start = _starts([len(solid.vertices) for solid in solids])
        loops = [c.loops + n for c, n in zip(solids, vertex_start[:-1], strict=True)]
        first = _starts([len(solid.loops) for solid in solids])
        ends = [
            (c.loop_ends if len(c.loop_ends) else np.zeros(len(c.normals), int)) + n
            for c, n in zip(solids, first[:-1], strict=True)
        ]
        none = np.zeros((0, 3))
        centre = np.array(
            [(c.vertices.min(axis=0) + c.vertices.max(axis=0)) / 2 for c in solids]
        ).reshape(-1, 3)
        reach = [
            np.inf
            if c.is_half_space
            else float(np.linalg.norm(c.vertices - m, axis=1).max()) + c.radius
            for c, m in zip(solids, centre, strict=True)
        ]
        return cls(
            joint=np.array(joints, dtype=np.int64),
            vertices=np.vstack([none, *(c.vertices for c in solids)]),
            vertex_start=vertex_start,
            normals=np.vstack([none, *(c.normals for c in solids)]),
            face_start=_starts([len(c.normals) for c in solids]),
            loops=np.concatenate([np.zeros(0, np.int64), *loops]),
            loop_start=np.concatenate([[0], *ends]).astype(np.int64),
            radius=np.array([c.radius for c in solids]),
            length=np.array(
                [
                    np.inf
                    if c.is_half_space
                    else np.ptp(c.vertices, axis=0).max() + 2.0 * c.radius
                    for c in solids
                ]
            ),
            core=np.vstack([none, *(c.core for c in solids)]),
            core_start=_starts([len(c.core) for c in solids]),
            centre=centre,
            reach=np.array(reach),
            plane=np.array([c.is_half_space for c in solids], dtype=np.bool_),
        )


def _starts(counts: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _half_thickness(vertices: np.ndarray) -> float:
    """What a point, a segment or a face gets on either side [m]."""
    length = float(np.ptp(vertices, axis=0).max())
    return min(_FLAT, _FLAT_SHARE * length) if length > 0.0 else _FLAT


def _thick(vertices: np.ndarray) -> np.ndarray:
    """Vertices of a point, a segment or a solid: what is flat gets two sides."""
    middle = vertices.mean(axis=0)
    _, spread, axes = np.linalg.svd(vertices - middle, full_matrices=False)
    spread = np.append(spread, np.zeros(3))
    if spread[0] == 0.0:
        return vertices[:1]
    if spread[1] <= _SAME * spread[0]:
        along = vertices @ axes[0]
        return vertices[[np.argmin(along), np.argmax(along)]]
    if spread[2] <= _SAME * spread[0]:
        half = _half_thickness(vertices)
        return np.vstack([vertices + side * half * axes[2] for side in (-1.0, 1.0)])
    return vertices


def _shrunk(vertices: np.ndarray) -> np.ndarray:
    """Vertices of the core of a solid with edges."""
    hull = ConvexHull(vertices)
    middle = vertices[hull.vertices].mean(axis=0)
    inside = -(hull.equations[:, :3] @ middle + hull.equations[:, 3])
    depth = min(_DEEPEST, _PART * float(inside.min()))
    if len(hull.vertices) > _SMOOTH:
        # Each moves inwards along the mean of its normals.
        normals, used = np.zeros_like(vertices), hull.vertices
        for k in range(3):
            np.add.at(normals, hull.simplices[:, k], hull.equations[:, :3])
        length = np.linalg.norm(normals[used], axis=1, keepdims=True)
        return np.asarray(vertices[used] - depth * normals[used] / length)
    planes = hull.equations.copy()
    planes[:, 3] += depth
    corners = HalfspaceIntersection(planes, middle).intersections
    size = float(np.ptp(vertices, axis=0).max())
    _, which = np.unique(np.round(corners / (_SAME * size)), axis=0, return_index=True)
    return np.asarray(corners[which])


def _faces(
    vertices: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Vertices of a hull that count; normals of its faces, loops, and their ends."""
    hull = ConvexHull(vertices)
    number = np.full(len(vertices), -1, dtype=np.int64)
    number[hull.vertices] = np.arange(len(hull.vertices))
    corners, triangles = vertices[hull.vertices], number[hull.simplices]
    planes = hull.equations
    # A triangle runs around its normal or against it.
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    around = (np.cross(b - a, c - a) * planes[:, :3]).sum(axis=1) > 0.0
    triangles = np.where(around[:, None], triangles, triangles[:, ::-1])
    if len(corners) > _SMOOTH:
        ends = 3 * np.arange(1, len(triangles) + 1)
        return corners, planes[:, :3].copy(), triangles.ravel(), ends
    # Triangles in one plane are one face.
    size = float(np.ptp(vertices, axis=0).max())
    keys = np.round(planes * np.array([1.0, 1.0, 1.0, 1.0 / size]) / _SAME)
    faces: dict[bytes, list[int]] = {}
    for k, key in enumerate(keys):
        faces.setdefault(key.tobytes(), []).append(k)
    loops: list[int] = []
    ends = np.zeros(len(faces), dtype=np.int64)
    for row, group in enumerate(faces.values()):
        loops += _loop([triangles[k].tolist() for k in group])
        ends[row] = len(loops)
    normals = planes[[group[0] for group in faces.values()], :3]
    return corners, normals, np.array(loops, dtype=np.int64), ends


def _loop(triangles: list[list[int]]) -> list[int]:
    """The way around triangles in one plane: edges that only one of them has."""
    edges = {(t[k], t[(k + 1) % 3]) for t in triangles for k in range(3)}
    after = {a: b for a, b in edges if (b, a) not in edges}
    loop = [triangles[0][0]] if not after else [next(iter(after))]
    while len(loop) <= len(after):
        at = after.get(loop[-1])
        if at == loop[0]:
            return loop
        if at is None:
            break
        loop.append(at)
    return triangles[0]  # a sliver spoilt the way
