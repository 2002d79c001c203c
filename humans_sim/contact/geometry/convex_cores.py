# SPDX-License-Identifier: Apache-2.0
"""Convex solids as smaller ones with a skin, so that touching ones stay apart.

A solid is the set of points within ``radius`` of its core, the convex hull of some
vertices. Where two solids touch, their cores are both radii apart: distance, nearest
points and normal of the cores are then well defined, as they are not for solids whose
surfaces meet. A solid that is given without a radius gets one: its faces move inwards
by it, which leaves the faces where they are and rounds edges and corners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, HalfspaceIntersection

_THICKEST = 1e-3
"""Largest radius of the skin that a solid gets [m]."""
_PART = 0.25
"""Radius of the skin over that of a ball inside the solid, at most."""
_FLAT = 1e-4
"""What has no thickness gets so much on either side [m]."""
_SMOOTH = 300
"""Vertices from which on a solid is smooth: each vertex moves inwards by itself."""
_SAME = 1e-6
"""Vertices and directions that differ less are one, relative."""


@dataclass(frozen=True, eq=False)
class ConvexCore:
    """The core of a convex solid.

    Attributes:
        vertices: of the core (n, 3) [m].
        radius: of the skin around it [m].
        normals: of the core's faces, outwards (f, 3); none of a point or a
            segment.
        loops: vertices of the faces, in the order around each of them.
        loop_ends: end of each face in ``loops`` (f,).
    """

    vertices: np.ndarray
    radius: float
    normals: np.ndarray
    loops: np.ndarray
    loop_ends: np.ndarray

    @classmethod
    def of(cls, vertices: np.ndarray, radius: float = 0.0) -> ConvexCore:
        """The core of the points within ``radius`` [m] of the hull of some vertices."""
        vertices = _thick(np.array(vertices, dtype=float))
        if len(vertices) < 4:
            none = np.zeros(0, dtype=np.int64)
            return cls(vertices, radius or _FLAT, np.zeros((0, 3)), none, none)
        if radius == 0.0:
            vertices, radius = _shrunk(vertices)
        vertices, normals, loops, ends = _faces(vertices)
        return cls(vertices, radius, normals, loops, ends)


class CoreTable(NamedTuple):
    """Several cores as arrays, for compiled functions.

    Attributes:
        vertices: of all cores, one after the other (n, 3) [m].
        vertex_start: first vertex of each core, and the end (s + 1,).
        normals: of all faces (f, 3).
        face_start: first face of each core, and the end (s + 1,).
        loops: vertices of all faces, counted in ``vertices``.
        loop_start: first of ``loops`` of each face, and the end (f + 1,).
        radius: of the skins (s,) [m].
        length: longest sides of the boxes around the solids (s,) [m].
    """

    vertices: np.ndarray
    vertex_start: np.ndarray
    normals: np.ndarray
    face_start: np.ndarray
    loops: np.ndarray
    loop_start: np.ndarray
    radius: np.ndarray
    length: np.ndarray

    @classmethod
    def of(cls, cores: Sequence[ConvexCore]) -> CoreTable:
        """The table of some cores."""
        vertex_start = _starts([len(core.vertices) for core in cores])
        loops = [c.loops + n for c, n in zip(cores, vertex_start[:-1], strict=True)]
        first = _starts([len(core.loops) for core in cores])
        ends = [c.loop_ends + n for c, n in zip(cores, first[:-1], strict=True)]
        return cls(
            vertices=np.vstack([np.zeros((0, 3)), *(c.vertices for c in cores)]),
            vertex_start=vertex_start,
            normals=np.vstack([np.zeros((0, 3)), *(c.normals for c in cores)]),
            face_start=_starts([len(core.normals) for core in cores]),
            loops=np.concatenate([np.zeros(0, np.int64), *loops]),
            loop_start=np.concatenate([[0], *ends]).astype(np.int64),
            radius=np.array([core.radius for core in cores]),
            length=np.array(
                [np.ptp(c.vertices, axis=0).max() + 2.0 * c.radius for c in cores]
            ),
        )


def _starts(counts: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


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
        return np.vstack([vertices + side * _FLAT * axes[2] for side in (-1.0, 1.0)])
    return vertices


def _shrunk(vertices: np.ndarray) -> tuple[np.ndarray, float]:
    """Vertices of the core of a solid without a skin, and the skin's radius."""
    hull = ConvexHull(vertices)
    middle = vertices[hull.vertices].mean(axis=0)
    inside = -(hull.equations[:, :3] @ middle + hull.equations[:, 3])
    radius = min(_THICKEST, _PART * float(inside.min()))
    if len(hull.vertices) > _SMOOTH:
        # Each moves inwards along the mean of its normals.
        normals, used = np.zeros_like(vertices), hull.vertices
        for k in range(3):
            np.add.at(normals, hull.simplices[:, k], hull.equations[:, :3])
        length = np.linalg.norm(normals[used], axis=1, keepdims=True)
        return vertices[used] - radius * normals[used] / length, radius
    planes = hull.equations.copy()
    planes[:, 3] += radius
    corners = HalfspaceIntersection(planes, middle).intersections
    size = float(np.ptp(vertices, axis=0).max())
    _, which = np.unique(np.round(corners / (_SAME * size)), axis=0, return_index=True)
    return corners[which], radius


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
