# SPDX-License-Identifier: Apache-2.0
"""A whole step of a model whose contacts keep their modes, in one compiled call.

Stages and control of the step are those of :mod:`humans_sim.dynamics.dop853`; the
actuation is a table of drives.
"""

from __future__ import annotations

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.dynamics.chart import free_base_configuration
from humans_sim.dynamics.dop853_kernels import (
    EXTRA,
    STAGES,
    TIMES,
    next_size,
    stage_state,
    step_error,
)
from humans_sim.dynamics.event_driven.model_rates_kernels import (
    applied_torques,
    smooth_rates,
)


@kernel
def mode_step(model, closed, drives, start, control):
    """Make a step.

    Args:
        model: fields of a
            :class:`~humans_sim.dynamics.event_driven.model_rates_kernels.RatesModel`,
            as a plain tuple, like all others.
        closed: fields of a
            :class:`~humans_sim.dynamics.event_driven.model_rates_kernels.ClosedContacts`.
        drives: fields of a :class:`~humans_sim.dynamics.drive_kernels.DriveTable`.
        start: centre of the coordinates (nq,), time [s], state (n,), its rates (n,).
        control: bound [s], size of the step [s], smallest size [s], rtol, atol (n,),
            and the largest residual of the closed contacts.

    Returns:
        whether it was made, otherwise it is to be made stage by stage, which says why
        not; its end, the next size, and the least margin of the contacts with its time;
        the state at the end; the rates at all stages, those for its inside not yet
        there; evaluations; the torques at the end; what
        :func:`~humans_sim.dynamics.event_driven.model_rates_kernels.smooth_rates` gives
        there.
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
