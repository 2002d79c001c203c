# SPDX-License-Identifier: Apache-2.0
r"""Explicit Runge-Kutta methods with error estimates: Dormand-Prince 8, Cash-Karp 5.

With the stages :math:`k_i = f(t + c_i h,\ q + h \sum_j a_{ij} k_j)` a step is
:math:`q + h \sum b_i k_i`; a pair of methods on the same stages has the error
:math:`h \sum e_i k_i`.

Stages, error, step size and interpolant of order 8 have scipy's coefficients; the
control of the step is that of its DOP853.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.integrate import DOP853

from humans_sim.core.kernels import kernel

Rates = Callable[[float, np.ndarray], np.ndarray]
"""Of time [s] and state (m,): the rates of the state (m,)."""


class Tableau(NamedTuple):
    """Coefficients of an explicit Runge-Kutta method.

    Attributes:
        errors: of the stages in the estimate of the error; empty: there is none.
    """

    nodes: tuple[float, ...]
    stages: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    errors: tuple[float, ...] = ()


CLASSICAL = Tableau(
    (0.0, 0.5, 0.5, 1.0),
    ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)),
    (1 / 6, 1 / 3, 1 / 3, 1 / 6),
)
DORMAND_PRINCE = Tableau(
    (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0),
    (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
)
_FIFTH = (37 / 378, 0.0, 250 / 621, 125 / 594, 0.0, 512 / 1771)
_FOURTH = (2825 / 27648, 0.0, 18575 / 48384, 13525 / 55296, 277 / 14336, 1 / 4)
CASH_KARP = Tableau(
    (0.0, 1 / 5, 3 / 10, 3 / 5, 1.0, 7 / 8),
    (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (3 / 10, -9 / 10, 6 / 5),
        (-11 / 54, 5 / 2, -70 / 27, 35 / 27),
        (1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096),
    ),
    _FIFTH,
    tuple(fifth - fourth for fifth, fourth in zip(_FIFTH, _FOURTH, strict=True)),
)


def runge_kutta_step(
    tableau: Tableau,
    rates: Rates,
    t: float,
    q: np.ndarray,
    h: float,
    slope: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The state after one step (m,), and its error, zero where the tableau has none."""
    k = [rates(t, q) if slope is None else slope]
    for node, row in zip(tableau.nodes[1:], tableau.stages[1:], strict=True):
        k.append(rates(t + node * h, q + h * (np.array(row) @ np.array(k))))
    stages = np.array(k)
    errors = np.array(tableau.errors or [0.0] * len(k))
    return q + h * (np.array(tableau.weights) @ stages), h * (errors @ stages)


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
_DOP853_FIFTH, _THIRD = np.array(DOP853.E5), np.array(DOP853.E3)
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
    """Estimated error relative to the tolerances (rtol, and atol of each state)."""
    rtol, atol = tolerances
    n = y.shape[0]
    fifth, third = 0.0, 0.0
    for i in range(n):
        a, b = 0.0, 0.0
        for j in range(STAGES + 1):
            a += _DOP853_FIFTH[j] * stages[j, i]
            b += _THIRD[j] * stages[j, i]
        scale = atol[i] + rtol * max(abs(y[i]), abs(end[i]))
        fifth += (a / scale) ** 2
        third += (b / scale) ** 2
    if fifth == 0.0 and third == 0.0:
        return 0.0
    return abs(step) * fifth / np.sqrt((fifth + 0.01 * third) * n)


@kernel
def next_size(step, error, rejected):
    """Size of the next step, or of the next attempt at this one [s]."""
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
    """The state at a share of a step, with coefficients by :func:`interpolant`."""
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
