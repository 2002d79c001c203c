# SPDX-License-Identifier: Apache-2.0
"""Contact of two convex solids: a few points of both, and a common normal.

The normal is the direction in which the cores (see
:mod:`~humans_sim.contact.geometry.convex_cores`) are nearest. What each core turns
towards the other, a face, an edge or a corner, is seen along it; the points are the
corners of the area, or the ends of the line, in which both lie over each other. So a
solid that lies flat on another one rests on several points, and the point at which both
are nearest is always among them.

*Two boxes*. The normal is the axis along which the boxes are farthest apart (the
separating axis: a face of one of them, or across an edge of each). Along a face's axis
the points are the corners of the area in which both faces overlap: corners of the one,
corners of the other, crossings of their edges. Every point has a place of its own in
the list, so that it is known again in the next step. Which axis and which points are
taken is a choice of its own: within a step it stays, while the boxes move a little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel

SLOTS = 4
"""Points that a pair of links may touch in."""
_SLOPE = np.tan(np.radians(15.0))
"""Slope to the common normal up to which a face or an edge counts as turned to it."""
_SHORT = 0.03
"""What is shorter counts as a point, over the length of the smaller core."""
_LOW = 1e-7
"""A face that lies farther back than the foremost vertex is not the foremost [m]."""


@kernel
def place(pose, local, out):
    """A point in the world; ``pose``: columns of a rotation, then a place (12,)."""
    for i in range(3):
        out[i] = (
            pose[i] * local[0]
            + pose[3 + i] * local[1]
            + pose[6 + i] * local[2]
            + pose[9 + i]
        )


@kernel
def turn(pose, local, out):
    """A vector of a joint's frame in the world."""
    for i in range(3):
        out[i] = pose[i] * local[0] + pose[3 + i] * local[1] + pose[6 + i] * local[2]


@kernel
def turn_back(pose, vector, out):
    """A vector of the world in a joint's frame."""
    for i in range(3):
        out[i] = (
            pose[3 * i] * vector[0]
            + pose[3 * i + 1] * vector[1]
            + pose[3 * i + 2] * vector[2]
        )


@kernel
def place_back(pose, point, out):
    """A point of the world in a joint's frame."""
    x, y, z = point[0] - pose[9], point[1] - pose[10], point[2] - pose[11]
    for i in range(3):
        out[i] = pose[3 * i] * x + pose[3 * i + 1] * y + pose[3 * i + 2] * z


@kernel
def basis(n, frame):
    """A normal and two tangents, as near to world x as the normal lets them be."""
    axis = 0 if abs(n[0]) < 0.9 else 1
    length = np.sqrt(1.0 - n[axis] ** 2)
    for k in range(3):
        frame[0, k] = n[k]
        frame[1, k] = ((1.0 if k == axis else 0.0) - n[axis] * n[k]) / length
    frame[2, 0] = frame[0, 1] * frame[1, 2] - frame[0, 2] * frame[1, 1]
    frame[2, 1] = frame[0, 2] * frame[1, 0] - frame[0, 0] * frame[1, 2]
    frame[2, 2] = frame[0, 0] * frame[1, 1] - frame[0, 1] * frame[1, 0]


