# SPDX-License-Identifier: Apache-2.0
"""Compiled passages between states of free bones and their motion.

A row of a state has the place (3), the quaternion (x, y, z, w) of any size (4), the
velocity (3) and the angular momentum over the mass (3), each in its unit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel


class FreeBones(NamedTuple):
    """Free bones and the units of their states.

    Attributes:
        numbers: among all bones (f,).
        masses: (f,) [kg].
        inverses: of the inertias, in the bones' frames (f, 3, 3) [1/(kg m^2)].
        length: unit of places [m].
        speed: unit of velocities [m/s].
        arm: unit of angular momenta over mass and unit of velocity [m].
    """

    numbers: np.ndarray
    masses: np.ndarray
    inverses: np.ndarray
    length: float
    speed: float
    arm: float


@kernel
def place_free(rows, bones, moving):
    """Write places, rotations, velocities and spins of free bones."""
    x, frames, v, w = moving
    turned, local = np.empty(3), np.empty(3)
    for k in range(len(rows)):
        n = bones.numbers[k]
        a, b, c, d = rows[k, 3], rows[k, 4], rows[k, 5], rows[k, 6]
        s = 2.0 / (a * a + b * b + c * c + d * d)
        f = frames[n]
        f[0, 0], f[1, 1] = 1 - s * (b * b + c * c), 1 - s * (a * a + c * c)
        f[2, 2] = 1 - s * (a * a + b * b)
        f[0, 1], f[1, 0] = s * (a * b - c * d), s * (a * b + c * d)
        f[0, 2], f[2, 0] = s * (a * c + b * d), s * (a * c - b * d)
        f[1, 2], f[2, 1] = s * (b * c - a * d), s * (b * c + a * d)
        unit = bones.speed * bones.arm * bones.masses[k]
        for i in range(3):
            x[n, i] = bones.length * rows[k, i]
            v[n, i] = bones.speed * rows[k, 7 + i]
            local[i] = 0.0
            for j in range(3):
                local[i] += unit * f[j, i] * rows[k, 10 + j]
        for i in range(3):
            turned[i] = 0.0
            for j in range(3):
                turned[i] += bones.inverses[k, i, j] * local[j]
        for i in range(3):
            w[n, i] = f[i, 0] * turned[0] + f[i, 1] * turned[1] + f[i, 2] * turned[2]


@kernel
def free_rates(rows, bones, moving, wrench, viscosity, rates):
    """Write rates of a state: Newton's and Euler's equations with a viscous loss."""
    _, _, v, w = moving
    force, torque = wrench
    for k in range(len(rows)):
        n = bones.numbers[k]
        p, q, r = w[n]
        a, b, c, d = rows[k, 3], rows[k, 4], rows[k, 5], rows[k, 6]
        rates[k, 3] = 0.5 * (p * d + q * c - r * b)
        rates[k, 4] = 0.5 * (q * d + r * a - p * c)
        rates[k, 5] = 0.5 * (r * d + p * b - q * a)
        rates[k, 6] = -0.5 * (p * a + q * b + r * c)
        unit = bones.speed * bones.masses[k]
        for i in range(3):
            rates[k, i] = v[n, i] / bones.length
            rates[k, 7 + i] = force[n, i] / unit - viscosity * rows[k, 7 + i]
            rates[k, 10 + i] = torque[n, i] / (unit * bones.arm)
            rates[k, 10 + i] -= viscosity * rows[k, 10 + i]
