# SPDX-License-Identifier: Apache-2.0
"""The law of contact: motion, violation and modes of given forces.

See :mod:`~humans_sim.contact.problem.contact_problem`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.problem.modes import OPEN, SLIDE, STICK
from humans_sim.core.kernels import kernel


class ContactProblem(NamedTuple):
    """Contacts whose forces are sought, in any one scale of motion and force.

    Kernels take it as it is or as a plain tuple.

    Attributes:
        delassus: W (3k, 3k).
        free: b, motion without contact forces (k, 3) [m/s^2, or m/s].
        tangents: number of tangents of each contact (k,).
        friction: (k,); infinite for the sticking law.
        sliding: unit directions in which contacts slide already (k, 2); zero where they
            do not.
    """

    delassus: np.ndarray
    free: np.ndarray
    tangents: np.ndarray
    friction: np.ndarray
    sliding: np.ndarray


@kernel
def motion_of(delassus, free, forces, c, u):
    """Motion u of contact c."""
    for i in range(3):
        total = free[c, i]
        for d in range(forces.shape[0]):
            for j in range(3):
                total += delassus[3 * c + i, 3 * d + j] * forces[d, j]
        u[i] = total


@kernel
def is_sliding(sliding, c):
    """Whether the direction of friction of contact c is known."""
    return sliding[c, 0] != 0.0 or sliding[c, 1] != 0.0


@kernel
def residual_of(problem, forces):
    """Largest violation of the law, relative to the free motion.

    Motion and force are compared in the units of motion, by the diagonal of W.
    """
    delassus, free, tangents, friction, sliding = problem
    n = forces.shape[0]
    if not np.isfinite(forces).all():
        return np.inf
    size = 1e-300
    stiffness = 0.0
    for c in range(n):
        stiffness = max(stiffness, delassus[3 * c, 3 * c])
        for i in range(1 + tangents[c]):
            size = max(size, abs(free[c, i]))
    worst = 0.0
    u = np.empty(3)
    for c in range(n):
        motion_of(delassus, free, forces, c, u)
        w = max(delassus[3 * c, 3 * c], 1e-9 * stiffness)
        f = forces[c]
        # 0 <= u_n, f_n, and one of them zero
        worst = max(worst, abs(u[0] - max(0.0, u[0] - w * f[0])))
        if f[0] < 0.0:
            worst = max(worst, -w * f[0])
        if tangents[c] == 0 or friction[c] == 0.0:
            continue
        mu = friction[c]
        if is_sliding(sliding, c):
            for i in range(2):
                worst = max(worst, w * abs(f[1 + i] + mu * f[0] * sliding[c, i]))
            continue
        if np.isinf(mu):
            for i in range(tangents[c]):
                worst = max(worst, abs(u[1 + i]))
            continue
        # f_t is the projection of f_t - u_t / w on the disc of radius mu f_n
        p1, p2 = f[1] - u[1] / w, f[2] - u[2] / w
        if tangents[c] == 1:
            p2 = 0.0
        length, radius = np.sqrt(p1 * p1 + p2 * p2), mu * max(0.0, f[0])
        if length > radius:
            p1 *= radius / length
            p2 *= radius / length
        worst = max(worst, w * abs(f[1] - p1))
        worst = max(worst, w * abs(f[2] - p2))
    return worst / size


@kernel
def modes_of(forces, tangents, friction, sliding):
    """Modes of contacts, read off their forces."""
    n = forces.shape[0]
    mode = np.zeros(n, np.int64)
    load = 0.0
    for c in range(n):
        load = max(load, abs(forces[c, 0]))
    for c in range(n):
        if forces[c, 0] <= 1e-10 * load or load == 0.0:
            mode[c] = OPEN
        elif tangents[c] == 0 or np.isinf(friction[c]):
            mode[c] = STICK
        elif friction[c] == 0.0 or is_sliding(sliding, c):
            mode[c] = SLIDE
        else:
            along = np.sqrt(forces[c, 1] ** 2 + forces[c, 2] ** 2)
            on_cone = along >= (1.0 - 1e-7) * friction[c] * forces[c, 0]
            mode[c] = SLIDE if on_cone else STICK
    return mode
