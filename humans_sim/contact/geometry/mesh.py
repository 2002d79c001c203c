# SPDX-License-Identifier: Apache-2.0
"""Triangle meshes, and the compiled search for the nearest triangle.

A mesh is one array of numbers: nodes of a tree of boxes, triangles in the order of its
leaves, normals of vertices. A row of the solids' table says where each of them begins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.arrays import real_array
from humans_sim.core.budget import TRIANGLES
from humans_sim.core.errors import ParameterError
from humans_sim.core.kernels import kernel

MESH = 3.0
"""Kind of a row that stands for a mesh."""
RANK, BAND, REACH, NODES, MESH_TRIANGLES, NORMALS, COUNT = 1, 2, 3, 4, 6, 8, 9
"""Columns of such a row: which contact of a point, band [m], radius of the largest ball
[m], where nodes, triangles and normals of vertices begin, number of triangles."""
NODE, TRIANGLE = 8, 20
"""Numbers of a node (low and high corner, right child or first triangle, number of
triangles) and of a triangle (see the columns below)."""
NORMAL, VERTEX, NEIGHBOUR, PLANE, KINDS = 9, 12, 15, 18, 19
FLAT, CONVEX, CONCAVE, BORDER = 0, 1, 2, 3
"""Kinds of an edge, base 4 in the column KINDS: edges ab, bc, ca."""
FACE, FIRST_VERTEX, FIRST_EDGE = 0, 1, 4
"""Regions of a triangle: 0 inside, 1 to 3 vertices, 4 to 6 edges ab, bc, ca."""
_STACK = 128
_LARGE = 4.0
"""Triangles larger than this are a branch of their own, in median sizes."""


@kernel
def edge_kind(data, triangle, edge):
    """Kind of an edge (0, 1, 2) of the triangle that begins at ``triangle``."""
    code = int(data[triangle + KINDS])
    for _ in range(edge):
        code //= 4
    return code % 4


@kernel
def closest_on_triangle(data, triangle, point, closest):
    """The point of a triangle nearest to a point, and the region it lies in.

    By the signs of Ericson, Real-Time Collision Detection, 5.1.5.
    """
    ab0 = data[triangle + 3] - data[triangle]
    ab1 = data[triangle + 4] - data[triangle + 1]
    ab2 = data[triangle + 5] - data[triangle + 2]
    ac0 = data[triangle + 6] - data[triangle]
    ac1 = data[triangle + 7] - data[triangle + 1]
    ac2 = data[triangle + 8] - data[triangle + 2]
    p0 = point[0] - data[triangle]
    p1 = point[1] - data[triangle + 1]
    p2 = point[2] - data[triangle + 2]
    d1 = ab0 * p0 + ab1 * p1 + ab2 * p2
    d2 = ac0 * p0 + ac1 * p1 + ac2 * p2
    s, t, region = 0.0, 0.0, FIRST_VERTEX
    if d1 > 0.0 or d2 > 0.0:
        bb = ab0 * ab0 + ab1 * ab1 + ab2 * ab2
        bc = ab0 * ac0 + ab1 * ac1 + ab2 * ac2
        cc = ac0 * ac0 + ac1 * ac1 + ac2 * ac2
        d3, d4 = d1 - bb, d2 - bc
        d5, d6 = d1 - bc, d2 - cc
        vc = d1 * d4 - d3 * d2
        vb = d5 * d2 - d1 * d6
        va = d3 * d6 - d5 * d4
        if d3 >= 0.0 and d4 <= d3:
            s, region = 1.0, FIRST_VERTEX + 1
        elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
            s, region = d1 / (d1 - d3), FIRST_EDGE
        elif d6 >= 0.0 and d5 <= d6:
            t, region = 1.0, FIRST_VERTEX + 2
        elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
            t, region = d2 / (d2 - d6), FIRST_EDGE + 2
        elif va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
            t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
            s, region = 1.0 - t, FIRST_EDGE + 1
        else:
            total = 1.0 / (va + vb + vc)
            s, t, region = vb * total, vc * total, FACE
    closest[0] = data[triangle] + s * ab0 + t * ac0
    closest[1] = data[triangle + 1] + s * ab1 + t * ac1
    closest[2] = data[triangle + 2] + s * ab2 + t * ac2
    return region


@kernel
def box_square(data, node, point):
    """Square of the distance of a point to the box of a node; 0 inside it."""
    square = 0.0
    for k in range(3):
        below = data[node + k] - point[k]
        above = point[k] - data[node + 3 + k]
        beyond = max(below, above)
        if beyond > 0.0:
            square += beyond * beyond
    return square


@kernel
def square_between(a, b):
    """Square of the distance of two points."""
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2


@kernel
def nearest_triangle(row, data, point, limit, closest):
    """The triangle of a mesh that is nearest to a point.

    Returns:
        where the triangle begins in ``data``, -1 where there is none within the limit;
        the region of the nearest point.
    """
    first, triangles = int(row[NODES]), int(row[MESH_TRIANGLES])
    best = limit * limit
    which, region = -1, FACE
    stack, bounds = np.empty(_STACK, np.int64), np.empty(_STACK)
    stack[0], bounds[0] = 0, box_square(data, first, point)
    height = 1
    trial = np.empty(3)
    while height:
        height -= 1
        if bounds[height] >= best:
            continue
        index = stack[height]
        node = first + NODE * index
        link, count = int(data[node + 6]), int(data[node + 7])
        if count:
            for k in range(link, link + count):
                triangle = triangles + TRIANGLE * k
                place = closest_on_triangle(data, triangle, point, trial)
                square = square_between(point, trial)
                if square < best:
                    best, which, region = square, triangle, place
                    closest[:] = trial
            continue
        near, far = index + 1, link
        near_bound = box_square(data, first + NODE * near, point)
        far_bound = box_square(data, first + NODE * far, point)
        if far_bound < near_bound:
            near, far = far, near
            near_bound, far_bound = far_bound, near_bound
        if far_bound < best:
            stack[height], bounds[height] = far, far_bound
            height += 1
        if near_bound < best:
            stack[height], bounds[height] = near, near_bound
            height += 1
    return which, region


@kernel
def plane_gap(data, triangle, point):
    """Height of a point over the plane of a triangle."""
    total = 0.0
    for k in range(3):
        total += data[triangle + NORMAL + k] * (point[k] - data[triangle + k])
    return total


@kernel
def neighbour(row, data, triangle, edge):
    """Where the triangle on the other side of an edge begins; -1 at a border."""
    other = int(data[triangle + NEIGHBOUR + edge])
    if other < 0:
        return -1
    return int(row[MESH_TRIANGLES]) + TRIANGLE * other


@kernel
def same_plane(data, triangle, point, closest):
    """Whether a triangle's plane has its nearest point right below the point."""
    height = plane_gap(data, triangle, point)
    square = 0.0
    for k in range(3):
        foot = point[k] - height * data[triangle + NORMAL + k]
        square += (foot - closest[k]) ** 2
    return square <= (1e-10 * abs(height) + 1e-13) ** 2


