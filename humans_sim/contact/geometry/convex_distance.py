# SPDX-License-Identifier: Apache-2.0
r"""Separation of two convex solids, exact where they touch, in compiled code.

The separation along a unit vector n, from the second solid to the first,

.. math:: s(n) = \min_{a \in A} n \cdot a - \max_{b \in B} n \cdot b,

bounds the distance from below: where it is not negative, no point is in both. The n
with the largest separation gives the distance, or minus the depth.

*Direction*. The algorithm of Gilbert, Johnson and Keerthi finds nearest points of
solids that are apart. Solids that touch are not, so it looks at their cores, which lie
a little inside (:mod:`~humans_sim.contact.geometry.convex_cores`), or at the points and
segments that round solids are balls around. The vector between nearest points of cores
is nearly the normal. The ray along it, from inside the difference
:math:`B - A`, leaves that through a facet, which is found by portals of three support
points (G. Snethen, XenoCollide, 2008); the facet's normal is the exact one: that of a
face of either solid, or square to an edge of each.

coal has these algorithms; a time step in one compiled call cannot call it. The check of
a run uses coal.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.geometry.convex_cores import SolidTable
from humans_sim.core.kernels import kernel, lent, small_matrix, small_vector

_ROUNDS = 64
_PORTALS = 48
_NEAREST = 1e-12
"""Share of the distance by which another support point must be nearer."""
_FACET = 1e-12
"""Share of the solids' size by which a support point must lie beyond a portal."""
_SHALLOW = 1e-2
"""Depth, over the distance of the cores, at which the first facet is the nearest."""
_TRIALS = 4
"""Rays that are sent out, each along the facet's normal that the last one found."""


@kernel(borrows=True)
def place(pose, local, out):
    """A point in the world; ``pose``: columns of a rotation, then a place (12,)."""
    x, y, z = local[0], local[1], local[2]
    for i in range(3):
        out[i] = pose[i] * x + pose[3 + i] * y + pose[6 + i] * z + pose[9 + i]


@kernel(borrows=True)
def turn(pose, local, out):
    """A vector of a joint's frame in the world."""
    x, y, z = local[0], local[1], local[2]
    for i in range(3):
        out[i] = pose[i] * x + pose[3 + i] * y + pose[6 + i] * z


@kernel(borrows=True)
def turn_back(pose, vector, out):
    """A vector of the world in a joint's frame."""
    x, y, z = vector[0], vector[1], vector[2]
    for i in range(3):
        out[i] = pose[3 * i] * x + pose[3 * i + 1] * y + pose[3 * i + 2] * z


@kernel(borrows=True)
def place_back(pose, point, out):
    """A point of the world in a joint's frame."""
    x, y, z = point[0] - pose[9], point[1] - pose[10], point[2] - pose[11]
    for i in range(3):
        out[i] = pose[3 * i] * x + pose[3 * i + 1] * y + pose[3 * i + 2] * z


@kernel(borrows=True)
def farthest(vertices, first, last, direction):
    """Vertex of some that goes farthest in a direction, and how far."""
    d0, d1, d2 = direction[0], direction[1], direction[2]
    best, height = first, -np.inf
    for k in range(first, last):
        along = d0 * vertices[k, 0] + d1 * vertices[k, 1] + d2 * vertices[k, 2]
        if along > height:
            best, height = k, along
    return best, height


@kernel(borrows=True)
def _support(vertices, starts, pair, poses, n, out):
    """Point of B - A that goes farthest along n, and the points of A and B (9,)."""
    one, other = poses[0], poses[1]
    for side in range(2):
        # of A the point that goes least far
        pose, turned = (one, -1.0) if side == 0 else (other, 1.0)
        d0 = turned * (pose[0] * n[0] + pose[1] * n[1] + pose[2] * n[2])
        d1 = turned * (pose[3] * n[0] + pose[4] * n[1] + pose[5] * n[2])
        d2 = turned * (pose[6] * n[0] + pose[7] * n[1] + pose[8] * n[2])
        first, last = starts[pair[side]], starts[pair[side] + 1]
        k, _ = farthest(vertices, first, last, (d0, d1, d2))
        x, y, z = vertices[k, 0], vertices[k, 1], vertices[k, 2]
        for i in range(3):
            out[3 + 3 * side + i] = (
                pose[i] * x + pose[3 + i] * y + pose[6 + i] * z + pose[9 + i]
            )
    for i in range(3):
        out[i] = out[6 + i] - out[3 + i]