@kernel
def _feature(cores, which, pose, frame, side):
    """The feature of core ``which`` in a direction: a face, an edge or a corner.

    Returns:
        rows across, across, along the normal (k, 3): in the order around a face;
        cosine between the normal and the face's, zero without a face.
    """
    vertices, vertex_start, normals, face_start, loops, loop_start = cores[:6]
    local, point = np.empty(3), np.empty(3)
    turn_back(pose, frame[0], local)
    local *= side
    first, last = vertex_start[which], vertex_start[which + 1]
    best, front = first, -np.inf
    for k in range(first, last):
        height = (
            local[0] * vertices[k, 0]
            + local[1] * vertices[k, 1]
            + local[2] * vertices[k, 2]
        )
        if height > front:
            best, front = k, height
    face, cosine = -1, 1.0 / np.sqrt(1.0 + _SLOPE**2)
    for f in range(face_start[which], face_start[which + 1]):
        c = (
            local[0] * normals[f, 0]
            + local[1] * normals[f, 1]
            + local[2] * normals[f, 2]
        )
        if c <= cosine:
            continue
        height = -np.inf
        for k in range(loop_start[f], loop_start[f + 1]):
            v = vertices[loops[k]]
            height = max(height, local[0] * v[0] + local[1] * v[1] + local[2] * v[2])
        if height >= front - _LOW:
            face, cosine = f, c
    if face >= 0:
        chosen = loops[loop_start[face] : loop_start[face + 1]]
    else:
        cosine = 0.0
        other, least = -1, _SLOPE
        for k in range(first, last):
            back, square = front, 0.0
            for i in range(3):
                back -= local[i] * vertices[k, i]
                square += (vertices[k, i] - vertices[best, i]) ** 2
            across = np.sqrt(max(square - back * back, 0.0))
            if k != best and across > 0.0 and back < least * across:
                other, least = k, back / across
        chosen = np.array([best, other]) if other >= 0 else np.array([best])
    rows = np.empty((chosen.shape[0], 3))
    for k in range(chosen.shape[0]):
        place(pose, vertices[chosen[k]], point)
        for i in range(3):
            rows[k, (i + 2) % 3] = (
                frame[i, 0] * point[0] + frame[i, 1] * point[1] + frame[i, 2] * point[2]
            )
    if face >= 0 and side < 0:  # the loop is counted from outside
        rows = rows[::-1].copy()
    return rows, cosine


@kernel
def _clip(subject, area):
    """The part of a polygon or segment (m, 3) over a convex polygon (n, 3)."""
    closed = subject.shape[0] > 2
    points = subject
    for e in range(area.shape[0]):
        x, y = area[e, 0], area[e, 1]
        dx = area[(e + 1) % area.shape[0], 0] - x
        dy = area[(e + 1) % area.shape[0], 1] - y
        count = points.shape[0]
        out = np.empty((2 * count + 2, 3))
        n = 0
        for k in range(count):
            here = dx * (points[k, 1] - y) - dy * (points[k, 0] - x)
            if here >= 0.0:
                out[n] = points[k]
                n += 1
            if k == count - 1 and not closed:
                break
            after = points[(k + 1) % count]
            there = dx * (after[1] - y) - dy * (after[0] - x)
            if (here > 0.0 and there < 0.0) or (here < 0.0 and there > 0.0):
                share = here / (here - there)
                for i in range(3):
                    out[n, i] = points[k, i] + share * (after[i] - points[k, i])
                n += 1
        points = out[:n].copy()
        if n == 0:
            break
    return points


@kernel
def _plane_height(rows, x, y):
    """Height of the plane through a face's corners over a place."""
    # Newell's normal of the polygon
    nx, ny, nz = 0.0, 0.0, 0.0
    count = rows.shape[0]
    for k in range(count):
        a, b = rows[k], rows[(k + 1) % count]
        nx += (a[1] - b[1]) * (a[2] + b[2])
        ny += (a[2] - b[2]) * (a[0] + b[0])
        nz += (a[0] - b[0]) * (a[1] + b[1])
    return rows[0, 2] - (nx * (x - rows[0, 0]) + ny * (y - rows[0, 1])) / nz