@kernel
def split_nodes(low, high, leaf, nodes):
    """Split boxes into a tree, at medians of widest axes; the order, how many nodes."""
    count = low.shape[0]
    middle = 0.5 * (low + high)
    # Large triangles, such as the bottom under fine ground, are a branch of their own:
    # among small ones they would make every box as large as they are.
    size = np.empty(count)
    for i in range(count):
        size[i] = max(high[i, 0] - low[i, 0], high[i, 1] - low[i, 1])
        size[i] = max(size[i], high[i, 2] - low[i, 2])
    large = size > _LARGE * np.median(size)
    order = np.concatenate((np.flatnonzero(~large), np.flatnonzero(large)))
    small = count - np.count_nonzero(large)
    begin, end = np.empty(_STACK, np.int64), np.empty(_STACK, np.int64)
    parent = np.empty(_STACK, np.int64)
    begin[0], end[0], parent[0] = 0, count, -1
    height, used = 1, 0
    while height:
        height -= 1
        first, last, above = begin[height], end[height], parent[height]
        index = used
        used += 1
        if above >= 0:
            nodes[above, 6] = index
        for k in range(3):
            nodes[index, k], nodes[index, 3 + k] = np.inf, -np.inf
        for i in range(first, last):
            for k in range(3):
                nodes[index, k] = min(nodes[index, k], low[order[i], k])
                nodes[index, 3 + k] = max(nodes[index, 3 + k], high[order[i], k])
        if last - first <= leaf:
            nodes[index, 6], nodes[index, 7] = first, last - first
            continue
        nodes[index, 7] = 0.0
        if index == 0 and 0 < small < count:
            begin[1], end[1], parent[1] = 0, small, -1
            begin[0], end[0], parent[0] = small, count, 0
            height = 2
            continue
        axis, widest = 0, -1.0
        for k in range(3):
            least, most = np.inf, -np.inf
            for i in range(first, last):
                least = min(least, middle[order[i], k])
                most = max(most, middle[order[i], k])
            if most - least > widest:
                axis, widest = k, most - least
        part = order[first:last].copy()
        order[first:last] = part[np.argsort(middle[part, axis])]
        half = (first + last) // 2
        begin[height], end[height], parent[height] = half, last, index
        height += 1
        begin[height], end[height], parent[height] = first, half, -1
        height += 1
    return order, used


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
    """Check a mesh, and put it into numbers; equal vertices are merged.

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
    return connected_components(graph, directed=False)[1]


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
