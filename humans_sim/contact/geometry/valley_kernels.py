# SPDX-License-Identifier: Apache-2.0
"""Compiled further contacts of a point with a mesh: in a valley it touches several.

They are the next nearest faces, edges or corners that are nearest points of the mesh in
their own neighbourhood, and in front of which the other contacts lie: what a convex
edge separates is never touched together.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.geometry.feature_kernels import (
    MOST_AROUND,
    curved_contact,
    feature_contact,
    feature_number,
    triangles_around,
)
from humans_sim.contact.geometry.mesh_kernels import (
    BAND,
    CONCAVE,
    FACE,
    FIRST_EDGE,
    FIRST_VERTEX,
    FLAT,
    NODE,
    NODES,
    NORMAL,
    RANK,
    REACH,
    TRIANGLE,
    TRIANGLES,
    box_square,
    closest_on_triangle,
    edge_kind,
    nearest_triangle,
    neighbour,
    plane_gap,
    square_between,
)
from humans_sim.core.kernels import kernel

FAR = 1000.0
"""Gap of a further contact that is not there [m]."""
ABSENT = 0.5 * FAR
"""Contacts of such gaps are not there, whatever the radius of their ball [m]."""
_SAME = 1e-9
"""Points closer than this are one [m]."""
_PARALLEL = 1e-3
"""Sine of the angle below which two faces are one contact."""
_MOST = 12
"""Candidates for further contacts."""


@kernel
def _is_local(row, data, point, hit):
    """Whether an edge or a corner is the nearest point of all faces around it."""
    triangle, region = int(hit[3]), int(hit[4])
    trial = np.empty(3)
    # The neighbours first: most are nearer with something else.
    for edge in range(3):
        beside = edge == region - FIRST_VERTEX or edge == (region + 1) % 3
        if region >= FIRST_EDGE:
            beside = edge == region - FIRST_EDGE
        if not beside:
            continue
        if region >= FIRST_EDGE:
            kind = edge_kind(data, triangle, edge)
            if kind == CONCAVE or kind == FLAT:
                return False
        other = neighbour(row, data, triangle, edge)
        if other >= 0:
            closest_on_triangle(data, other, point, trial)
            if square_between(trial, hit[:3]) > _SAME**2:
                return False
    if region >= FIRST_EDGE:
        return True
    walk = np.empty(MOST_AROUND, np.int64)
    count = triangles_around(row, data, triangle, region - FIRST_VERTEX, walk)
    for k in range(count):
        closest_on_triangle(data, walk[k], point, trial)
        if square_between(trial, hit[:3]) > _SAME**2:
            return False
    return True


@kernel
def _may_extend(data, triangle, region):
    """Whether a face counts beyond an edge or a corner: across concave edges only."""
    if region >= FIRST_EDGE:
        return edge_kind(data, triangle, region - FIRST_EDGE) == CONCAVE
    corner = region - FIRST_VERTEX
    ahead = edge_kind(data, triangle, corner)
    behind = edge_kind(data, triangle, (corner + 2) % 3)
    return ahead == CONCAVE or behind == CONCAVE


@kernel
def _candidate(row, data, point, first, hit, contact):
    """Gap and normal of a triangle as a further contact beside the first.

    Args:
        row: of the mesh.
        data: of all meshes.
        point: (3,) [m].
        first: normal, nearest point and gap of the first contact (7,).
        hit: nearest point, triangle and region, of the triangle.
        contact: filled with normal, nearest point and gap (7,); an infinite gap where
            it is none.
    """
    contact[3:6] = hit[:3]
    contact[6] = np.inf
    triangle, region = int(hit[3]), int(hit[4])
    height = plane_gap(data, triangle, point)
    sine, beyond = 0.0, 0.0
    for k in range(3):
        contact[k] = data[triangle + NORMAL + k]
        foot = point[k] - height * contact[k]
        beyond += (foot - hit[k]) ** 2
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        sine += (contact[i] * first[j] - contact[j] * first[i]) ** 2
    sine, beyond = np.sqrt(sine), np.sqrt(beyond)
    if beyond > _SAME:
        room = 0.0
        if first[6] < 0.0:
            # As far as a point inside can be beyond the bottom of the valley.
            depth = np.sqrt(square_between(point, first[3:6]))
            room = 1.01 * depth / max(sine, _PARALLEL)
        if beyond > room or not _may_extend(data, triangle, region):
            if height < 0.0 or square_between(hit[:3], first[3:6]) < _SAME**2:
                return
            if not _is_local(row, data, point, hit):
                return
            length = np.sqrt(square_between(point, hit[:3]))
            for k in range(3):
                contact[k] = (point[k] - hit[k]) / length
            contact[6] = length
            return
    hit[4] = FACE
    contact[6] = height


@kernel
def _together(a, b):
    """Whether two contacts can be at the same time: each in front of the other."""
    same = 0.0
    ahead, behind = 0.0, 0.0
    for k in range(3):
        same += a[k] * b[k]
        ahead += a[k] * (b[3 + k] - a[3 + k])
        behind += b[k] * (a[3 + k] - b[3 + k])
    if same > 1.0 - 0.5 * _PARALLEL**2:
        return False
    return ahead >= -_SAME and behind >= -_SAME


@kernel
def _is_behind(data, node, first):
    """Whether nothing in the box of a node is in front of the first contact."""
    ahead = 0.0
    for k in range(3):
        side = 3 if first[k] > 0.0 else 0
        ahead += first[k] * (data[node + side + k] - first[3 + k])
    return ahead <= _SAME


@kernel
def _reaches_ahead(data, triangle, first):
    """Whether a corner of a triangle is in front of the first contact."""
    for corner in range(3):
        ahead = 0.0
        for k in range(3):
            ahead += first[k] * (data[triangle + 3 * corner + k] - first[3 + k])
        if ahead > _SAME:
            return True
    return False


@kernel
def _gather(row, data, point, first, hits):
    """The nearest candidates for further contacts beside the first, in any order.

    Args:
        row: of the mesh.
        data: of all meshes.
        point: (3,) [m].
        first: normal, nearest point and gap of the first contact (7,).
        hits: filled with their hits (12, 5).

    Returns:
        normals, nearest points and gaps (12, 7), and how many there are.
    """
    contacts = np.empty((_MOST, 7))
    count = 0
    start, triangles = int(row[NODES]), int(row[TRIANGLES])
    limit = (np.sqrt(square_between(point, first[3:6])) + row[BAND]) ** 2
    stack = np.empty(128, np.int64)
    stack[0] = 0
    height = 1
    hit, contact = np.empty(5), np.empty(7)
    while height:
        height -= 1
        index = stack[height]
        node = start + NODE * index
        if _is_behind(data, node, first) or box_square(data, node, point) > limit:
            continue
        link, size = int(data[node + 6]), int(data[node + 7])
        if not size:
            stack[height], stack[height + 1] = link, index + 1
            height += 2
            continue
        for k in range(link, link + size):
            hit[3] = triangles + TRIANGLE * k
            if not _reaches_ahead(data, int(hit[3]), first):
                continue
            hit[4] = closest_on_triangle(data, int(hit[3]), point, hit[:3])
            ahead = 0.0
            for i in range(3):
                ahead += first[i] * (hit[i] - first[3 + i])
            if ahead < -_SAME or square_between(point, hit[:3]) > limit:
                continue
            _candidate(row, data, point, first, hit, contact)
            if contact[6] == np.inf or not _together(first, contact):
                continue
            place = count
            if count == _MOST:  # instead of the farthest
                place = 0
                for i in range(1, _MOST):
                    if contacts[i, 6] > contacts[place, 6]:
                        place = i
                if contacts[place, 6] <= contact[6]:
                    continue
            else:
                count += 1
            for i in range(7):
                contacts[place, i] = contact[i]
            for i in range(5):
                hits[place, i] = hit[i]
    return contacts, count


@kernel
def _next_hit(row, data, point, contact, hit):
    """The contact of a row's rank, with its hit; whether there is one."""
    closest = np.empty(3)
    reach = row[REACH] + row[BAND]
    hit[3], hit[4] = nearest_triangle(row, data, point, reach, closest)
    if hit[3] < 0.0:
        return False
    hit[:3] = closest
    first, hessian = np.empty(7), np.empty((3, 3))
    first[6] = feature_contact(row, data, point, hit, first[:3], hessian)
    first[3:6] = closest
    hits = np.empty((_MOST, 5))
    contacts, count = _gather(row, data, point, first, hits)
    chosen, gaps = np.empty(2, np.int64), contacts[:, 6].copy()
    taken = 0
    for _ in range(count):
        nearest = 0
        for i in range(1, count):
            if contacts[i, 6] < contacts[nearest, 6]:
                nearest = i
        fits = True
        for k in range(taken):
            fits = fits and _together(contacts[chosen[k]], contacts[nearest])
        if fits:
            chosen[taken] = nearest
            taken += 1
            if taken == int(row[RANK]):
                contact[:], hit[:] = contacts[nearest], hits[nearest]
                contact[6] = gaps[nearest]
                return True
        contacts[nearest, 6] = np.inf
    return False


@kernel
def next_contact(row, data, point, normal, hessian):
    """Gap, normal and Hessian of the contact of a row's rank; FAR without one."""
    contact, hit = np.empty(7), np.empty(5)
    hessian[:] = 0.0
    if not _next_hit(row, data, point, contact, hit):
        normal[0], normal[1], normal[2] = 0.0, 0.0, 1.0
        return FAR
    if int(hit[4]) == FACE:
        normal[:] = contact[:3]
    else:
        curved_contact(data, point, hit, contact[6], normal, hessian)
    return contact[6]


@kernel
def next_feature(row, data, point):
    """A number of what the contact of a row's rank is with; 0 without one."""
    contact, hit = np.empty(7), np.empty(5)
    if not _next_hit(row, data, point, contact, hit):
        return 0
    return feature_number(row, data, hit)
