# SPDX-License-Identifier: Apache-2.0
"""Frames that follow each other, in one compiled call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.observation.posture.frame_kernels import (
    REJECTED,
    USED,
    FrameMarkers,
    GateRules,
    MotionRules,
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


class TrackState(NamedTuple):
    """What one frame hands to the next; brought up to date in place.

    Attributes:
        last: posture of the frame before (nq,).
        speed: of its coordinates (nv,) [m/s, rad/s].
        age: time for which each marker of the set was not used (k,) [s].
        memory: usual cost, and time left without a look aside [s] (2,).
    """

    last: np.ndarray
    speed: np.ndarray
    age: np.ndarray
    memory: np.ndarray


class DoubtRules(NamedTuple):
    """When a frame is doubted.

    Attributes:
        rejected: robust weight below which a marker is rejected.
        lost: share of markers astray or rejected above which a person is lost.
        misfit: mean square distance below which no frame is suspicious [m^2].
        worse: cost over the usual one that makes a frame suspicious.
        learning: time over which the usual cost is averaged [s].
        pause: between two looks aside [s].
    """

    rejected: float
    lost: float
    misfit: float
    worse: float
    learning: float
    pause: float


class TrackRules(NamedTuple):
    """How frames are tracked.

    Attributes:
        columns: of the k markers of the set among those of the frames (k,).
        weight: of these markers where they are seen (k,).
        tracked: joints that are pulled to where they were, not to rest (nv - 6,).
        pull: how strongly all are (nv - 6,) [m^2].
        rest: joint angles at rest (nv - 6,) [rad].
        scale: of the loss [m].
        tolerance: largest part of a step at which a search ends [m, rad].
        most: iterations of a search.
        gate: :class:`~humans_sim.observation.posture.frame_kernels.GateRules`.
        motion: :class:`~humans_sim.observation.posture.frame_kernels.MotionRules`.
        doubt: :class:`DoubtRules`.
    """

    columns: np.ndarray
    weight: np.ndarray
    tracked: np.ndarray
    pull: np.ndarray
    rest: np.ndarray
    scale: float
    tolerance: float
    most: int
    gate: GateRules
    motion: MotionRules
    doubt: DoubtRules


@kernel
def suspicious(cost, memory, step, rules):
    """Whether a frame fits much worse than usual; ``memory``: usual cost, pause."""
    if memory[1] > 0.0:
        memory[1] -= step
        return False
    usual = memory[0]
    if cost > max(rules.worse * usual, rules.misfit):
        memory[1] = rules.pause
        return True
    share = min(step / rules.learning, 1.0)
    memory[0] = cost if np.isinf(usual) else usual + share * (cost - usual)
    return False


@kernel
def track_frames(frames, steps, state, rules, marked):
    """Postures of frames, one after the other, until one needs attention.

    Args:
        frames: positions of markers (n, m, 3) [m].
        steps: time from the frame before to each (n,) [s].
        state: a :class:`TrackState`.
        rules: :class:`TrackRules`.
        marked: a :class:`~humans_sim.observation.posture.tree.MarkedTree`.

    Returns:
        postures, model markers, differences, status, converged, iterations of the
        frames done, and why it stopped.
    """
    last, speed, age, memory = state
    columns, scale, doubt = rules.columns, rules.scale, rules.doubt
    tree, n, count = marked.tree, frames.shape[0], frames.shape[1]
    q_all = np.empty((n, last.size))
    x_all, gaps = np.empty((n, count, 3)), np.empty((n, count, 3))
    status_all = np.empty((n, count), np.uint8)
    fine, taken = np.zeros(n, np.bool_), np.zeros(n, np.int64)
    poses, x = empty_poses(tree.parent.size), np.empty((columns.size, 3))
    middle = np.empty(rules.rest.size)
    shut = np.zeros(columns.size, np.bool_)
    why, done = DONE, n
    for f in range(n):
        step = steps[f]
        y, weight, seen = weigh(frames[f], columns, rules.weight)
        frame = FrameMarkers(y, weight, shut)
        ahead = predict(last, speed, step, rules.motion)
        place(tree, ahead, poses)
        points(marked, poses, x)
        gate(x, frame, age, step, rules.gate)
        if np.sum(shut) > doubt.lost * seen:
            why, done = LEAPT, f
            break
        q, solution = ahead, x
        if seen > 0:
            for i in range(middle.size):
                middle[i] = ahead[7 + i] if rules.tracked[i] else rules.rest[i]
            held = np.where(shut, 0.0, weight)
            goal = PostureGoal(y, held, scale, rules.pull, middle)
            q, solution, cost, taken[f], fine[f] = solve_posture(
                ahead, goal, marked, 0.0, rules.tolerance, rules.most
            )
        markers, differences, status = explain(
            solution, frame, scale, doubt.rejected, columns, count
        )
        if np.sum(status == REJECTED) > doubt.lost * seen:
            why, done = LOST, f
            break
        if seen > 0 and suspicious(cost / seen, memory, step, doubt):
            why, done = SUSPICIOUS, f
            break
        q_all[f], x_all[f], gaps[f], status_all[f] = q, markers, differences, status
        speed[:] = change_between(last, q) / step
        last[:] = q
        for row in range(columns.size):
            age[row] = 0.0 if status[columns[row]] == USED else age[row] + step
    return (
        q_all[:done], x_all[:done], gaps[:done], status_all[:done], fine[:done],
        taken[:done], why,
    )  # fmt: skip