@kernel
def _segments(one, other):
    """Where segments side by side lie over each other: across twice, both heights."""
    none = np.empty((0, 4))
    dx, dy = one[1, 0] - one[0, 0], one[1, 1] - one[0, 1]
    ex, ey = other[1, 0] - other[0, 0], other[1, 1] - other[0, 1]
    d, e = np.sqrt(dx * dx + dy * dy), np.sqrt(ex * ex + ey * ey)
    if abs(dx * ey - dy * ex) > _SLOPE / np.sqrt(1.0 + _SLOPE**2) * d * e:
        return none
    shares = np.empty(2)
    for k in range(2):
        shares[k] = (
            (other[k, 0] - one[0, 0]) * dx + (other[k, 1] - one[0, 1]) * dy
        ) / (d * d)
    if shares[0] == shares[1]:
        return none
    low, high = max(0.0, min(shares[0], shares[1])), min(1.0, max(shares[0], shares[1]))
    if low >= high:
        return none
    rows = np.empty((2, 4))
    for k in range(2):
        s = low if k == 0 else high
        t = (s - shares[0]) / (shares[1] - shares[0])
        for i in range(2):
            here = one[0, i] + s * (one[1, i] - one[0, i])
            there = other[0, i] + t * (other[1, i] - other[0, i])
            rows[k, i] = 0.5 * (here + there)
        rows[k, 2] = one[0, 2] + s * (one[1, 2] - one[0, 2])
        rows[k, 3] = other[0, 2] + t * (other[1, 2] - other[0, 2])
    return rows


@kernel
def _overlap(one, other):
    """Rows across, across, height of the first, height of the second (k, 4)."""
    if one.shape[0] == 1 or other.shape[0] == 1:
        return np.empty((0, 4))
    if one.shape[0] == 2 and other.shape[0] == 2:
        return _segments(one, other)
    swap = other.shape[0] == 2
    subject, area = (other, one) if swap else (one, other)
    points = _clip(subject, area)
    rows = np.empty((points.shape[0], 4))
    for k in range(points.shape[0]):
        x, y = points[k, 0], points[k, 1]
        rows[k, 0], rows[k, 1] = x, y
        height = _plane_height(area, x, y)
        rows[k, 2] = height if swap else points[k, 2]
        rows[k, 3] = points[k, 2] if swap else height
    return rows


@kernel
def pair_points(cores, which, poses, near):
    """Points in which two solids touch or would touch first.

    Args:
        cores: fields of a :class:`CoreTable`.
        which: numbers of both cores.
        poses: of their joints (2, 12).
        near: nearest points of the first and second core, and the normal from the
            second to the first, in the world (3, 3).

    Returns:
        points on the first core, and on the second (k, 3), in the world [m]; gaps
        between the solids along the normal (k,) [m]; whether the normal turns with the
        first solid rather than with the second.
    """
    radius = cores[6][which[0]] + cores[6][which[1]]
    frame = np.empty((3, 3))
    basis(near[2], frame)
    one, cosine = _feature(cores, which[0], poses[0], frame, -1.0)
    other, cosine_other = _feature(cores, which[1], poses[1], frame, 1.0)
    rows = _overlap(one, other)
    long = 0.0
    for k in range(1, rows.shape[0]):
        long = max(long, (rows[k, 0] - rows[0, 0]) ** 2)
        long = max(long, (rows[k, 1] - rows[0, 1]) ** 2)
    if np.sqrt(long) < _SHORT * min(cores[7][which[0]], cores[7][which[1]]):
        rows = np.empty((0, 4))
    count = max(rows.shape[0], 1)
    first, second, gap = np.empty((count, 3)), np.empty((count, 3)), np.empty(count)
    if rows.shape[0] == 0:
        for i in range(3):
            first[0, i], second[0, i] = near[0, i], near[1, i]
    for k in range(rows.shape[0]):
        for i in range(3):
            across = rows[k, 0] * frame[1, i] + rows[k, 1] * frame[2, i]
            first[k, i] = across + rows[k, 2] * frame[0, i]
            second[k, i] = across + rows[k, 3] * frame[0, i]
    for k in range(count):
        gap[k] = -radius
        for i in range(3):
            gap[k] += frame[0, i] * (first[k, i] - second[k, i])
    return first, second, gap, cosine > cosine_other


