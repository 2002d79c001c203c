# SPDX-License-Identifier: Apache-2.0
"""Where two convex solids touch: a few points of both, and a common normal.

The normal is the direction in which the cores (see
:mod:`~humans_sim.contact.geometry.convex_cores`) are nearest. What each core turns
towards the other, a face, an edge or a corner, is seen along it; the points are the
corners of the area, or the ends of the line, in which both lie over each other. So a
solid that lies flat on another one rests on several points, and the point at which both
are nearest is always among them.
"""

from __future__ import annotations

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
    """A point of a joint's frame in the world.

    Args:
        pose: columns of the rotation, then the place (12,).
        local: (3,).
        out: (3,), is filled.
    """
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
    """What a core turns to a direction: a face, an edge or a corner.

    Args:
        cores: fields of a :class:`CoreTable`.
        which: the core.
        pose: of its joint (12,).
        frame: normal and tangents (3, 3).
        side: -1 for the core that the normal points to, 1 for the other.

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
    """What of a polygon or segment lies over a convex polygon (k, 3).

    Args:
        subject: rows across, across, along (m, 3).
        area: the same, in the order of the angle (n, 3).
    """
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
    """Where two segments that run side by side lie over each other.

    Returns:
        rows across, across, height of the first, height of the second (0 or 2, 4).
    """
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
    """A few of many points: the one with the least gap, then the farthest from all.

    Args:
        points: (k, 3) [m].
        gap: (k,) [m].
        most: how many.

    Returns:
        their numbers.
    """
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
