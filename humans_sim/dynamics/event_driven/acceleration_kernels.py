# SPDX-License-Identifier: Apache-2.0
r"""The right-hand side between two events, with the modes of the contacts fixed.

Drift off the constraints is pulled back inside the equations: the contacts obey
:math:`\ddot g + 2\omega \dot g + \omega^2 g = 0` in place of :math:`\ddot g = 0`, which
is the same motion when g is zero and forgets numerical errors in a time
:math:`1/\omega`.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.problem.modes import (
    OPEN,
    SLIDE,
    STICK,
    ModeArrays,
    constrained_acceleration,
)
from humans_sim.core.kernels import kernel

STABILISATION = 30.0
"""Rate at which drift decays [1/s]."""
SLOW = 1e-6
"""Speed below which the direction of sliding leans to the remembered one [m/s].

At the onset and at the end of sliding the velocity is zero and has no direction of its
own; without a memory its direction would turn infinitely fast there.
"""


@kernel
def acceleration_in_modes(mass, force, velocity, contacts, modes, rate):
    """Acceleration, forces, residual, contact velocities, directions, least margin.

    The direction of sliding given is that of the beginning of the step. Past the end
    of the sliding, where the velocity has turned around, the old direction stays: the
    right-hand side stays smooth there, and the event is found between.

    Args:
        mass: (nv, nv).
        force: torques minus bias (nv,).
        velocity: (nv,).
        contacts: gaps (k,), Jacobians (k, 3, nv) and drifts (k, 3) of the closed
            contacts, as at the end of a :class:`~humans_sim.dynamics.system.Terms`.
        modes: fields of a :class:`~humans_sim.contact.problem.modes.ModeArrays`, as a
            plain tuple.
        rate: at which drift decays [1/s]; zero gives the forces of the bare equations.
    """
    gap, rows, drift = contacts
    mode, tangents, friction, remembered, reference, idle = modes
    k, nv = mode.shape[0], force.shape[0]
    direction = np.zeros((k, 2))
    motion = np.zeros((k, 3))
    held = drift.copy()
    for c in range(k):
        for i in range(1 + tangents[c]):
            total = 0.0
            for j in range(nv):
                total += rows[c, i, j] * velocity[j]
            motion[c, i] = total
        held[c, 0] += rate * (2.0 * motion[c, 0] + rate * gap[c])
        if mode[c] == STICK:
            for i in range(tangents[c]):
                held[c, 1 + i] += 2.0 * rate * motion[c, 1 + i]
        elif mode[c] == SLIDE and tangents[c] > 0:
            d1, d2 = motion[c, 1], motion[c, 2]
            if d1 * remembered[c, 0] + d2 * remembered[c, 1] < 0.0:
                d1, d2 = -d1, -d2
            d1, d2 = d1 + SLOW * remembered[c, 0], d2 + SLOW * remembered[c, 1]
            length = np.sqrt(d1 * d1 + d2 * d2)
            if length > 0.0:
                direction[c, 0] = d1 / length
                direction[c, 1] = d2 / length
    acceleration, forces, residual = constrained_acceleration(
        mass,
        force,
        rows,
        held,
        ModeArrays(mode, tangents, friction, direction, reference, idle),
    )
    least = np.inf
    for c in range(k):
        if mode[c] == OPEN:
            continue
        least = min(least, forces[c, 0])
        if mode[c] == STICK and tangents[c] > 0 and np.isfinite(friction[c]):
            along = np.sqrt(forces[c, 1] ** 2 + forces[c, 2] ** 2)
            least = min(least, friction[c] * forces[c, 0] - along)
    return acceleration, forces, residual, motion, direction, least
