# SPDX-License-Identifier: Apache-2.0
"""Triangle meshes: what makes one sound, and as numbers for the compiled search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.geometry.mesh_kernels import (
    BORDER,
    CONCAVE,
    CONVEX,
    FLAT,
    NODE,
    TRIANGLE,
    split_nodes,
)
from humans_sim.core.arrays import real_array
from humans_sim.core.budget import TRIANGLES
from humans_sim.core.errors import ParameterError

LARGEST_COORDINATE = 1e5
"""Farthest that a vertex may lie from the origin [m]."""
_LEAF = 4
_THIN = 1e-10
"""Area over square of the longest edge below which a triangle is none."""
_FLAT = 1e-9
"""Height of a neighbour's corner over a plane, in edges, below which both are one."""


class MeshTable(NamedTuple):
    """A mesh as numbers.

    Attributes:
        vertices: all different (n, 3) [m].
        faces: (m, 3).
        data: nodes, triangles and normals of vertices, one after the other.
        triangles: where the triangles begin.
        normals: where the normals of vertices begin.
        edge: median length of an edge [m].
        closed: whether the mesh has no border.
    """

    vertices: np.ndarray
    faces: np.ndarray
    data: np.ndarray
    triangles: int
    normals: int
    edge: float
    closed: bool


def mesh_table(vertices: object, faces: object, name: str) -> MeshTable:
    """Check a mesh, and put it into numbers.

    Args:
        vertices: (n, 3) [m]; equal ones are merged.
        faces: three vertices each, counter-clockwise seen from outside (m, 3).
        name: what messages call it.

    Raises:
        ParameterError: it is empty, too large, not finite, degenerate, not a surface
            with two sides, or turned inside out.
    """
    points, corners = _arrays(vertices, faces, name)
    triangles = points[corners]
    normals, areas = _normals(triangles, name)
    neighbours = _neighbours(corners, name)
    closed = bool((neighbours >= 0).all())
    _check_outside(triangles, normals, areas, closed, name)
    kinds = _edge_kinds(triangles, normals, neighbours)
    planes = _planes(neighbours, kinds)
    edges = np.linalg.norm(triangles - np.roll(triangles, -1, axis=1), axis=2)
    records = np.zeros((len(corners), TRIANGLE))
    records[:, :9] = triangles.reshape(-1, 9)
    records[:, 9:12] = normals
    records[:, 12:15] = corners
    records[:, 18] = planes
    records[:, 19] = kinds @ np.array([1, 4, 16])
    nodes = np.zeros((2 * len(corners), NODE))
    order, count = split_nodes(
        triangles.min(axis=1), triangles.max(axis=1), _LEAF, nodes
    )
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    moved = np.where(neighbours >= 0, place[neighbours], -1)
    records[:, 15:18] = moved
    records = records[order]
    at_vertices = _vertex_normals(points, corners, triangles, normals, neighbours)
    parts = nodes[:count].ravel(), records.ravel(), at_vertices.ravel()
    data = np.concatenate(parts)
    data.setflags(write=False)
    start = parts[0].size
    return MeshTable(
        points,
        corners,
        data,
        start,
        start + parts[1].size,
        float(np.median(edges)),
        closed,
    )


