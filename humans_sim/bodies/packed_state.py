# SPDX-License-Identifier: Apache-2.0
r"""States of free bodies as one array of 18 numbers a body, for any integrator.

The array of the course (``StateSize 18``; its ``BodiesToArray``, ``ArrayToBodies`` and
``Dxdt``): x (3), R row by row (9), P (3) and L (3) of the first body, then those of the
next. In it

.. math:: \frac{d}{dt}(x, R, P, L) = (v,\; \omega^* R,\; F,\; \tau).

R is integrated as nine numbers: it leaves the rotations by the error of the integrator.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from humans_sim.bodies.integrators import Forces
from humans_sim.bodies.mass_properties import BodyError
from humans_sim.bodies.motion import no_forces
from humans_sim.bodies.rigid_bodies import BodyState, RigidBodies
from humans_sim.core.rotations import crossed

STATE_SIZE = 18
"""Numbers of a body."""


def pack(state: BodyState) -> np.ndarray:
    """A state as one array (18 n,) (the course's BodiesToArray)."""
    n = len(state.x)
    parts = [state.x, state.R.reshape(n, 9), state.P, state.L]
    return np.concatenate(parts, axis=1).ravel()


def unpack(packed: np.ndarray) -> BodyState:
    """The state of an array (the course's ArrayToBodies); R stays as it is.

    Raises:
        BodyError: the array has no 18 numbers a body, or one is not finite.
    """
    packed = np.asarray(packed, dtype=float)
    if packed.ndim != 1 or packed.size == 0 or packed.size % STATE_SIZE:
        raise BodyError(
            f"a packed state has {STATE_SIZE} numbers a body, not shape {packed.shape}"
        )
    if not np.isfinite(packed).all():
        raise BodyError("a number of the packed state is not finite")
    rows = packed.reshape(-1, STATE_SIZE)
    turns = rows[:, 3:12].reshape(-1, 3, 3)
    return BodyState(
        rows[:, :3].copy(), turns.copy(), rows[:, 12:15].copy(), rows[:, 15:].copy()
    )


def packed_rates(
    bodies: RigidBodies, forces: Forces = no_forces
) -> Callable[[float, np.ndarray], np.ndarray]:
    """The derivative of a packed state, as integrators call it (the course's Dxdt).

    Args:
        bodies: that move.
        forces: that act (:func:`~humans_sim.bodies.loads.forces_of`).

    Returns:
        a function of time and packed state.
    """

    def rates(t: float, packed: np.ndarray) -> np.ndarray:
        state = unpack(packed)
        if len(state.x) != len(bodies):
            raise BodyError(f"a state of {len(bodies)} bodies is wanted")
        force, torque = forces(t, state)
        turning = crossed(bodies.spins(state), state.R, np.empty_like(state.R))
        return pack(BodyState(bodies.velocities(state), turning, force, torque))

    return rates