@kernel(borrows=True)
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel(borrows=True)
def _triple(a, b, c):
    """A . (b x c)."""
    return (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        + a[1] * (b[2] * c[0] - b[0] * c[2])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


@kernel(borrows=True)
def _cross(a, b, out):
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@kernel(borrows=True)
def _nearest_on_segment(w, i, j, weight):
    """Weights of the point of a segment that is nearest to the origin; its square."""
    along, square = 0.0, 0.0
    for k in range(3):
        edge = w[j, k] - w[i, k]
        along -= edge * w[i, k]
        square += edge * edge
    t = 0.0 if square == 0.0 else min(1.0, max(0.0, along / square))
    weight[:] = 0.0
    weight[i], weight[j] = 1.0 - t, t
    total = 0.0
    for k in range(3):
        total += ((1.0 - t) * w[i, k] + t * w[j, k]) ** 2
    return total


@kernel
def _nearest_on_triangle(w, i, j, m, weight):
    """The same of a triangle."""
    a, b, c = w[i, :3], w[j, :3], w[m, :3]
    normal = small_vector(3)
    _cross(b - a, c - a, normal)
    square = _dot(normal, normal)
    if square > 0.0:
        # Barycentric coordinates of the foot of the origin.
        u = _triple(normal, b, c) / square
        v = _triple(normal, c, a) / square
        t = 1.0 - u - v
        if u >= 0.0 and v >= 0.0 and t >= 0.0:
            weight[:] = 0.0
            weight[i], weight[j], weight[m] = u, v, t
            height = _dot(normal, a)
            return height * height / square
    best, trial = np.inf, small_vector(4)
    for side in range(3):
        e, f = (i, j) if side == 0 else (j, m) if side == 1 else (m, i)
        total = _nearest_on_segment(w, e, f, trial)
        if total < best:
            best = total
            weight[:] = trial
    return best


@kernel
def _nearest_on_simplex(w, count, weight):
    """Weights of the point of a simplex that is nearest to the origin; its square.

    Zero for a tetrahedron around the origin.
    """
    if count == 1:
        weight[:] = 0.0
        weight[0] = 1.0
        return _dot(w[0], w[0])
    if count == 2:
        return _nearest_on_segment(w, 0, 1, weight)
    if count == 3:
        return _nearest_on_triangle(w, 0, 1, 2, weight)
    best, trial, inside = np.inf, small_vector(4), True
    for side in range(4):
        i, j, m = (side + 1) % 4, (side + 2) % 4, (side + 3) % 4
        a = w[i, :3]
        volume = _triple(w[side, :3] - a, w[j, :3] - a, w[m, :3] - a)
        origin = _triple(-a, w[j, :3] - a, w[m, :3] - a)
        if volume != 0.0 and origin * volume > 0.0:
            continue
        inside = False
        total = _nearest_on_triangle(w, i, j, m, trial)
        if total < best:
            best = total
            weight[:] = trial
    return 0.0 if inside else best


@kernel
def _middle(w, weight, count, at):
    """The point half way between those of A and B that some weights give."""
    at[:] = 0.0
    for k in range(count):
        for i in range(3):
            at[i] += 0.5 * weight[k] * (w[k, 3 + i] + w[k, 6 + i])


@kernel
def core_distance(vertices, starts, pair, poses, normal, at):
    """Distance of two hulls, zero where they overlap; ``normal``: from B to A.

    ``normal`` is where the search begins, if it is not zero, and where it ends; ``at``
    is half way between the nearest points then.
    """
    w, weight = small_matrix(4, 9), small_vector(4)
    v, new, trial = small_vector(3), small_vector(9), small_vector(4)
    if _dot(normal, normal) == 0.0:
        normal[2] = 1.0
    _support(vertices, starts, pair, poses, normal, w[0])
    v[:] = w[0, :3]
    weight[0] = 1.0
    count, square = 1, _dot(v, v)
    for _ in range(_ROUNDS):
        if square == 0.0:
            return 0.0
        # The point of B - A nearest to the origin is v = -distance n.
        _support(vertices, starts, pair, poses, -v, new)
        if square - _dot(v, new) <= _NEAREST * square:
            break
        known = False
        for k in range(count):
            known = known or (
                w[k, 0] == new[0] and w[k, 1] == new[1] and w[k, 2] == new[2]
            )
        if known:
            break
        w[count] = new
        total = _nearest_on_simplex(w, count + 1, trial)
        if total >= square:
            break
        if total == 0.0:
            return 0.0
        kept = 0
        for k in range(count + 1):
            if trial[k] > 0.0:
                w[kept] = w[k]
                weight[kept] = trial[k]
                kept += 1
        count = kept
        v[:] = 0.0
        for k in range(count):
            for i in range(3):
                v[i] += weight[k] * w[k, i]
        square = _dot(v, v)
    distance = np.sqrt(square)
    if distance > 0.0:
        for i in range(3):
            normal[i] = -v[i] / distance
        _middle(w, weight, count, at)
    return distance


@kernel(borrows=True)
def separation(solids, pair, poses, n):
    """Separation of two solids along a unit vector from the second to the first."""
    table = SolidTable(*solids)
    new = small_vector(9)
    _support(table.vertices, table.vertex_start, pair, poses, n, new)
    return -_dot(n, new) - table.radius[pair[0]] - table.radius[pair[1]]


@kernel
def _facet(solids, pair, poses, inside, n, at):
    """Normal of the facet of B - A through which a ray leaves it; false without one.

    ``inside``: where the ray begins (3,); ``n``: its direction, then the normal;
    ``at``: half way between the points of A and B that are nearest along the normal.
    """
    solids = lent(solids)
    table = SolidTable(*solids)
    vertices, starts = table.vertices, table.vertex_start
    v = small_matrix(4, 9)
    d, ray = small_vector(3), n.copy()
    _support(vertices, starts, pair, poses, ray, v[0])
    v[0, :3] -= inside
    size = table.reach[pair[0]] + table.reach[pair[1]]
    _cross(v[0], ray, d)
    if _dot(d, d) <= (_FACET * size) ** 2:
        return False
    _support(vertices, starts, pair, poses, d, v[1])
    v[1, :3] -= inside
    if _triple(ray, v[0], v[1]) < 0.0:
        v[2] = v[0]
        v[0] = v[1]
        v[1] = v[2]
    found = False
    for _ in range(_PORTALS):
        _cross(v[0], v[1], d)
        _support(vertices, starts, pair, poses, d, v[2])
        v[2, :3] -= inside
        if _triple(ray, v[2], v[0]) < 0.0:
            v[1] = v[2]
        elif _triple(ray, v[1], v[2]) < 0.0:
            v[0] = v[2]
        else:
            found = True
            break
    if not found:
        return False
    for _ in range(_PORTALS):
        _cross(v[1, :3] - v[0, :3], v[2, :3] - v[0, :3], d)
        length = np.sqrt(_dot(d, d))
        if length == 0.0:
            return False
        d /= length
        if _dot(d, ray) < 0.0:
            d *= -1.0
        _support(vertices, starts, pair, poses, d, v[3])
        v[3, :3] -= inside
        beyond = _dot(d, v[3]) - max(_dot(d, v[0]), _dot(d, v[1]), _dot(d, v[2]))
        if beyond <= _FACET * size:
            break
        a = _triple(ray, v[0], v[3])
        b = _triple(ray, v[1], v[3])
        c = _triple(ray, v[2], v[3])
        if b >= 0.0 and a <= 0.0:
            v[2] = v[3]
        elif c >= 0.0 and b <= 0.0:
            v[0] = v[3]
        else:
            v[1] = v[3]
    n[:] = d
    weight = small_vector(4)
    weight[:] = 0.0
    for k in range(3):
        v[k, :3] += inside
    # of the facet, the point nearest to the origin
    _nearest_on_triangle(v, 0, 1, 2, weight)
    _middle(v, weight, 3, at)
    return True


@kernel(borrows=True)
def _straighten(solids, pair, poses, n):
    """Take a face's own normal where it is the same but for rounding."""
    table = SolidTable(*solids)
    local, world = small_vector(3), small_vector(3)
    for side in range(2):
        sign = -1.0 if side == 0 else 1.0
        turn_back(poses[side], n, local)
        best, cosine = -1, 1.0 - 1e-12
        for f in range(table.face_start[pair[side]], table.face_start[pair[side] + 1]):
            along = sign * _dot(local, table.normals[f])
            if along > cosine:
                best, cosine = f, along
        if best >= 0:
            turn(poses[side], table.normals[best], world)
            for i in range(3):
                n[i] = sign * world[i]
            return


@kernel
def solid_separation(solids, pair, poses, near, normal, at):
    """Largest separation of two solids, its direction, and where they are so near.

    Args:
        solids: fields of a ``SolidTable``.
        pair: numbers of both; the first is no half space.
        poses: of their joints (2, 12).
        near: separation up to which it is exact; beyond it is a bound from below [m].
        normal: filled, from the second to the first (3,); where the search begins,
            zero if nothing is known.
        at: filled, half way between the points that are nearest (3,).

    Returns:
        the separation [m]: minus the depth where they overlap.
    """
    solids = lent(solids)
    table = SolidTable(*solids)
    if table.plane[pair[1]]:
        turn(poses[1], table.normals[table.face_start[pair[1]]], normal)
        return separation(solids, pair, poses, normal)
    if table.radius[pair[0]] + table.radius[pair[1]] > 0.0:
        known = normal.copy()
        vertices, starts = table.vertices, table.vertex_start
        apart = core_distance(vertices, starts, pair, poses, normal, at)
        if apart > 0.0:
            return apart - table.radius[pair[0]] - table.radius[pair[1]]
        normal[:] = known
    else:
        known = normal.copy()
        apart = core_distance(table.core, table.core_start, pair, poses, normal, at)
        if apart == 0.0:
            normal[:] = known
    inside = small_vector(3)
    if apart > 0.0:
        for i in range(3):
            inside[i] = -apart * normal[i]
    else:
        # Deep in each other: outwards from the middle of both.
        one, other = small_vector(3), small_vector(3)
        place(poses[0], table.centre[pair[0]], one)
        place(poses[1], table.centre[pair[1]], other)
        for i in range(3):
            inside[i] = other[i] - one[i]
            at[i] = 0.5 * (one[i] + other[i])
        if _dot(normal, normal) == 0.0:
            length = np.sqrt(_dot(inside, inside))
            normal[2] = 1.0
            if length > 0.0:
                for i in range(3):
                    normal[i] = -inside[i] / length
    best = separation(solids, pair, poses, normal)
    if best > near:
        return best
    trial, there = normal.copy(), small_vector(3)
    for _ in range(_TRIALS):
        if not _facet(solids, pair, poses, inside, trial, there):
            break
        _straighten(solids, pair, poses, trial)
        own = separation(solids, pair, poses, trial)
        if not own > best:
            break
        best = own
        normal[:], at[:] = trial, there
        if best > -_SHALLOW * apart:
            break
    return best
