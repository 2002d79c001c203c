# SPDX-License-Identifier: Apache-2.0
"""Points in which two convex solids touch, with a common normal.

The normal is the direction along which the solids are farthest apart
(:mod:`~humans_sim.contact.geometry.convex_distance`). What each turns towards the other
along it, a face, an edge or a corner, lies over what the other one turns: the points
are the corners of the area, or the ends of the line, in which both do. So a solid that
lies flat on another one rests on several points, and where edges cross it rests on one.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.geometry.convex_cores import SolidTable
from humans_sim.contact.geometry.convex_distance import (
    farthest,
    place,
    turn_back,
)
from humans_sim.core.kernels import kernel, lent, small_matrix, small_vector

SLOTS = 4
"""Points that a pair of movers may touch in."""
SECOND, FIRST, BOTH = 0, 1, 2
"""What a normal turns with."""
_SLOPE = np.tan(np.radians(15.0))
"""Slope to the common normal up to which a face or an edge counts as turned to it."""
_SHORT = 0.03
"""What is shorter counts as a point, over the length of the smaller solid."""
_LOW = 1e-6
"""A face that lies farther back than the foremost vertex is not the foremost, over the
length of the solid."""


@kernel(borrows=True)
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
def _feature(solids, which, pose, frame, side):
    """The feature of a solid in a direction: a face, an edge or a corner.

    Returns:
        rows across, across, along the normal (k, 3): in the order around a face;
        cosine between the normal and the face's, zero without a face.
    """
    solids, pose, frame = lent((solids, pose, frame))
    table = SolidTable(*solids)
    vertices, loops, loop_start = table.vertices, table.loops, table.loop_start
    local, point = small_vector(3), small_vector(3)
    turn_back(pose, frame[0], local)
    local *= side
    first, last = table.vertex_start[which], table.vertex_start[which + 1]
    best, front = farthest(vertices, first, last, local)
    face, cosine = -1, 1.0 / np.sqrt(1.0 + _SLOPE**2)
    low = _LOW * table.length[which]
    for f in range(table.face_start[which], table.face_start[which + 1]):
        c = 0.0
        for i in range(3):
            c += local[i] * table.normals[f, i]
        if c <= cosine:
            continue
        height = -np.inf
        for k in range(loop_start[f], loop_start[f + 1]):
            v = vertices[loops[k]]
            height = max(height, local[0] * v[0] + local[1] * v[1] + local[2] * v[2])
        if height >= front - low:
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
    if nz == 0.0:  # seen from its side, or without an area: any of its corners
        return rows[0, 2]
    return rows[0, 2] - (nx * (x - rows[0, 0]) + ny * (y - rows[0, 1])) / nz


@kernel
def _segments(one, other):
    """Where segments side by side lie over each other: across twice, both heights."""
    none = np.empty((0, 4))
    dx, dy = one[1, 0] - one[0, 0], one[1, 1] - one[0, 1]
    ex, ey = other[1, 0] - other[0, 0], other[1, 1] - other[0, 1]
    d, e = np.sqrt(dx * dx + dy * dy), np.sqrt(ex * ex + ey * ey)
    if d * d == 0.0:  # seen along the first one
        return none
    if abs(dx * ey - dy * ex) > _SLOPE / np.sqrt(1.0 + _SLOPE**2) * d * e:
        return none
    shares = small_vector(2)
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
def _line_point(one, other):
    """Where edges come nearest to each other, seen along the normal (1, 4)."""
    row = np.empty((1, 4))
    dx, dy = one[1, 0] - one[0, 0], one[1, 1] - one[0, 1]
    ex, ey = other[1, 0] - other[0, 0], other[1, 1] - other[0, 1]
    px, py = other[0, 0] - one[0, 0], other[0, 1] - one[0, 1]
    bottom = dx * ey - dy * ex
    if bottom == 0.0:
        return np.empty((0, 4))
    s = min(1.0, max(0.0, (px * ey - py * ex) / bottom))
    t = min(1.0, max(0.0, (px * dy - py * dx) / bottom))
    row[0, 0], row[0, 1] = one[0, 0] + s * dx, one[0, 1] + s * dy
    row[0, 2] = one[0, 2] + s * (one[1, 2] - one[0, 2])
    row[0, 3] = other[0, 2] + t * (other[1, 2] - other[0, 2])
    return row


@kernel
def _overlap(one, other):
    """Rows across, across, height of the first, height of the second (k, 4)."""
    if one.shape[0] == 1 or other.shape[0] == 1:
        return np.empty((0, 4))
    if one.shape[0] == 2 and other.shape[0] == 2:
        rows = _segments(one, other)
        return rows if rows.shape[0] else _line_point(one, other)
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
def _with_nearest(rows, frame, at, height, gap):
    """Rows of points, and the one of the nearest points before them."""
    out = np.empty((rows.shape[0] + 1, 4))
    out[1:] = rows
    for k in range(2):
        out[0, k] = 0.0
        for i in range(3):
            out[0, k] += frame[k + 1, i] * at[i]
    out[0, 2], out[0, 3] = height, height - gap
    return out


@kernel
def pair_points(solids, pair, poses, normal, at, apart):
    """Points in which two solids touch or would touch first.

    Args:
        solids: fields of a :class:`SolidTable`.
        pair: numbers of both; the first is no half space.
        poses: of their joints, (12,) each.
        normal: from the second to the first, in the world (3,).
        at: where they are nearest, in the world (3,).
        apart: separation along the normal, there [m].

    Returns:
        points on the hull of the first solid, and of the second (k, 3), in the world
        [m]; gaps between the solids along the normal (k,) [m]; what the normal turns
        with: SECOND, FIRST, or BOTH where it joins a point of each.
    """
    solids, poses, normal, at = lent((solids, poses, normal, at))
    table = SolidTable(*solids)
    radius = table.radius[pair[0]] + table.radius[pair[1]]
    frame = small_matrix(3, 3)
    basis(normal, frame)
    one, cosine = _feature(solids, pair[0], poses[0], frame, -1.0)
    if table.plane[pair[1]]:
        height, cosine_other = 0.0, 2.0
        foot = small_vector(3)
        place(poses[1], table.vertices[table.vertex_start[pair[1]]], foot)
        for i in range(3):
            height += normal[i] * foot[i]
        rows = np.empty((one.shape[0], 4))
        rows[:, :3], rows[:, 3] = one, height
    else:
        other, cosine_other = _feature(solids, pair[1], poses[1], frame, 1.0)
        rows = _overlap(one, other)
        long = 0.0
        for k in range(1, rows.shape[0]):
            long = max(long, (rows[k, 0] - rows[0, 0]) ** 2)
            long = max(long, (rows[k, 1] - rows[0, 1]) ** 2)
        small = min(table.length[pair[0]], table.length[pair[1]])
        if rows.shape[0] > 1 and np.sqrt(long) < _SHORT * small:
            best = np.argmin(rows[:, 2] - rows[:, 3])
            rows = rows[best : best + 1]
        least = np.inf
        for k in range(rows.shape[0]):
            least = min(least, rows[k, 2] - rows[k, 3] - radius)
        if not least <= apart + _LOW * small:
            # What is nearest belongs to no feature, or to one that is not the foremost.
            rows = _with_nearest(rows, frame, at, one[:, 2].min(), apart + radius)
    count = rows.shape[0]
    first, second, gap = np.empty((count, 3)), np.empty((count, 3)), np.empty(count)
    for k in range(count):
        for i in range(3):
            across = rows[k, 0] * frame[1, i] + rows[k, 1] * frame[2, i]
            first[k, i] = across + rows[k, 2] * frame[0, i]
            second[k, i] = across + rows[k, 3] * frame[0, i]
        gap[k] = rows[k, 2] - rows[k, 3] - radius
    if radius > 0.0 and cosine == 0.0 and cosine_other == 0.0:
        return first, second, gap, BOTH
    return first, second, gap, FIRST if cosine > cosine_other else SECOND


@kernel
def spread_out(points, gap, most):
    """Numbers of a few points: that with the least gap, then the farthest from all."""
    points, gap = lent((points, gap))
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
        if distance[latest] == 0.0:
            return chosen[: n + 1]
    return chosen