@kernel
def spread_out(points, gap, most):
    """Numbers of a few points: that with the least gap, then the farthest from all."""
    count = points.shape[0]
    chosen = np.empty(min(most, count), np.int64)
    distance = np.full(count, np.inf)
    latest = np.argmin(gap)
    for n in range(chosen.shape[0]):
        chosen[n] = latest
        for k in range(count):
            square = 0.0
            for i in range(3):
                square += (points[k, i] - points[latest, i]) ** 2
            distance[k] = min(distance[k], square)
        latest = np.argmax(distance)
    return chosen


BOX_SLOTS = 33
"""Places of points: corners of the first box (8), of the second (8), crossings of four
edges with four (16), and of one edge with one."""
FAR = 1.0
"""Gap of a place without a point [m]."""
_MARGIN = 0.05
"""Boxes farther apart are not looked at more closely [m]."""
_PREFER = 1e-4
"""A face is taken unless an edge is farther apart by this [m]."""
_STEEP = 1e-3
"""Faces at a right angle do not overlap: cosine of the least slope [1]."""
_INSIDE = 1e-9
"""A corner so little beyond an edge is inside [m]."""


NOTHING, FACES, EDGES = 0, 1, 2
"""Kinds of choices."""
CHOICE = 6
"""Numbers of a choice: kind; of faces, whose face is the reference (0: the second
box's), which one and on which side, and the other's face and side; or both edges."""


class BoxPlaces(NamedTuple):
    """The places of points of a pair of boxes.

    Attributes:
        active: places that have a point (33,).
        gap: (33,) [m]; :data:`FAR` where there is no point.
        point: (33, 3) [m].
        normal: from the second box to the first (33, 3).
    """

    active: np.ndarray
    gap: np.ndarray
    point: np.ndarray
    normal: np.ndarray


@kernel
def choose(one, other, choice):
    """Choose the axis along which two rows of boxes are looked at; fills ``choice``."""
    choice[:] = 0
    a, b = one[7:16].reshape(3, 3), other[7:16].reshape(3, 3)
    shift = one[1:4] - other[1:4]
    reach_a, reach_b = one[4:7], other[4:7]
    axis = np.empty(3)
    best, face, box, side = -np.inf, 0, 0, 1.0
    for which in range(2):
        turn = b if which == 0 else a
        for k in range(3):
            for i in range(3):
                axis[i] = turn[i, k]
            apart, toward = _apart(axis, shift, a, b, reach_a, reach_b)
            if apart > best + (1e-9 if which else 0.0):
                best, face, box, side = apart, k, which, toward
    if best > _MARGIN:
        return
    most, edge_a, edge_b = best + _PREFER, -1, -1
    for i in range(3):
        for j in range(3):
            _cross_columns(a, i, b, j, axis)
            length = np.sqrt((axis**2).sum())
            if length < 1e-6:
                continue
            axis /= length
            apart, toward = _apart(axis, shift, a, b, reach_a, reach_b)
            if apart > most:
                most, edge_a, edge_b = apart, i, j
    if edge_a >= 0:
        if most <= _MARGIN:
            choice[0], choice[1], choice[2] = EDGES, edge_a, edge_b
        return
    choice[0], choice[1], choice[2] = FACES, box, face
    # out of the reference face: towards the first box, or away from it
    up = side if box == 0 else -side
    choice[3] = 1 if up > 0 else -1
    turn, inc_turn = (b, a) if box == 0 else (a, b)
    least = np.inf
    for k in range(3):
        d = up * (inc_turn[:, k] * turn[:, face]).sum()
        if d < least:
            least, choice[4], choice[5] = d, k, 1
        if -d < least:
            least, choice[4], choice[5] = -d, k, -1


@kernel
def box_contacts(one, other, choice, fixed, places):
    """Fill a :class:`BoxPlaces`; which places have a point, only unless ``fixed``."""
    places.gap[:] = FAR
    if not fixed:
        places.active[:] = False
    if choice[0] == EDGES:
        _edges(one, other, choice, fixed, places)
    elif choice[0] == FACES and choice[1] == 0:
        _faces(other, one, choice, fixed, places)
    elif choice[0] == FACES:
        _faces(one, other, choice, fixed, places)


