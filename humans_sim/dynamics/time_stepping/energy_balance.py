# SPDX-License-Identifier: Apache-2.0
r"""The energy of a time step: what it may be, and how a velocity is made to obey.

A step may not end with more energy than it began with and the applied forces put in,

.. math:: E_{k+1} \le E_k + h\, \tau \cdot \tfrac12 (v_k + v_{k+1}),

contacts only take energy out. Three things would break this bound: the bias is known at
a predicted velocity alone, the mass matrix changes in a step in which a velocity jumps,
and shifts that put gaps right may lift. What is above the bound is taken out of the
kinetic energy by scaling the velocity: a contact law without restitution is the same
for a velocity and for a share of it, so contacts that rest, slide or open do so after
it. A body that nothing holds keeps the velocity of its centre of mass; there the energy
is put right in both directions.

Gaps are put right up to a tolerance, so at rest the energy changes a little to and fro.
That little is not taken out but carried over to the next step: slow motions would end
in it.
"""

from __future__ import annotations

import numpy as np

from humans_sim.core.kernels import kernel

REPEATED = 1e-6
"""Error of the energy above which a step is repeated with a better prediction; a model
without links that touch, where the work of the two biases differs by as much."""
IMPROVED = 0.25
"""Share of its error that a repeated step keeps at most where another one is worth it:
what is left after a jump of the velocity no prediction makes better."""
HALVED = 1e-4
"""Error of the energy above which a step is halved."""


@kernel
def energy_scale(kinetic, potential):
    """The energy that errors are relative to [J], as in the check of a run."""
    return max(kinetic, 1e-3 * abs(potential)) + 1e-300


@kernel
def energy_error(excess, both, scale):
    """Error of a step's energy, relative: a loss counts where nothing can explain it.

    Args:
        excess: energy above the bound [J].
        both: whether a loss is an error, too.
        scale: the energy that it is relative to [J].
    """
    return (abs(excess) if both else max(excess, 0.0)) / scale


@kernel
def free_translation(mass, v):
    """The translation of the centre of mass in a velocity of a model (nv,).

    Args:
        mass: matrix of a model with a free base, nothing of it locked (nv, nv).
        v: velocity.
    """
    translation = np.zeros(v.shape[0])
    for i in range(3):
        for j in range(v.shape[0]):
            translation[i] += mass[i, j] * v[j] / mass[0, 0]
    return translation


@kernel
def without_excess(v, translation, excess, kinetic, share, ignored):
    """A velocity with the excess of energy taken out, and what is left of it.

    Args:
        v: velocity (nv,).
        translation: part of it that is kept (nv,).
        excess: energy to be taken out; below zero, put in [J].
        kinetic: energy at v [J].
        share: kinetic energy of the part that is kept [J].
        ignored: excess that is left as it is [J].

    Returns:
        the velocity, its kinetic energy, and the excess that is left [J].
    """
    if abs(excess) <= ignored:
        return v, kinetic, excess
    moving = kinetic - share
    if not moving > abs(excess):
        if excess <= 0.0 or moving <= 0.0:
            return v, kinetic, excess
        # All that moves is not enough: it stops.
        return translation.copy(), share, excess - moving
    factor = np.sqrt(1.0 - excess / moving)
    return translation + factor * (v - translation), kinetic - excess, 0.0
