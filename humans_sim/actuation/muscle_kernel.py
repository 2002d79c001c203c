# SPDX-License-Identifier: Apache-2.0
"""The whole right-hand side of a body's muscles, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.actuation.command_signal import command_sizes, command_value
from humans_sim.actuation.knee_geometry import path_length
from humans_sim.actuation.muscle import (
    ContractilePart,
    contraction,
    parallel_spring,
)
from humans_sim.core.kernels import kernel

SIGNAL, LENGTH, RATE, STRAIN_RATE, FORCE, TORQUE, NUMERATOR, DENOMINATOR = range(8)
"""Columns of what :func:`evaluate` finds about each muscle."""


class MuscleTable(NamedTuple):
    """The n muscles of a body.

    Attributes:
        joints: index of each muscle's joint among the joints (n,).
        signs: +1 where its angle is the flexion, -1 where it is the opposite (n,).
        kinds: paths of the muscles (n,).
        paths: their numbers (n, 2).
        rows: parameters of the muscles (n, 7).
        viscosity: of all coordinates (nv,) [N m s/rad].
    """

    joints: np.ndarray
    signs: np.ndarray
    kinds: np.ndarray
    paths: np.ndarray
    rows: np.ndarray
    viscosity: np.ndarray


class Stimulation(NamedTuple):
    """What n muscles are doing, but for their states.

    Attributes:
        phase: of the command signals (n,).
        falls: when these fall (n,) [s].
        shape: their shape (3,).
        recruitment: (n,).
        switches: S (n,).
    """

    phase: np.ndarray
    falls: np.ndarray
    shape: np.ndarray
    recruitment: np.ndarray
    switches: np.ndarray


@kernel
def evaluate(
    t: float,
    q: np.ndarray,
    v: np.ndarray,
    z: np.ndarray,
    muscles: tuple[np.ndarray, ...],
    stimulation: tuple[np.ndarray, ...],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Generalised force (nv,), rates of z = [k_c, F_c] (2 n,), and values between.

    Args:
        t: time [s].
        q: configuration.
        v: velocity.
        z: contractile stiffnesses, then forces.
        muscles: fields of a :class:`MuscleTable`, as a plain tuple.
        stimulation: fields of a :class:`Stimulation`, as a plain tuple.
    """
    joints, signs, kinds, paths, rows, viscosity = muscles
    phase, falls, shape, recruitment, switches = stimulation
    n = joints.shape[0]
    force, rates, values = -viscosity * v, np.empty(2 * n), np.empty((n, 8))
    for i in range(n):
        joint, sign, row = joints[i], signs[i], rows[i]
        length, arm = path_length(kinds[i], sign * q[7 + joint], paths[i])
        strain = length / row[6] - 1.0
        strain_rate = arm * sign * v[6 + joint] / row[6]
        u = command_value(t, phase[i], falls[i], shape)
        size, positive = command_sizes(u, phase[i])
        drive = recruitment[i] * positive
        numerator, denominator, rate, rates[i], rates[n + i] = contraction(
            strain,
            strain_rate,
            ContractilePart(z[i], z[n + i], switches[i]),
            size,
            drive,
            row,
        )
        pull = z[n + i] + parallel_spring(strain, row)
        torque = -sign * pull * arm
        force[6 + joint] += torque
        values[i, SIGNAL], values[i, LENGTH] = u, length
        values[i, RATE], values[i, STRAIN_RATE] = rate, strain_rate
        values[i, FORCE], values[i, TORQUE] = pull, torque
        values[i, NUMERATOR], values[i, DENOMINATOR] = numerator, denominator
    return force, rates, values
