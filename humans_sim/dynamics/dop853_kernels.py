# SPDX-License-Identifier: Apache-2.0
"""Stages, error, step size and interpolant of Dormand and Prince's method of order 8.

The coefficients are scipy's; the control of the step is that of scipy's DOP853.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import DOP853

from humans_sim.core.kernels import kernel

STAGES = 12
"""Stages of a step; the next one is at its end, and three more are for its inside."""
EXTRA = 3
_POWERS = 7
ALPHA = np.zeros((STAGES + 1 + EXTRA, STAGES + 1 + EXTRA))
"""Weights of the stages before, at each stage; those of the end at the stage there."""
ALPHA[:STAGES, :STAGES] = DOP853.A
ALPHA[STAGES, :STAGES] = DOP853.B
ALPHA[STAGES + 1 :] = DOP853.A_EXTRA
TIMES = np.concatenate([DOP853.C, [1.0], DOP853.C_EXTRA])
_FIFTH, _THIRD = np.array(DOP853.E5), np.array(DOP853.E3)
_INSIDE = np.array(DOP853.D)
_SAFETY, _LEAST, _MOST, _EXPONENT = 0.9, 0.2, 10.0, -1.0 / 8.0


@kernel
def stage_state(stage, y, stages, step):
    """Where the right-hand side is evaluated for a stage (n,)."""
    state = y.copy()
    for j in range(stage):
        weight = step * ALPHA[stage, j]
        if weight != 0.0:
            for i in range(y.shape[0]):
                state[i] += weight * stages[j, i]
    return state


@kernel
def step_error(y, end, stages, step, tolerances):
    """Estimated error relative to the tolerances.

    Args:
        y: state at the start (n,).
        end: state at the end (n,).
        stages: rates at the stages (STAGES + 1 at least, n).
        step: its size [s].
        tolerances: rtol, and atol of each state (n,).
    """
    rtol, atol = tolerances
    n = y.shape[0]
    fifth, third = 0.0, 0.0
    for i in range(n):
        a, b = 0.0, 0.0
        for j in range(STAGES + 1):
            a += _FIFTH[j] * stages[j, i]
            b += _THIRD[j] * stages[j, i]
        scale = atol[i] + rtol * max(abs(y[i]), abs(end[i]))
        fifth += (a / scale) ** 2
        third += (b / scale) ** 2
    if fifth == 0.0 and third == 0.0:
        return 0.0
    return abs(step) * fifth / np.sqrt((fifth + 0.01 * third) * n)


@kernel
def next_size(step, error, rejected):
    """Size of the next step, or of the next attempt at this one [s].

    Args:
        step: size of this attempt [s].
        error: estimated, relative to the tolerances; it is accepted below one.
        rejected: whether an attempt at this step was rejected before.
    """
    if not np.isfinite(error):
        return _LEAST * step
    factor = _MOST if error == 0.0 else _SAFETY * error**_EXPONENT
    if error < 1.0:
        return min(factor, 1.0 if rejected else _MOST) * step
    return max(factor, _LEAST) * step


@kernel
def interpolant(y, end, stages, step):
    """Coefficients of the polynomial inside a step, after its extra stages (7, n)."""
    n = y.shape[0]
    coefficients = np.zeros((_POWERS, n))
    for i in range(n):
        change = end[i] - y[i]
        coefficients[0, i] = change
        coefficients[1, i] = step * stages[0, i] - change
        coefficients[2, i] = 2.0 * change - step * (stages[STAGES, i] + stages[0, i])
    for k in range(_INSIDE.shape[0]):
        for j in range(STAGES + 1 + EXTRA):
            weight = step * _INSIDE[k, j]
            if weight != 0.0:
                for i in range(n):
                    coefficients[3 + k, i] += weight * stages[j, i]
    return coefficients


@kernel
def inside(share, y, coefficients):
    """The state inside a step.

    Args:
        share: of the step, from 0 to 1.
        y: state at its start (n,).
        coefficients: by :func:`interpolant`.
    """
    state = np.zeros(y.shape[0])
    for i in range(y.shape[0]):
        value = 0.0
        for k in range(_POWERS - 1, -1, -1):
            value += coefficients[k, i]
            value *= share if (_POWERS - 1 - k) % 2 == 0 else 1.0 - share
        state[i] = y[i] + value
    return state


@kernel
def stiffness(y, end, stages, step):
    """Size of a step times the largest rate at which motions decay in it.

    By the two stages at its end, as in Hairer's DOP853.
    """
    before = stage_state(STAGES - 1, y, stages, step)
    apart, change = 0.0, 0.0
    for i in range(y.shape[0]):
        apart += (end[i] - before[i]) ** 2
        change += (stages[STAGES, i] - stages[STAGES - 1, i]) ** 2
    return step * np.sqrt(change / apart) if apart > 0.0 else 0.0
