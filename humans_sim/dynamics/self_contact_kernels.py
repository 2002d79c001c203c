# SPDX-License-Identifier: Apache-2.0
"""Compiled parts of self-collision: which pairs may be near, gaps and Jacobians.

Most pairs of links are far apart, and a bound on how far they can have moved towards
each other is enough to know it. One bound is how far both have travelled in the frame
of the base, which takes a sum a pair; where that is not enough, another one is how far
one has moved in the frame of the other since their distance was computed. Kernels take
fields as plain tuples: ``tree`` of a ``TreeTable``, ``bounds``, ``balls`` and
``chosen`` of the tuples here; ``poses`` are those of all joints (n, 12).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.geometry.convex_pairs import FAR, basis, place, turn
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.tree_kernels import TreeTable, tree_poses

WATCH = 1e-3
"""Points are known from this distance on, before they touch [m]."""


class PairBounds(NamedTuple):
    """Bounds of the distances of pairs.

    Attributes:
        reach: of joints on each pair (p, joints), see
            :class:`~humans_sim.dynamics.link_pairs.LinkPairs`.
        farthest: largest of it for each joint (joints,).
        joints: that carry the two links of each pair, that of the smaller ball first
            (p, 2).
        balls: around all solids of each joint, in its frame: centre, radius; below zero
            where it has none (n, 4) [m].
        poses: of these balls in the frame of the base, where they were last (n, 12).
        travel: of the points of these balls in that frame, at most (n,) [m].
        bound: of the distance of each pair, from below (p,) [m].
        moved: travel of both of its links when that was known (p,) [m].
        clear: least distance of the solids of each pair (p,) [m].
        between: pose of the first link's ball in the second's frame there (p, 12).
        shape_clear: distance of each pair of solids there, from below (s,) [m].
    """

    reach: np.ndarray
    farthest: np.ndarray
    joints: np.ndarray
    balls: np.ndarray
    poses: np.ndarray
    travel: np.ndarray
    bound: np.ndarray
    moved: np.ndarray
    clear: np.ndarray
    between: np.ndarray
    shape_clear: np.ndarray


class PairBalls(NamedTuple):
    """Balls around solids, and pairs of solids.

    Attributes:
        centre: in the frames of their joints (n, 3) [m].
        radius: (n,) [m].
        joint: (n,).
        shape_pairs: (s, 2).
        start: first of ``shape_pairs`` of each pair of links, and the end (p + 1,).
    """

    centre: np.ndarray
    radius: np.ndarray
    joint: np.ndarray
    shape_pairs: np.ndarray
    start: np.ndarray


class ChosenPoints(NamedTuple):
    """Points in which links touch, fixed on both of them.

    Attributes:
        joints: of the first link, of the second, and of the one that the normal turns
            with (k, 3).
        first: points on the first core, in its joint's frame (k, 3) [m].
        second: points on the second (k, 3) [m].
        normal: from the second to the first, in the third joint's frame (k, 3).
        radius: of both skins together (k,) [m].
        share: part of the radius that is the second's (k,).
    """

    joints: np.ndarray
    first: np.ndarray
    second: np.ndarray
    normal: np.ndarray
    radius: np.ndarray
    share: np.ndarray


@kernel
def _displacement(pose, frame, ball, last, write):
    r"""How far the points of a ball have moved in a frame, at most [m].

    A point within the radius r of the centre c moves no farther than
    :math:`|\Delta c| + r |\Delta R|`; the norm of a difference of rotations is
    that of its entries over the root of two.
    """
    turned, square = 0.0, 0.0
    for k in range(4):
        x, y, z = pose[3 * k], pose[3 * k + 1], pose[3 * k + 2]
        if k == 3:
            x += pose[0] * ball[0] + pose[3] * ball[1] + pose[6] * ball[2] - frame[9]
            y += pose[1] * ball[0] + pose[4] * ball[1] + pose[7] * ball[2] - frame[10]
            z += pose[2] * ball[0] + pose[5] * ball[1] + pose[8] * ball[2] - frame[11]
            turned, square = square, 0.0
        for i in range(3):
            now = frame[3 * i] * x + frame[3 * i + 1] * y + frame[3 * i + 2] * z
            square += (now - last[3 * k + i]) ** 2
            if write:
                last[3 * k + i] = now
    return np.sqrt(square) + ball[3] * np.sqrt(0.5 * turned)


@kernel
def with_links(gaps, links, joints, at, farthest):
    """Gaps with places for those of links, and whether points must be chosen anew."""
    count = gaps.shape[0]
    out = np.empty(count + links)
    for k in range(count):
        out[k] = gaps[k]
    for k in range(count, count + links):
        out[k] = FAR
    stale = False
    for j in range(at.shape[0]):
        stale = stale or not abs(joints[j] - at[j]) <= farthest
    return out, stale


@kernel
def due_pairs(bounds, poses, speeds, time):
    """Pairs of links that may be near within a time, and how near counts (k,)."""
    reach, farthest, joints, balls, last, travel, bound, moved, clear, between, _ = (
        bounds
    )
    for j in range(1, travel.shape[0]):
        if balls[j, 3] >= 0.0:
            travel[j] += _displacement(poses[j], poses[1], balls[j], last[j], True)
    most = 0.0
    for j in range(farthest.shape[0]):
        most += farthest[j] * abs(speeds[j])
    most = WATCH + time * most
    which = np.empty(reach.shape[0], np.int64)
    near = np.empty(reach.shape[0])
    count = 0
    for p in range(reach.shape[0]):
        a, b = joints[p]
        if bound[p] - (travel[a] + travel[b] - moved[p]) > most:
            continue
        speed = 0.0
        for j in range(reach.shape[1]):
            speed += reach[p, j] * abs(speeds[j])
        limit = WATCH + time * speed
        if bound[p] - (travel[a] + travel[b] - moved[p]) > limit:
            continue
        away = _displacement(poses[a], poses[b], balls[a], between[p], False)
        bound[p], moved[p] = clear[p] - away, travel[a] + travel[b]
        if not bound[p] > limit:
            which[count], near[count] = p, limit
            count += 1
    return which[:count], near[:count]


@kernel
def none_due(tree, q, v, time, bounds, poses):
    """Whether no pair of links of a model can be near; fills ``poses`` (n, 12)."""
    links = TreeTable(*tree).parent.shape[0]
    rotation, place_ = np.empty((links, 3, 3)), np.empty((links, 3))
    tree_poses(tree, q, (rotation, place_))
    for b in range(links):
        for i in range(3):
            poses[1 + b, 9 + i] = place_[b, i]
            for k in range(3):
                poses[1 + b, 3 * k + i] = rotation[b, i, k]
    return due_pairs(bounds, poses, v[6:], time)[0].shape[0] == 0


@kernel
def due_shapes(bounds, balls, which, near, poses):
    """Pairs of solids, among due pairs of links, whose distances must be computed.

    The bounds of all of these pairs are brought up to date, where balls are enough:
    where they leave a margin that lasts for many steps.
    """
    joints, around, between, shape_clear = bounds[2], bounds[3], bounds[9], bounds[10]
    centre, radius, joint, shape_pairs, start = balls
    due = np.empty(shape_pairs.shape[0], np.int64)
    one, other = np.empty(3), np.empty(3)
    count = 0
    for k in range(which.shape[0]):
        p = which[k]
        f, g = joints[p]
        away = _displacement(poses[f], poses[g], around[f], between[p], True)
        for s in range(start[p], start[p + 1]):
            shape_clear[s] -= away
            if shape_clear[s] > near[k] + around[f, 3]:
                continue
            a, b = shape_pairs[s]
            place(poses[joint[a]], centre[a], one)
            place(poses[joint[b]], centre[b], other)
            square = 0.0
            for i in range(3):
                square += (one[i] - other[i]) ** 2
            apart = np.sqrt(square) - radius[a] - radius[b]
            if apart > near[k] + around[f, 3]:
                shape_clear[s] = apart
            else:
                due[count] = s
                count += 1
    return due[:count]


@kernel
def update_clear(bounds, start, which):
    """Bring the bounds of pairs of links up to date with those of their solids."""
    bound, clear, shape_clear = bounds[6], bounds[8], bounds[10]
    for p in which:
        least = np.inf
        for s in range(start[p], start[p + 1]):
            least = min(least, shape_clear[s])
        clear[p] = bound[p] = least


@kernel
def chosen_gaps(chosen, poses):
    """Gaps, points and normals of chosen points, in the world."""
    joints, first, second, normal, radius, share = chosen
    count = radius.shape[0]
    gap, point, out = np.empty(count), np.empty((count, 3)), np.empty((count, 3))
    one, other = np.empty(3), np.empty(3)
    for k in range(count):
        place(poses[joints[k, 0]], first[k], one)
        place(poses[joints[k, 1]], second[k], other)
        turn(poses[joints[k, 2]], normal[k], out[k])
        along = 0.0
        for i in range(3):
            along += out[k, i] * (one[i] - other[i])
        gap[k] = along - radius[k]
        # in the middle between both surfaces
        step = share[k] * radius[k] + 0.5 * gap[k]
        for i in range(3):
            point[k, i] = other[i] + step * out[k, i]
    return gap, point, out


@kernel
def pair_rows(chosen_joints, support, jacobian, point, normal):
    """Jacobians of points between links, normal and tangents (k, 3, nv)."""
    count, nv = point.shape[0], jacobian.shape[1]
    rows = np.zeros((count, 3, nv))
    frame = np.empty((3, 3))
    for k in range(count):
        basis(normal[k], frame)
        p = point[k]
        a, b = chosen_joints[k, 0], chosen_joints[k, 1]
        for j in range(nv):
            # What moves both links alike does not move one against the other.
            if support[a, j] == support[b, j]:
                continue
            sign = 1.0 if support[a, j] else -1.0
            w0, w1, w2 = jacobian[3, j], jacobian[4, j], jacobian[5, j]
            c0 = jacobian[0, j] + w1 * p[2] - w2 * p[1]
            c1 = jacobian[1, j] + w2 * p[0] - w0 * p[2]
            c2 = jacobian[2, j] + w0 * p[1] - w1 * p[0]
            for i in range(3):
                rows[k, i, j] = sign * (
                    frame[i, 0] * c0 + frame[i, 1] * c1 + frame[i, 2] * c2
                )
    return rows