def _arrays(
    vertices: object, faces: object, name: str
) -> tuple[np.ndarray, np.ndarray]:
    points = real_array(vertices, f"vertices of {name}")
    numbers = real_array(faces, f"faces of {name}")
    if points.ndim != 2 or points.shape[1] != 3:
        raise ParameterError(f"vertices of {name}: an array (n, 3), not {points.shape}")
    if numbers.ndim != 2 or numbers.shape[1] != 3:
        raise ParameterError(f"faces of {name}: an array (m, 3), not {numbers.shape}")
    if not len(points) or not len(numbers):
        raise ParameterError(f"{name} is empty: it has no faces")
    TRIANGLES.check(name, max(len(numbers), len(points) // 3))
    if not np.isfinite(points).all():
        raise ParameterError(f"vertices of {name}: they must be finite numbers")
    if np.abs(points).max() > LARGEST_COORDINATE:
        raise ParameterError(
            f"vertices of {name} lie up to {np.abs(points).max():g} m away, more than "
            f"{LARGEST_COORDINATE:g}: is the unit metres?"
        )
    inside = (numbers >= 0) & (numbers < len(points)) & (numbers == np.floor(numbers))
    if not inside.all():
        raise ParameterError(
            f"faces of {name}: vertices are 0 to {len(points) - 1}, not "
            f"{numbers[~inside][0]:g}"
        )
    # -0.0 and 0.0 are one place
    points, same = np.unique(points + 0.0, axis=0, return_inverse=True)
    corners = same.reshape(-1)[numbers.astype(np.int64)]
    used, again = np.unique(corners, return_inverse=True)
    return np.ascontiguousarray(points[used]), again.reshape(corners.shape)


def _normals(triangles: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    a, b, c = triangles.transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    areas = 0.5 * np.linalg.norm(normals, axis=1)
    squares = ((triangles - np.roll(triangles, -1, axis=1)) ** 2).sum(axis=2)
    thin = np.flatnonzero(areas <= _THIN * squares.max(axis=1))
    if thin.size:
        raise ParameterError(
            f"face {thin[0]} of {name} is degenerate: its corners lie on one line "
            f"({thin.size} such faces)"
        )
    return normals / (2 * areas)[:, None], areas


def _neighbours(corners: np.ndarray, name: str) -> np.ndarray:
    """The faces across the edges ab, bc, ca of each (m, 3); -1 at a border."""
    begin = corners.ravel()
    end = np.roll(corners, -1, axis=1).ravel()
    count = int(corners.max()) + 1
    key, twin = begin * count + end, end * count + begin
    order = np.argsort(key, kind="stable")
    double = np.flatnonzero(np.diff(key[order]) == 0)
    if double.size:
        faces = sorted(int(e) // 3 for e in order[double[0] : double[0] + 2])
        raise ParameterError(
            f"faces {faces[0]} and {faces[1]} of {name} run along one edge in the same "
            "direction: faces are turned inconsistently, or more than two meet there"
        )
    place = np.searchsorted(key[order], twin)
    place = np.minimum(place, len(order) - 1)
    hit = key[order][place] == twin
    return np.where(hit, order[place] // 3, -1).reshape(-1, 3)


def _check_outside(
    triangles: np.ndarray,
    normals: np.ndarray,
    areas: np.ndarray,
    closed: bool,
    name: str,
) -> None:
    """Refuse a closed mesh of negative volume, an open surface that faces down."""
    if closed:
        local = triangles - triangles.reshape(-1, 3).mean(axis=0)
        heights = np.einsum("ij,ij->i", normals, local[:, 0])
        if heights @ areas <= 0.0:
            raise ParameterError(
                f"{name} is inverted: its faces wind inwards; reverse their corners"
            )
    elif normals[:, 2] @ areas < -1e-9 * areas.sum():
        raise ParameterError(
            f"{name} is inverted: this open surface faces down; reverse the corners of "
            "its faces"
        )


def _edge_kinds(
    triangles: np.ndarray, normals: np.ndarray, neighbours: np.ndarray
) -> np.ndarray:
    """FLAT, CONVEX, CONCAVE or BORDER for the edges of each face (m, 3)."""
    kinds = np.full(neighbours.shape, FLAT)
    for edge in range(3):
        other = neighbours[:, edge]
        # of the neighbour's corners the one off the edge is farthest from the plane
        offset = triangles[other] - triangles[:, None, edge]
        heights = np.einsum("ijk,ik->ij", offset, normals)
        size = np.abs(offset).max(axis=(1, 2))
        farthest = np.abs(heights).argmax(axis=1)
        height = heights[np.arange(len(other)), farthest] / size
        kinds[height < -_FLAT, edge] = CONVEX
        kinds[height > _FLAT, edge] = CONCAVE
        kinds[other < 0, edge] = BORDER
    return kinds


def _planes(neighbours: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Number of the plane of each face: faces across flat edges have one (m,)."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    face, edge = np.nonzero(kinds == FLAT)
    other = neighbours[face, edge]
    count = len(neighbours)
    graph = coo_matrix((np.ones(len(face)), (face, other)), shape=(count, count))
    labels: np.ndarray = connected_components(graph, directed=False)[1]
    return labels


def _vertex_normals(
    points: np.ndarray,
    corners: np.ndarray,
    triangles: np.ndarray,
    normals: np.ndarray,
    neighbours: np.ndarray,
) -> np.ndarray:
    """Normals at vertices, weighted by angles; zero on a border (n, 3).

    So weighted they have the right side of everything whose nearest point is the vertex
    (Baerentzen and Aanaes, IEEE TVCG 11, 2005).
    """
    at_vertices = np.zeros_like(points)
    for k in range(3):
        ahead = triangles[:, (k + 1) % 3] - triangles[:, k]
        behind = triangles[:, (k + 2) % 3] - triangles[:, k]
        lengths = np.linalg.norm(ahead, axis=1) * np.linalg.norm(behind, axis=1)
        cosine = np.clip(np.einsum("ij,ij->i", ahead, behind) / lengths, -1.0, 1.0)
        np.add.at(at_vertices, corners[:, k], np.arccos(cosine)[:, None] * normals)
    face, edge = np.nonzero(neighbours < 0)
    at_vertices[corners[face, edge]] = 0.0
    at_vertices[corners[face, (edge + 1) % 3]] = 0.0
    return at_vertices
