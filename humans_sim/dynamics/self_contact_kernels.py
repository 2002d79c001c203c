# SPDX-License-Identifier: Apache-2.0
"""Compiled parts of self-collision: which pairs may be near, gaps and Jacobians.

Most pairs of links are far apart, and a bound on how far joints can have moved them
towards each other is enough to know it: no pose is looked at before the bound is used
up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from humans_sim.contact.geometry.box_pairs import FAR
from humans_sim.contact.geometry.convex_pairs import basis, place, turn


class PairBounds(NamedTuple):
    """What is known of the distances of pairs.

    Attributes:
        reach: of joints on each pair (p, joints), see
            :class:`~humans_sim.dynamics.link_pairs.LinkPairs`.
        reference: joint positions that each pair was last looked at (p, joints).
        clear: least distance of each pair there (p,) [m].
        moved: how far the links of each pair may have moved until then (p,) [m].
        shape_clear: least distance of each pair of solids (s,) [m].
        shape_moved: ``moved`` of the pair when that was known (s,) [m].
    """

    reach: np.ndarray
    reference: np.ndarray
    clear: np.ndarray
    moved: np.ndarray
    shape_clear: np.ndarray
    shape_moved: np.ndarray


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


class QuickBound(NamedTuple):
    """A bound for all pairs at once, which most steps need not go beyond.

    Attributes:
        reach: largest of all pairs for each joint (joints,).
        reference: joint positions that all pairs were last compared at (joints,).
        slack: how far links may move from there (1,) [m].
    """

    reach: np.ndarray
    reference: np.ndarray
    slack: np.ndarray


@njit(cache=True)
def none_due(quick, joints, speeds, time):
    """Whether no pair of links can be near.

    Args:
        quick: fields of a :class:`QuickBound`.
        joints: their positions.
        speeds: their speeds.
        time: what may close within it counts [s].
    """
    reach, reference, slack = quick
    moved = 0.0
    for j in range(reach.shape[0]):
        moved += reach[j] * (abs(joints[j] - reference[j]) + time * abs(speeds[j]))
    return moved < slack[0]


@njit(cache=True)
def compare_all(quick, bounds, joints, watch):
    """Bring the quick bound up to date."""
    reach, reference, slack = quick
    least = np.inf
    for p in range(bounds[0].shape[0]):
        moved = 0.0
        for j in range(reach.shape[0]):
            moved += bounds[0][p, j] * abs(joints[j] - bounds[1][p, j])
        least = min(least, bounds[2][p] - moved)
    for j in range(reach.shape[0]):
        reference[j] = joints[j]
    slack[0] = least - watch


@njit(cache=True)
def with_links(gaps, links, joints, at, farthest):
    """Gaps with places for those of links, and whether points must be chosen anew.

    Args:
        gaps: of other contacts (n,).
        links: how many of links there are.
        joints: their positions.
        at: positions of the joints where points were chosen.
        farthest: how far joints may have moved from there.
    """
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


@njit(cache=True)
def due_pairs(bounds, joints, speeds, time, watch):
    """Pairs of links that may be near: their numbers, and how near counts (k,).

    Args:
        bounds: fields of a :class:`PairBounds`.
        joints: their positions.
        speeds: their speeds.
        time: what may close within it counts [s].
        watch: and what is nearer than this [m].
    """
    reach, reference, clear, _, _, _ = bounds
    which = np.empty(reach.shape[0], np.int64)
    near = np.empty(reach.shape[0])
    count = 0
    for p in range(reach.shape[0]):
        moved, speed = 0.0, 0.0
        for j in range(reach.shape[1]):
            r = reach[p, j]
            moved += r * abs(joints[j] - reference[p, j])
            speed += r * abs(speeds[j])
        limit = watch + time * speed
        if clear[p] - moved <= limit:
            which[count], near[count] = p, limit
            count += 1
    return which[:count], near[:count]


@njit(cache=True)
def due_shapes(bounds, balls, which, near, joints, poses):
    """Pairs of solids, among due pairs of links, whose distances must be computed.

    The bounds of all of these pairs are brought up to date, where balls are enough.

    Args:
        bounds: fields of a :class:`PairBounds`.
        balls: fields of a :class:`PairBalls`.
        which: pairs of links (k,).
        near: how near counts (k,) [m].
        joints: their positions.
        poses: of all joints (n, 12).
    """
    reach, reference, _, moved, shape_clear, shape_moved = bounds
    centre, radius, joint, shape_pairs, start = balls
    due = np.empty(shape_pairs.shape[0], np.int64)
    one, other = np.empty(3), np.empty(3)
    count = 0
    for k in range(which.shape[0]):
        p = which[k]
        for j in range(reach.shape[1]):
            moved[p] += reach[p, j] * abs(joints[j] - reference[p, j])
            reference[p, j] = joints[j]
        for s in range(start[p], start[p + 1]):
            if shape_clear[s] - (moved[p] - shape_moved[s]) > near[k]:
                continue
            a, b = shape_pairs[s]
            place(poses[joint[a]], centre[a], one)
            place(poses[joint[b]], centre[b], other)
            square = 0.0
            for i in range(3):
                square += (one[i] - other[i]) ** 2
            apart = np.sqrt(square) - radius[a] - radius[b]
            if apart > near[k] + 0.25 * min(radius[a], radius[b]):
                shape_clear[s], shape_moved[s] = apart, moved[p]
            else:
                due[count] = s
                count += 1
    return due[:count]


@njit(cache=True)
def update_clear(bounds, start, which):
    """Bring the bounds of pairs of links up to date with those of their solids."""
    _, _, clear, moved, shape_clear, shape_moved = bounds
    for p in which:
        least = np.inf
        for s in range(start[p], start[p + 1]):
            least = min(least, shape_clear[s] - (moved[p] - shape_moved[s]))
        clear[p] = least


@njit(cache=True)
def chosen_gaps(chosen, poses):
    """Gaps, points and normals of chosen points, in the world.

    Args:
        chosen: fields of a :class:`ChosenPoints`.
        poses: of all joints (n, 12).
    """
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


@njit(cache=True)
def pair_rows(chosen_joints, support, jacobian, point, normal):
    """Jacobians of points between links, normal and tangents (k, 3, nv).

    Args:
        chosen_joints: of both links (k, 3).
        support: velocities that move each joint (n, nv).
        jacobian: of all joints, in the world (6, nv).
        point: (k, 3) [m].
        normal: (k, 3).
    """
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
