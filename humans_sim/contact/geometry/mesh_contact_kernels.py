# SPDX-License-Identifier: Apache-2.0
"""Compiled contact of points with meshes, terrain and other solids.

A face has the distance of its plane; a convex edge or corner is curved by 1/d, and so
is the free border of an open surface. Inside the solid and beyond a concave edge the
plane that the point is deepest under counts, not the edge.

*Further contacts*: in a valley a point touches several. They are the next nearest
faces, edges or corners that are nearest points of the mesh in their own neighbourhood,
and in front of which the other contacts lie: what a convex edge separates is never
touched together.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.geometry.mesh import (
    BAND,
    CONCAVE,
    CONVEX,
    COUNT,
    FACE,
    FIRST_EDGE,
    FIRST_VERTEX,
    FLAT,
    MESH,
    MESH_TRIANGLES,
    NODE,
    NODES,
    NORMAL,
    NORMALS,
    PLANE,
    RANK,
    REACH,
    TRIANGLE,
    VERTEX,
    box_square,
    closest_on_triangle,
    edge_kind,
    nearest_triangle,
    neighbour,
    plane_gap,
    same_plane,
    square_between,
)
from humans_sim.contact.geometry.solids import HALF_SPACE, distance
from humans_sim.core.kernels import kernel, small_matrix, small_vector

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
    """Signed distance to what was hit; fills its normal and its Hessian [1/m]."""
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
    trial = small_vector(3)
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
    """Fill normal, nearest point and gap of a further contact; infinite without one."""
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
    """The nearest candidates for further contacts (12, 7), in any order; how many."""
    contacts = np.empty((_MOST, 7))
    count = 0
    start, triangles = int(row[NODES]), int(row[MESH_TRIANGLES])
    limit = (np.sqrt(square_between(point, first[3:6])) + row[BAND]) ** 2
    stack = np.empty(128, np.int64)
    stack[0] = 0
    height = 1
    hit, contact = small_vector(5), small_vector(7)
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
    closest = small_vector(3)
    reach = row[REACH] + row[BAND]
    hit[3], hit[4] = nearest_triangle(row, data, point, reach, closest)
    if hit[3] < 0.0:
        return False
    hit[:3] = closest
    first, hessian = small_vector(7), small_matrix(3, 3)
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
    contact, hit = small_vector(7), small_vector(5)
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
    contact, hit = small_vector(7), small_vector(5)
    if not _next_hit(row, data, point, contact, hit):
        return 0
    return feature_number(row, data, hit)


@kernel
def surface_distance(row, data, point, normal, hessian):
    """Signed distance of a point to any solid; fills its normal and its Hessian."""
    # A floor is by far the most frequent: here it costs no call.
    if row[0] == HALF_SPACE:
        total = 0.0
        for k in range(3):
            normal[k] = row[10 + k]
            total += normal[k] * (point[k] - row[1 + k])
            for i in range(3):
                hessian[k, i] = 0.0
        return total
    if data is not None:
        if row[0] == MESH:
            return _mesh_distance(row, data, point, normal, hessian)
    return distance(row, point, normal, hessian)


@kernel
def _mesh_distance(row, data, point, normal, hessian):
    if row[RANK] > 0.0:
        return next_contact(row, data, point, normal, hessian)
    hit = small_vector(5)
    hit[3], hit[4] = nearest_triangle(row, data, point, np.inf, hit[:3])
    return feature_contact(row, data, point, hit, normal, hessian)


@kernel
def least_distances(rows, data, points):
    """Signed distance of each point to the nearest solid (n,) [m]."""
    least = np.empty(points.shape[0])
    normal, hessian = small_vector(3), small_matrix(3, 3)
    for k in range(points.shape[0]):
        least[k] = np.inf
        for s in range(rows.shape[0]):
            here = surface_distance(rows[s], data, points[k], normal, hessian)
            least[k] = min(least[k], here)
    return least


@kernel
def surface_feature(row, data, point):
    """A number of what the contact is with: a plane, an edge or a corner of a mesh.

    Other solids have one feature, 0: boxes are smooth where they matter.
    """
    if data is not None:
        if row[0] == MESH:
            return _mesh_feature(row, data, point)
    return 0


@kernel
def _mesh_feature(row, data, point):
    if row[RANK] > 0.0:
        return next_feature(row, data, point)
    hit, normal, hessian = small_vector(5), small_vector(3), small_matrix(3, 3)
    hit[3], hit[4] = nearest_triangle(row, data, point, np.inf, hit[:3])
    feature_contact(row, data, point, hit, normal, hessian)
    return feature_number(row, data, hit)
