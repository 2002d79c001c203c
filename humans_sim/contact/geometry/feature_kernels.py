# SPDX-License-Identifier: Apache-2.0
"""Compiled contact of a point with what is nearest of a mesh.

A face has the distance of its plane; a convex edge or corner is curved by 1/d, and so
is the free border of an open surface. Inside the solid and beyond a concave edge the
plane that the point is deepest under counts, not the edge.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.geometry.mesh_kernels import (
    CONCAVE,
    CONVEX,
    COUNT,
    FACE,
    FIRST_EDGE,
    FIRST_VERTEX,
    FLAT,
    NORMAL,
    NORMALS,
    PLANE,
    VERTEX,
    edge_kind,
    neighbour,
    plane_gap,
    same_plane,
    square_between,
)
from humans_sim.core.kernels import kernel

MOST_AROUND = 64
"""Most triangles around a vertex that are looked at."""
_LEAST = 1e-12
"""Below this distance an edge has no normal of its own: a face's is taken [m]."""


@kernel
def _plane(data, hit, point, normal, hessian):
    """Contact with the plane of a triangle; the hit is then a face."""
    hessian[:] = 0.0
    triangle = int(hit[3])
    hit[4] = FACE
    for k in range(3):
        normal[k] = data[triangle + NORMAL + k]
    return plane_gap(data, triangle, point)


@kernel
def curved_contact(data, point, hit, length, normal, hessian):
    """Normal and Hessian of the distance to an edge or a corner."""
    triangle, region = int(hit[3]), int(hit[4])
    along = np.zeros(3)
    if region >= FIRST_EDGE:
        a = triangle + 3 * (region - FIRST_EDGE)
        b = triangle + 3 * ((region - FIRST_EDGE + 1) % 3)
        square = 0.0
        for k in range(3):
            along[k] = data[b + k] - data[a + k]
            square += along[k] ** 2
        for k in range(3):
            along[k] /= np.sqrt(square)
    for k in range(3):
        normal[k] = (point[k] - hit[k]) / length
    for i in range(3):
        for j in range(3):
            total = (1.0 if i == j else 0.0) - normal[i] * normal[j]
            hessian[i, j] = (total - along[i] * along[j]) / length


@kernel
def triangles_around(row, data, triangle, corner, walk):
    """The triangles around a vertex, from one of them on; fills ``walk``."""
    vertex = data[triangle + VERTEX + corner]
    walk[0] = triangle
    count = 1
    for turn in range(2):
        current = triangle
        while count < MOST_AROUND:
            k = 0
            for i in range(3):
                if data[current + VERTEX + i] == vertex:
                    k = i
            # the edge that ends at the vertex, then the one that begins there
            current = neighbour(row, data, current, (k + 2) % 3 if turn == 0 else k)
            if current < 0:
                break
            if current == triangle:
                return count
            walk[count] = current
            count += 1
    return count


@kernel
def _settle_vertex(row, data, point, hit):
    """Take the face or edge at a vertex that a point is square to, if there is one.

    Such a vertex is a place on it where the mesh happens to be cut.
    """
    triangle, corner = int(hit[3]), int(hit[4]) - FIRST_VERTEX
    vertex = data[triangle + VERTEX + corner]
    walk = np.empty(MOST_AROUND, np.int64)
    count = triangles_around(row, data, triangle, corner, walk)
    for i in range(count):
        if same_plane(data, walk[i], point, hit[:3]):
            hit[3], hit[4] = walk[i], FACE
            return
    for i in range(count):
        for k in range(3):
            a, b = walk[i] + 3 * k, walk[i] + 3 * ((k + 1) % 3)
            begins = data[walk[i] + VERTEX + k] == vertex
            ends = data[walk[i] + VERTEX + (k + 1) % 3] == vertex
            if not (begins or ends) or edge_kind(data, walk[i], k) == FLAT:
                continue
            along, size, length = 0.0, 0.0, 0.0
            for j in range(3):
                step, arm = data[b + j] - data[a + j], point[j] - hit[j]
                along += step * arm
                size += step * step
                length += arm * arm
            if along * along <= 1e-20 * size * length:
                hit[3], hit[4] = walk[i], FIRST_EDGE + k
                return


@kernel
def _deepest_around(row, data, point, triangle, corner):
    """The face around a vertex whose plane a point is deepest under."""
    walk = np.empty(MOST_AROUND, np.int64)
    count = triangles_around(row, data, triangle, corner, walk)
    best, which = np.inf, triangle
    for k in range(count):
        gap = plane_gap(data, walk[k], point)
        if gap < best:
            best, which = gap, walk[k]
    return which


@kernel
def feature_contact(row, data, point, hit, normal, hessian):
    """Signed distance to what is nearest, with its normal and Hessian.

    Args:
        row: of the mesh.
        data: of all meshes.
        point: (3,) [m].
        hit: nearest point (3), where its triangle begins, its region; the last two
            change where another face counts.
        normal: filled (3,).
        hessian: filled (3, 3) [1/m].
    """
    triangle, region = int(hit[3]), int(hit[4])
    closest = hit[:3]
    length = np.sqrt(square_between(point, closest))
    if region == FACE or length < _LEAST or same_plane(data, triangle, point, closest):
        return _plane(data, hit, point, normal, hessian)
    if region >= FIRST_EDGE:
        edge = region - FIRST_EDGE
        kind = edge_kind(data, triangle, edge)
        other = neighbour(row, data, triangle, edge)
        if kind == CONCAVE:
            if plane_gap(data, other, point) < plane_gap(data, triangle, point):
                hit[3] = other
            return _plane(data, hit, point, normal, hessian)
        if kind == FLAT:
            return _plane(data, hit, point, normal, hessian)
        if kind == CONVEX:
            if same_plane(data, other, point, closest):
                hit[3] = other
                return _plane(data, hit, point, normal, hessian)
            side = 0.0
            for k in range(3):
                mean = data[triangle + NORMAL + k] + data[other + NORMAL + k]
                side += mean * (point[k] - closest[k])
            if side <= 0.0:
                return _plane(data, hit, point, normal, hessian)
        curved_contact(data, point, hit, length, normal, hessian)
        return length
    vertex = int(data[triangle + VERTEX + region - FIRST_VERTEX])
    place = int(row[NORMALS]) + 3 * vertex
    side = 0.0
    for k in range(3):
        side += data[place + k] * (point[k] - closest[k])
    if side < 0.0:
        hit[3] = _deepest_around(row, data, point, triangle, region - FIRST_VERTEX)
        return _plane(data, hit, point, normal, hessian)
    _settle_vertex(row, data, point, hit)
    if int(hit[4]) == FACE:
        return _plane(data, hit, point, normal, hessian)
    curved_contact(data, point, hit, length, normal, hessian)
    return length


@kernel
def feature_number(row, data, hit):
    """Of a hit whose triangle and region were settled."""
    triangle, region = int(hit[3]), int(hit[4])
    if region == FACE:
        return 1 + int(data[triangle + PLANE])
    if region < FIRST_EDGE:
        return -1 - 2 * int(data[triangle + VERTEX + region - FIRST_VERTEX])
    # An edge is where two planes meet, in however many pieces.
    other = neighbour(row, data, triangle, region - FIRST_EDGE)
    one, two = int(data[triangle + PLANE]), int(row[COUNT])
    if other >= 0:
        two = int(data[other + PLANE])
    return -2 - 2 * (min(one, two) * (int(row[COUNT]) + 1) + max(one, two))
