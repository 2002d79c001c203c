# SPDX-License-Identifier: Apache-2.0
"""Whole steps of a model between two events, each in one compiled call.

Where contacts keep their modes, stages and control of the step are those of Dormand and
Prince's method (:mod:`humans_sim.dynamics.integrators`); where they creep, those of its
Rosenbrock method. The actuation is a table of drives, the fields of a ``DriveTable``;
``model`` and ``closed`` are as of :mod:`~humans_sim.dynamics.event_driven.model_rates`.
"""

from __future__ import annotations

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.core.runge_kutta import (
    EXTRA,
    STAGES,
    TIMES,
    next_size,
    stage_state,
    step_error,
)
from humans_sim.dynamics import rosenbrock_kernels
from humans_sim.dynamics.event_driven.creep_kernels import (
    assemble_derivatives,
    creeping_response,
)
from humans_sim.dynamics.event_driven.model_rates import applied_torques, smooth_rates
from humans_sim.dynamics.system import free_base_configuration, free_base_rates


@kernel
def mode_step(model, closed, drives, start, control):
    """Make a step.

    ``start``: centre of the coordinates (nq,), time [s], state (n,), its rates (n,).
    ``control``: bound, size of the step and smallest size [s], rtol, atol (n,), and the
    largest residual of the closed contacts.

    Returns:
        whether it was made, otherwise it is to be made stage by stage, which says why
        not; its end, the next size, and the least margin of the contacts with its time;
        the state at the end; the rates at all stages, those for its inside not yet
        there; evaluations; the torques at the end; what ``smooth_rates`` gives there.
    """
    centre, t, y, rates = start
    bound, size, smallest, rtol, atol, contradiction = control
    nv = y.shape[0] // 2
    stages = np.zeros((STAGES + 1 + EXTRA, y.shape[0]))
    stages[0] = rates
    least, when = np.inf, np.inf
    evaluations, rejected, made = 0, False, False
    size = max(size, smallest)
    while True:
        end_time = min(t + size, bound)
        step = end_time - t
        good = size >= smallest
        for stage in range(1, STAGES + 1):
            state = stage_state(stage, y, stages, step)
            now = end_time if stage == STAGES else t + TIMES[stage] * step
            q = free_base_configuration(centre, state[:nv])
            torques = applied_torques(model, drives, now, q, state[nv:])
            result = smooth_rates(model, closed, centre, state, torques)
            evaluations += 1
            good = good and 0.0 <= result[4] < contradiction
            if not good:
                break
            stages[stage] = result[0]
            if result[5] < least:
                least, when = result[5], now
        if not good:
            break
        error = step_error(y, state, stages, step, (rtol, atol))
        size = next_size(step, error, rejected)
        if error < 1.0:
            made = True
            break
        rejected = True
    times = end_time, size, least, when
    return made, times, state, stages, evaluations, torques, result


_BASE = 6
_DIFFERENCE = 1e-7
"""Difference for the derivatives of the drives [m, rad, m/s, rad/s, s]."""


@kernel
def _derivatives(model, closed, drives, start):
    """The stiff part of the derivatives by the state (n, n), and by time (n,)."""
    centre, t, y, _, mass, rows, forces = start
    damping = model[5]
    n = y.shape[0]
    nv = n // 2
    x, v = y[:nv], y[nv:]
    q = free_base_configuration(centre, x)
    creep = closed[1], closed[2], closed[3], closed[6], closed[7], closed[8]
    response = creeping_response(mass, v, rows, forces, creep)
    now = applied_torques(model, drives, t, q, v)
    later = applied_torques(model, drives, t + _DIFFERENCE, q, v)
    beside = free_base_configuration(centre, x + _DIFFERENCE)
    moved = applied_torques(model, drives, t, beside, v)
    faster = applied_torques(model, drives, t, q, v + _DIFFERENCE)
    slopes = np.zeros((nv, n))
    for j in range(nv):
        slopes[j, j] = (moved[j] - now[j]) / _DIFFERENCE
        slopes[j, nv + j] = (faster[j] - now[j]) / _DIFFERENCE - damping[j]
    turn = np.eye(nv)
    unit = np.zeros(nv)
    for j in range(_BASE):
        unit[j] = 1.0
        turn[:, j] = free_base_rates(centre, x, unit)
        unit[j] = 0.0
    matrix = assemble_derivatives(slopes, np.zeros((0, n)), turn, response, _BASE)
    by_time = np.zeros(n)
    by_time[nv:] = response[0] @ ((later - now) / _DIFFERENCE)
    return matrix, by_time


@kernel
def creep_step(model, closed, drives, start, control):
    """Make a step.

    ``start``: as of :func:`mode_step`, then mass matrix, Jacobians (k, 3, nv) and
    forces (k, 3) [N] of the closed contacts. ``control``: as there, without a smallest
    size. Returns the same, but for the rates, which are those at the end, and an
    infinite margin.
    """
    centre, t, y, first = start[:4]
    bound, size, rtol, atol, contradiction = control
    nv = y.shape[0] // 2
    matrix, by_time = _derivatives(model, closed, drives, start)
    slopes = np.empty((rosenbrock_kernels.STAGES, y.shape[0]))
    evaluations, made, end = 0, True, y
    rejected = False
    while True:
        cut = size >= bound - t
        step = bound - t if cut else size
        if step < rosenbrock_kernels.SMALLEST and not cut:
            made = False
            break
        factors, order, regular = rosenbrock_kernels.factorise(matrix, step)
        error = np.inf
        if regular:
            linear = matrix, by_time, factors, order
            for stage in range(rosenbrock_kernels.STAGES):
                rates = first
                if stage:
                    state = rosenbrock_kernels.stage_state(stage, y, slopes, step)
                    now = t + rosenbrock_kernels.TIMES[stage] * step
                    q = free_base_configuration(centre, state[:nv])
                    applied = applied_torques(model, drives, now, q, state[nv:])
                    result = smooth_rates(model, closed, centre, state, applied)
                    made = made and 0.0 <= result[4] < contradiction
                    rates = result[0]
                    evaluations += 1
                rosenbrock_kernels.solve_stage(stage, slopes, rates, step, linear)
            if not made:
                break
            end, error = rosenbrock_kernels.end_of_step(y, slopes, step, rtol, atol)
        following = rosenbrock_kernels.next_size(step, error, rejected)
        if error <= 1.0:
            break
        rejected = True
        size = following
    if made:
        # A step cut short by the bound says little about the next one.
        size = max(size, following) if cut else following
        t = bound if cut else t + step
    q = free_base_configuration(centre, end[:nv])
    torques = applied_torques(model, drives, t, q, end[nv:])
    result = smooth_rates(model, closed, centre, end, torques)
    made = made and 0.0 <= result[4] < contradiction
    times = t, size, np.inf, np.inf
    return made, times, end, result[0], evaluations + 1, torques, result
