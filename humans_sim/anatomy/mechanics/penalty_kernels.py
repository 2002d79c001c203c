# SPDX-License-Identifier: Apache-2.0
"""Compiled sums of penalty forces over contacts."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel


class PenaltyNumbers(NamedTuple):
    """Numbers of the penalty law; see :class:`PenaltyLaw`."""

    stiffness: float
    friction: float
    rolling: float
    pivoting: float
    slip_speed: float
    slip_spin: float


class ContactArrays(NamedTuple):
    """Bodies, depths, normals and points of contacts."""

    body_i: np.ndarray
    body_j: np.ndarray
    depth: np.ndarray
    normal: np.ndarray
    point: np.ndarray


@kernel
def add_penalty(contacts, moving, law, force, torque):
    """Add the forces of contacts at the centres, and their torques about them.

    Args:
        contacts: arrays of the contacts.
        moving: centres x, rotations, velocities v and spins w of the bodies.
        law: numbers of the law.
        force: (n, 3) [N]; changed.
        torque: (n, 3) [N m]; changed.

    Returns:
        the energy stored in the overlaps [J].
    """
    x, _, v, w = moving
    energy = 0.0
    f, c = np.empty(3), np.empty(3)
    for n in range(len(contacts.depth)):
        depth = contacts.depth[n]
        if depth <= 0.0:
            continue
        i, j = contacts.body_i[n], contacts.body_j[n]
        e, p = contacts.normal[n], contacts.point[n]
        load = law.stiffness * depth
        energy += 0.5 * law.stiffness * depth * depth
        for k in range(3):
            f[k], c[k] = load * e[k], 0.0
        if law.friction > 0.0:
            _slide(moving, i, j, e, p, (law, load, f))
        if law.rolling > 0.0 or law.pivoting > 0.0:
            _turn(w, i, j, e, (law, load, c))
        for body, sign in ((i, 1.0), (j, -1.0)):
            a0, a1, a2 = p[0] - x[body, 0], p[1] - x[body, 1], p[2] - x[body, 2]
            torque[body, 0] += sign * (a1 * f[2] - a2 * f[1] + c[0])
            torque[body, 1] += sign * (a2 * f[0] - a0 * f[2] + c[1])
            torque[body, 2] += sign * (a0 * f[1] - a1 * f[0] + c[2])
            for k in range(3):
                force[body, k] += sign * f[k]
    return energy


@kernel
def _slide(moving, i, j, e, p, acting):
    """Dry friction against the sliding velocity at the point."""
    x, _, v, w = moving
    law, load, f = acting
    u = np.empty(3)
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        u[k] = v[i, k] + w[i, a] * (p[b] - x[i, b]) - w[i, b] * (p[a] - x[i, a])
        u[k] -= v[j, k] + w[j, a] * (p[b] - x[j, b]) - w[j, b] * (p[a] - x[j, a])
    along = u[0] * e[0] + u[1] * e[1] + u[2] * e[2]
    speed = 0.0
    for k in range(3):
        u[k] -= along * e[k]
        speed += u[k] * u[k]
    speed = math.sqrt(speed)
    share = law.friction * load / max(speed, law.slip_speed)
    for k in range(3):
        f[k] -= share * u[k]


@kernel
def _turn(w, i, j, e, acting):
    """Couples against pivoting about the normal and rolling across it."""
    law, load, c = acting
    r0, r1, r2 = w[i, 0] - w[j, 0], w[i, 1] - w[j, 1], w[i, 2] - w[j, 2]
    about = r0 * e[0] + r1 * e[1] + r2 * e[2]
    t0, t1, t2 = r0 - about * e[0], r1 - about * e[1], r2 - about * e[2]
    spin = math.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
    pivot = law.pivoting * load * about / max(abs(about), law.slip_spin)
    roll = law.rolling * load / max(spin, law.slip_spin)
    c[0] = -pivot * e[0] - roll * t0
    c[1] = -pivot * e[1] - roll * t1
    c[2] = -pivot * e[2] - roll * t2
