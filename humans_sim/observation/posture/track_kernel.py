# SPDX-License-Identifier: Apache-2.0
"""Frames that follow each other, in one compiled call."""

from __future__ import annotations

import numpy as np
from numba import njit

from humans_sim.observation.posture.frame_kernels import (
    REJECTED,
    USED,
    change_between,
    explain,
    gate,
    predict,
    weigh,
)
from humans_sim.observation.posture.kernels import place, points, solve_posture

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
def track_frames(
    frames, columns, given, last, change, age, memory, tracked, pull, rest,
    scale, fade, tolerance, most, body, local, parent, rotation, origin, axis, above,
    lower, upper,
):  # fmt: skip
    """Postures of frames (n, m, 3), one after the other, until one needs attention.

    ``last``, ``change``, ``age`` and ``memory`` are brought up to date in place.

    Returns:
        postures, model markers, differences, status, converged, iterations of the
        frames done, and why it stopped.
    """
    n, count, bodies = frames.shape[0], frames.shape[1], parent.size
    q_all = np.empty((n, last.size))
    x_all, gaps = np.empty((n, count, 3)), np.empty((n, count, 3))
    status_all = np.empty((n, count), np.uint8)
    fine, steps = np.zeros(n, np.bool_), np.zeros(n, np.int64)
    turn, centre = np.empty((bodies, 3, 3)), np.empty((bodies, 3))
    line, x = np.zeros((bodies, 3)), np.empty((columns.size, 3))
    middle = np.empty(rest.size)
    why, done = DONE, n
    for f in range(n):
        y, weight, seen = weigh(frames[f], columns, given)
        ahead = predict(last, change, fade, lower, upper)
        place(ahead, parent, rotation, origin, axis, turn, centre, line)
        points(body, local, turn, centre, x)
        shut = gate(x, y, weight, age, scale)
        if np.sum(shut) > LOST_SHARE * seen:
            why, done = LEAPT, f
            break
        q, solution = ahead, x
        if seen > 0:
            for i in range(rest.size):
                middle[i] = ahead[7 + i] if tracked[i] else rest[i]
            held = np.where(shut, 0.0, weight)
            q, solution, cost, steps[f], fine[f] = solve_posture(
                ahead, y, held, scale, pull, middle, body, local, parent, rotation,
                origin, axis, above, lower, upper, 0.0, tolerance, most,
            )  # fmt: skip
        markers, differences, status = explain(
            solution, y, weight, shut, scale, REJECTED_SHARE, columns, count
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
