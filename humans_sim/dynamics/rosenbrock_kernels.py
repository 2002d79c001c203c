# SPDX-License-Identifier: Apache-2.0
"""Stages, end and interpolant of a step of the Rosenbrock-W method."""

from __future__ import annotations

import numpy as np

from humans_sim.core.dense_kernels import lu_factor, lu_solve
from humans_sim.core.kernels import kernel

STAGES = 4
GAMMA = 4.3586652150845900e-01
ALPHA = np.array(
    [
        [0.0, 0.0, 0.0],
        [8.7173304301691801e-01, 0.0, 0.0],
        [8.4457060015369423e-01, -1.1299064236484185e-01, 0.0],
        [0.0, 0.0, 1.0],
    ]
)
COUPLING = np.array(
    [
        [0.0, 0.0, 0.0],
        [-8.7173304301691801e-01, 0.0, 0.0],
        [-9.0338057013044082e-01, 5.4180672388095326e-02, 0.0],
        [2.4212380706095346e-01, -1.2232505839045147e00, 5.4526025533510214e-01],
    ]
)
WEIGHTS = np.array(
    [
        2.4212380706095346e-01,
        -1.2232505839045147e00,
        1.5452602553351020e00,
        4.3586652150845900e-01,
    ]
)
EMBEDDED = np.array(
    [
        3.7810903145819369e-01,
        -9.6042292212423178e-02,
        5.0000000000000000e-01,
        2.1793326075422950e-01,
    ]
)
"""Coefficients of ROS34PW2 (Rang, Angermann 2005, BIT 45, table 4.2)."""
SMALLEST = 1e-14
"""Smallest step [s]."""
_SAFETY, _LEAST, _MOST = 0.9, 0.2, 2.0
"""Of the control of the step: friction and loads have corners, and a step that grew
more than twofold runs into the next one."""
TIMES = ALPHA.sum(axis=1)
_TIME_WEIGHTS = GAMMA + COUPLING.sum(axis=1)


@kernel
def factorise(jacobian, step):
    """LU factors of I - step gamma jacobian, their order, whether it is regular."""
    n = jacobian.shape[0]
    factors = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            factors[i, j] = -step * GAMMA * jacobian[i, j]
        factors[i, i] += 1.0
    order = np.empty(n, np.int64)
    return factors, order, lu_factor(factors, order)


@kernel
def solve_stage(stage, slopes, rates, step, linear):
    """Set the row of a stage in ``slopes`` from the right-hand side ``rates`` there.

    ``linear``: derivatives of the right-hand side by the state (n, n) and by time (n,),
    factors and their order by :func:`factorise`.
    """
    jacobian, by_time, factors, order = linear
    n = rates.shape[0]
    coupled = np.zeros(n)
    for j in range(stage):
        for i in range(n):
            coupled[i] += COUPLING[stage, j] * slopes[j, i]
    right = slopes[stage]
    for i in range(n):
        total = rates[i] / step + _TIME_WEIGHTS[stage] * by_time[i]
        if stage:
            for j in range(n):
                total += jacobian[i, j] * coupled[j]
        right[i] = step * total
    lu_solve(factors, order, right)


@kernel
def stage_state(stage, y, slopes, step):
    """Where the right-hand side is evaluated for a stage (n,)."""
    state = y.copy()
    for j in range(stage):
        if ALPHA[stage, j] != 0.0:
            for i in range(y.shape[0]):
                state[i] += step * ALPHA[stage, j] * slopes[j, i]
    return state


@kernel
def end_of_step(y, slopes, step, rtol, atol):
    """The state at the end, and the estimated error relative to the tolerances."""
    n = y.shape[0]
    end, square = y.copy(), 0.0
    for i in range(n):
        change = error = 0.0
        for j in range(STAGES):
            change += WEIGHTS[j] * slopes[j, i]
            error += (WEIGHTS[j] - EMBEDDED[j]) * slopes[j, i]
        end[i] += step * change
        scale = atol[i] + rtol * max(abs(y[i]), abs(end[i]))
        square += (step * error / scale) ** 2
    return end, np.sqrt(square / n)


@kernel
def next_size(step, error, rejected):
    """Size of the next step, or of the next attempt at this one [s]."""
    if not np.isfinite(error):
        return _LEAST * step
    factor = max(_SAFETY * max(error, 1e-10) ** (-1 / 3), _LEAST)
    if error > 1.0:
        return min(factor, _SAFETY) * step
    return min(factor, 1.0 if rejected else _MOST) * step


@kernel
def between(share, step, start, end, start_rates, end_rates):
    """The state inside a step: cubic, without overshoot where rates are stiff."""
    state = np.empty(start.shape[0])
    s = share
    for i in range(start.shape[0]):
        change = end[i] - start[i]
        first, last = step * start_rates[i], step * end_rates[i]
        # A cubic whose slopes are between zero and three secants is monotonous.
        if abs(first) > 3.0 * abs(change) or abs(last) > 3.0 * abs(change):
            low, high = min(0.0, 3.0 * change), max(0.0, 3.0 * change)
            first = min(max(first, low), high)
            last = min(max(last, low), high)
        state[i] = (
            start[i]
            + change * s * s * (3.0 - 2.0 * s)
            + first * s * (1.0 - s) ** 2
            - last * s * s * (1.0 - s)
        )
    return state