@kernel
def _apart(axis, shift, a, b, reach_a, reach_b):
    """How far the boxes are apart along an axis, and on which side the first is."""
    along, extent = 0.0, 0.0
    for i in range(3):
        along += axis[i] * shift[i]
    for k in range(3):
        da = axis[0] * a[0, k] + axis[1] * a[1, k] + axis[2] * a[2, k]
        db = axis[0] * b[0, k] + axis[1] * b[1, k] + axis[2] * b[2, k]
        extent += reach_a[k] * abs(da) + reach_b[k] * abs(db)
    return abs(along) - extent, 1.0 if along >= 0.0 else -1.0


@kernel
def _cross_columns(a, i, b, j, out):
    out[0] = a[1, i] * b[2, j] - a[2, i] * b[1, j]
    out[1] = a[2, i] * b[0, j] - a[0, i] * b[2, j]
    out[2] = a[0, i] * b[1, j] - a[1, i] * b[0, j]


@kernel
def _edges(one, other, choice, fixed, places):
    """The one point of an edge of each."""
    active, gap, point, normal = places
    a, b = one[7:16].reshape(3, 3), other[7:16].reshape(3, 3)
    i, j = choice[1], choice[2]
    n = np.empty(3)
    _cross_columns(a, i, b, j, n)
    n /= np.sqrt((n**2).sum())
    if (n * (one[1:4] - other[1:4])).sum() < 0.0:
        n = -n
    p, q = one[1:4].copy(), other[1:4].copy()
    for k in range(3):
        if k != i:
            p -= np.sign((n * a[:, k]).sum()) * one[4 + k] * a[:, k]
        if k != j:
            q += np.sign((n * b[:, k]).sum()) * other[4 + k] * b[:, k]
    # nearest points of the two lines
    between = p - q
    cosine = (a[:, i] * b[:, j]).sum()
    along_a, along_b = (a[:, i] * between).sum(), (b[:, j] * between).sum()
    square = 1.0 - cosine * cosine
    s = (cosine * along_b - along_a) / square
    t = (along_b - cosine * along_a) / square
    if not fixed:
        active[32] = abs(s) <= one[4 + i] + _INSIDE and abs(t) <= (
            other[4 + j] + _INSIDE
        )
    if not active[32]:
        return
    p = p + s * a[:, i]
    q = q + t * b[:, j]
    gap[32] = (n * (p - q)).sum()
    for k in range(3):
        point[32, k] = 0.5 * (p[k] + q[k])
        normal[32, k] = n[k]


@kernel
def _corner(row, turn, face, up, index, out):
    """A corner of a face, counted around it; its number among the box's eight."""
    u, v = (face + 1) % 3, (face + 2) % 3
    su = 1.0 if index in (0, 3) else -1.0
    sv = 1.0 if index in (0, 1) else -1.0
    for i in range(3):
        out[i] = (
            row[1 + i]
            + up * row[4 + face] * turn[i, face]
            + su * row[4 + u] * turn[i, u]
            + sv * row[4 + v] * turn[i, v]
        )
    number = 0
    if up > 0:
        number += 1 << face
    if su > 0:
        number += 1 << u
    if sv > 0:
        number += 1 << v
    return number


