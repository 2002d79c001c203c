# SPDX-License-Identifier: Apache-2.0
"""Frames that follow each other, in one compiled call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from humans_sim.observation.posture.frame_kernels import (
    REJECTED,
    USED,
    FrameMarkers,
    change_between,
    explain,
    gate,
    predict,
    weigh,
)
from humans_sim.observation.posture.kernels import PostureGoal, solve_posture
from humans_sim.observation.posture.tree_kernels import empty_poses, place, points

DONE, LEAPT, LOST, SUSPICIOUS = 0, 1, 2, 3
"""Why tracking stopped: nothing is left; most markers are not where they were
expected; most were rejected; the frame fits much worse than those before."""
REJECTED_SHARE = 0.25
"""A marker whose robust weight is below this share is said to be rejected."""
LOST_SHARE = 0.5
"""Share of markers astray or rejected above which a person is lost."""
MISFIT = 0.003**2
"""Mean square distance below which no frame is suspicious [m^2]."""
WORSE, LEARN, PAUSE = 4.0, 0.1, 5
"""A frame's cost over the usual one that makes it suspicious, how fast the usual one is
learnt, and frames between two looks aside."""


class TrackState(NamedTuple):
    """What one frame hands to the next; brought up to date in place.

    Attributes:
        last: posture of the frame before (nq,).
        change: the step that led there (nv,).
        age: frames since each marker of the set was used (k,).
        memory: usual cost, and frames left without a look aside (2,).
    """

    last: np.ndarray
    change: np.ndarray
    age: np.ndarray
    memory: np.ndarray


class TrackRules(NamedTuple):
    """How frames are tracked.

    Attributes:
        columns: of the k markers of the set among those of the frames (k,).
        weight: of these markers where they are seen (k,).
        tracked: joints that are pulled to where they were, not to rest (nv - 6,).
        pull: how strongly all are (nv - 6,) [m^2].
        rest: joint angles at rest (nv - 6,) [rad].
        scale: of the loss [m].
        fade: share of the last step that is expected again.
        tolerance: largest part of a step at which a search ends [m, rad].
        most: iterations of a search.
    """

    columns: np.ndarray
    weight: np.ndarray
    tracked: np.ndarray
    pull: np.ndarray
    rest: np.ndarray
    scale: float
    fade: float
    tolerance: float
    most: int


@njit(cache=True)
def suspicious(cost, memory):
    """Whether a frame fits much worse than usual; ``memory``: usual cost, pause."""
    if memory[1] > 0.0:
        memory[1] -= 1.0
        return False
    usual = memory[0]
    if cost > max(WORSE * usual, MISFIT):
        memory[1] = PAUSE
        return True
    memory[0] = cost if np.isinf(usual) else usual + LEARN * (cost - usual)
    return False


@njit(cache=True)
def track_frames(frames, state, rules, marked):
    """Postures of frames, one after the other, until one needs attention.

    Args:
        frames: positions of markers (n, m, 3) [m].
        state: a :class:`TrackState`.
        rules: :class:`TrackRules`.
        marked: a :class:`~humans_sim.observation.posture.tree.MarkedTree`.

    Returns:
        postures, model markers, differences, status, converged, iterations of the
        frames done, and why it stopped.
    """
    last, change, age, memory = state
    columns, given, tracked, pull, rest, scale, fade, tolerance, most = rules
    tree, n, count = marked.tree, frames.shape[0], frames.shape[1]
    q_all = np.empty((n, last.size))
    x_all, gaps = np.empty((n, count, 3)), np.empty((n, count, 3))
    status_all = np.empty((n, count), np.uint8)
    fine, steps = np.zeros(n, np.bool_), np.zeros(n, np.int64)
    poses, x = empty_poses(tree.parent.size), np.empty((columns.size, 3))
    middle = np.empty(rest.size)
    why, done = DONE, n
    for f in range(n):
        y, weight, seen = weigh(frames[f], columns, given)
        ahead = predict(last, change, fade, tree.lower, tree.upper)
        place(tree, ahead, poses)
        points(marked, poses, x)
        shut = gate(x, y, weight, age, scale)
        if np.sum(shut) > LOST_SHARE * seen:
            why, done = LEAPT, f
            break
        q, solution = ahead, x
        if seen > 0:
            for i in range(rest.size):
                middle[i] = ahead[7 + i] if tracked[i] else rest[i]
            held = np.where(shut, 0.0, weight)
            goal = PostureGoal(y, held, scale, pull, middle)
            q, solution, cost, steps[f], fine[f] = solve_posture(
                ahead, goal, marked, 0.0, tolerance, most
            )
        frame = FrameMarkers(y, weight, shut)
        markers, differences, status = explain(
            solution, frame, scale, REJECTED_SHARE, columns, count
        )
        if np.sum(status == REJECTED) > LOST_SHARE * seen:
            why, done = LOST, f
            break
        if seen > 0 and suspicious(cost / seen, memory):
            why, done = SUSPICIOUS, f
            break
        q_all[f], x_all[f], gaps[f], status_all[f] = q, markers, differences, status
        change[:] = change_between(last, q)
        last[:] = q
        for row in range(columns.size):
            age[row] = 0 if status[columns[row]] == USED else age[row] + 1
    return (
        q_all[:done], x_all[:done], gaps[:done], status_all[:done], fine[:done],
        steps[:done], why,
    )  # fmt: skip
