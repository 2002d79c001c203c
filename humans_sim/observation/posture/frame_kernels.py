# SPDX-License-Identifier: Apache-2.0
"""Compiled steps around the search of one frame, and of frames in a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.observation.posture.kernels import (
    PostureGoal,
    advance,
    robust,
    solve_posture,
)
from humans_sim.observation.posture.result import MarkerStatus
from humans_sim.observation.posture.smooth_kernels import rotation_between
from humans_sim.observation.posture.tree_kernels import empty_poses, place, points

USED, OCCLUDED = int(MarkerStatus.USED), int(MarkerStatus.OCCLUDED)
REJECTED, UNKNOWN = int(MarkerStatus.REJECTED), int(MarkerStatus.UNKNOWN)
INTERPOLATED = int(MarkerStatus.INTERPOLATED)


class GateRules(NamedTuple):
    """When a marker is where it cannot be: :class:`GateSettings`, same words and units.

    Attributes:
        reach: radius around the expected place of a marker used just before [m];
            infinite: every marker is believed.
    """

    reach: float
    acceleration: float
    drift: float
    growth: float
    patience: float
    exchanged: float


class MotionRules(NamedTuple):
    """How a posture is expected to move on, of :class:`TrackSettings`.

    Attributes:
        lower, upper: joint limits [rad].
    """

    persistence: float
    fastest: float
    lower: np.ndarray
    upper: np.ndarray


class FrameMarkers(NamedTuple):
    """The k markers of the set in one frame.

    Attributes:
        y: measured (k, 3) [m].
        weight: 0 for those not seen (k,).
        shut: those that are where they cannot be (k,).
    """

    y: np.ndarray
    weight: np.ndarray
    shut: np.ndarray


@kernel
def weigh(positions, columns, given):
    """Markers of the set (k, 3), their weights (k,), and how many are seen."""
    y, weight = np.zeros((columns.size, 3)), np.zeros(columns.size)
    seen = 0
    for row in range(columns.size):
        point = positions[columns[row]]
        if np.isfinite(point[0]) and np.isfinite(point[1]) and np.isfinite(point[2]):
            y[row] = point
            weight[row] = given[row]
            seen += 1
    return y, weight, seen


@kernel
def change_between(a, b):
    """The step, base on world axes and joints, that leads from posture a to b."""
    step = np.empty(a.size - 1)
    step[:3] = b[:3] - a[:3]
    step[3:6] = rotation_between(a[3:7], b[3:7])
    step[6:] = b[7:] - a[7:]
    return step


@kernel
def predict(q, speed, step, rules):
    """The posture a time ``step`` [s] after q if its speed (nv,) [m/s, rad/s] fades."""
    ahead, going = np.empty(q.size), np.zeros(speed.size)
    share = step * np.exp(-step / rules.persistence)
    for i in range(speed.size):
        if abs(speed[i]) < rules.fastest:
            going[i] = share * speed[i]
    advance(q, going, rules.lower, rules.upper, ahead)
    return ahead


@kernel
def gate(x, frame, age, step, rules):
    """Markers that are where they cannot be: far from where the last frames lead.

    What is far depends on the time between frames, not on their number: a marker that
    accelerates by a is a step^2 from where its speed leads. Two markers that lie at
    each other's place are exchanged, and so is one that lies where another belongs,
    which is itself not there. Others are let in again when they have been away for a
    while.

    Markers are expected at ``x`` (k, 3) [m] and were not used for the time ``age`` (k,)
    [s] before this step [s]; ``shut`` of the :class:`FrameMarkers` is filled in.
    """
    y, weight, shut = frame
    shut[:] = False
    if not np.isfinite(rules.reach):
        return
    count = weight.size
    own, near, radius = np.zeros(count), np.empty(count), np.empty(count)
    astray = np.ones(count, np.bool_)
    for m in range(count):
        grown = min(rules.drift * age[m], (rules.growth - 1.0) * rules.reach)
        near[m] = rules.reach + grown
        radius[m] = near[m] + rules.acceleration * step * step
        if weight[m] > 0.0:
            own[m] = _apart(x[m], y[m])
            astray[m] = own[m] > radius[m]
    for m in range(count):
        if weight[m] <= 0.0 or own[m] <= rules.reach:
            continue
        if astray[m]:
            far = own[m] > 2.0 * radius[m]
            shut[m] = shut[m] or (far and age[m] < rules.patience)
        for k in range(count):
            if k == m:
                continue
            if astray[m] and astray[k]:
                if _apart(x[k], y[m]) < min(near[k], own[m]):
                    shut[m] = True
            elif weight[k] > 0.0 and own[k] > rules.reach:
                crossed = _apart(x[k], y[m]) + _apart(x[m], y[k])
                if crossed < rules.exchanged * (own[m] + own[k]):
                    shut[m] = True


@kernel
def _apart(a, b):
    return np.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)


@kernel
def explain(x, frame, scale, least, columns, count):
    """Model markers, differences and status of all ``count`` columns.

    The model has the set's markers, which are those columns (k,), at ``x`` (k, 3) [m];
    one whose robust weight at the scale [m] of the loss is below ``least`` is rejected.
    """
    y, weight, shut = frame
    markers = np.full((count, 3), np.nan)
    differences = np.full((count, 3), np.nan)
    status = np.full(count, UNKNOWN, np.uint8)
    for row in range(columns.size):
        column = columns[row]
        markers[column] = x[row]
        if weight[row] <= 0.0:
            status[column] = OCCLUDED
            continue
        differences[column] = y[row] - x[row]
        square = 0.0
        for a in range(3):
            square += (y[row, a] - x[row, a]) ** 2
        status[column] = USED
        if shut[row] or robust(square, scale)[1] < least:
            status[column] = REJECTED
    return markers, differences, status


DONE, LEAPT, LOST, SUSPICIOUS = 0, 1, 2, 3
"""Why tracking stopped: nothing is left; most markers are not where they were
expected; most were rejected; the frame fits much worse than those before."""


class TrackState(NamedTuple):
    """The state from one frame to the next; brought up to date in place.

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
    """When a frame is doubted, of :class:`TrackSettings` (same words and units).

    Attributes:
        misfit: mean square distance below which no frame is suspicious [m^2].
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

    Frames are positions of markers (n, m, 3) [m], each a step (n,) [s] after the one
    before. Gives postures, model markers, differences, status, converged and iterations
    of the frames done, and why it stopped.
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