@kernel
def _faces(ref, inc, choice, fixed, places):
    """Overlap of a reference face with the face of the other box that looks at it."""
    active, gap, point, normal = places
    turn, inc_turn = ref[7:16].reshape(3, 3), inc[7:16].reshape(3, 3)
    # Where the reference is the second box, its normal is the pair's.
    second = choice[1] == 0
    outward = 1.0 if second else -1.0
    ref_start, inc_start = (8, 0) if second else (0, 8)
    face, up, k_in, up_in = choice[2], float(choice[3]), choice[4], float(choice[5])
    out, n = np.empty(3), np.empty(3)
    for i in range(3):
        out[i] = up * turn[i, face]
        n[i] = outward * out[i]
    u, v = (face + 1) % 3, (face + 2) % 3
    ref_corner, inc_corner = np.empty((4, 3)), np.empty((4, 3))
    ref_number, inc_number = np.empty(4, np.int64), np.empty(4, np.int64)
    for c in range(4):
        ref_number[c] = _corner(ref, turn, face, up, c, ref_corner[c])
        inc_number[c] = _corner(inc, inc_turn, k_in, up_in, c, inc_corner[c])
    flat_ref, flat_inc = np.empty((4, 2)), np.empty((4, 2))
    height = np.empty(4)
    for c in range(4):
        for i in range(2):
            w = u if i == 0 else v
            flat_ref[c, i] = ((ref_corner[c] - ref[1:4]) * turn[:, w]).sum()
            flat_inc[c, i] = ((inc_corner[c] - ref[1:4]) * turn[:, w]).sum()
        height[c] = ((inc_corner[c] - ref_corner[0]) * out).sum()
    # corners of the other box over the face
    for c in range(4):
        slot = inc_start + inc_number[c]
        if not fixed:
            active[slot] = (
                abs(flat_inc[c, 0]) <= ref[4 + u] + _INSIDE
                and abs(flat_inc[c, 1]) <= ref[4 + v] + _INSIDE
            )
        if active[slot]:
            gap[slot] = height[c]
            for i in range(3):
                point[slot, i] = inc_corner[c, i] - 0.5 * height[c] * out[i]
                normal[slot, i] = n[i]
    # corners of the face under the other box
    slope = np.empty(3)
    for i in range(3):
        slope[i] = up_in * inc_turn[i, k_in]
    across = (slope * out).sum()
    for c in range(4):
        slot = ref_start + ref_number[c]
        if not fixed:
            active[slot] = abs(across) > _STEEP and _within(flat_ref[c], flat_inc)
        if active[slot]:
            h = ((inc_corner[0] - ref_corner[c]) * slope).sum() / across
            gap[slot] = h
            for i in range(3):
                point[slot, i] = ref_corner[c, i] + 0.5 * h * out[i]
                normal[slot, i] = n[i]
    # crossings of edges
    for c in range(4):
        for d in range(4):
            slot = 16 + 4 * c + d
            if fixed and not active[slot]:
                continue
            s, t, crossed = _crossing(
                flat_inc[c], flat_inc[(c + 1) % 4], flat_ref[d], flat_ref[(d + 1) % 4]
            )
            if not fixed:
                active[slot] = crossed and 0.0 < s < 1.0 and 0.0 < t < 1.0
            if not (active[slot] and crossed):
                continue
            h = (1 - s) * height[c] + s * height[(c + 1) % 4]
            gap[slot] = h
            for i in range(3):
                place = (1 - s) * inc_corner[c, i] + s * inc_corner[(c + 1) % 4, i]
                point[slot, i] = place - 0.5 * h * out[i]
                normal[slot, i] = n[i]


@kernel
def _within(place, corners):
    """Whether a place lies inside a convex polygon, its edge included."""
    positive, negative = False, False
    for c in range(4):
        e0 = corners[(c + 1) % 4, 0] - corners[c, 0]
        e1 = corners[(c + 1) % 4, 1] - corners[c, 1]
        side = e0 * (place[1] - corners[c, 1]) - e1 * (place[0] - corners[c, 0])
        length = np.sqrt(e0 * e0 + e1 * e1)
        if side > _INSIDE * length:
            positive = True
        if side < -_INSIDE * length:
            negative = True
    return not (positive and negative)


@kernel
def _crossing(a, b, c, d):
    """Shares of two lines at which they cross, and whether they do."""
    r0, r1, s0, s1 = b[0] - a[0], b[1] - a[1], d[0] - c[0], d[1] - c[1]
    bottom = r0 * s1 - r1 * s0
    if abs(bottom) < 1e-12:
        return 0.0, 0.0, False
    q0, q1 = c[0] - a[0], c[1] - a[1]
    return (q0 * s1 - q1 * s0) / bottom, (q0 * r1 - q1 * r0) / bottom, True
