# SPDX-License-Identifier: Apache-2.0
"""The fixed point of De Saxce's form of the contact problem."""

from __future__ import annotations

import numpy as np

from humans_sim.contact.problem.law_kernels import (
    ContactProblem,
    is_sliding,
    motion_of,
)
from humans_sim.contact.problem.polish_kernels import ACCEPTED, better
from humans_sim.core.kernels import kernel

_FIXED_POINT_STEPS = 200
_GRADIENT_STEPS = 300
_RELAXATION = 0.7


@kernel
def by_fixed_point(problem):
    """Follow the fixed point of De Saxce's form."""
    delassus, free, tangents, friction, sliding = problem
    n = free.shape[0]
    forces = np.zeros((n, 3))
    best, residual = forces.copy(), np.inf
    largest = np.linalg.eigvalsh(delassus)[-1]
    if not largest > 0.0:
        return best, residual
    step = 1.0 / largest
    slip = np.zeros(n)
    shifted = free.copy()
    convex = ContactProblem(delassus, shifted, tangents, friction, sliding)
    u = np.empty(3)
    for _ in range(_FIXED_POINT_STEPS):
        for c in range(n):
            finite = tangents[c] > 0 and not np.isinf(friction[c])
            shifted[c, 0] = free[c, 0] + (friction[c] * slip[c] if finite else 0.0)
        _descend(convex, forces, step)
        if not np.abs(forces).max() < 1e150:
            break
        for c in range(n):
            if is_sliding(sliding, c):
                continue
            motion_of(delassus, free, forces, c, u)
            slip[c] += _RELAXATION * (np.sqrt(u[1] ** 2 + u[2] ** 2) - slip[c])
        residual = better(problem, forces, best, residual)
        if residual <= ACCEPTED:
            break
    return best, residual


@kernel
def _descend(problem, forces, step):
    """Projected gradients with Nesterov's acceleration, restarted when it climbs."""
    delassus, free, tangents, friction, sliding = problem
    n = forces.shape[0]
    ahead, pace = forces.copy(), 1.0
    for _ in range(_GRADIENT_STEPS):
        gradient = (delassus @ ahead.ravel()).reshape(n, 3) + free
        new = ahead - step * gradient
        for c in range(n):
            _project(new[c], tangents[c], friction[c], sliding[c])
        change = new - forces
        if (gradient * change).sum() > 0.0:
            pace = 1.0
            ahead = new.copy()
        else:
            quicker = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))
            ahead = new + (pace - 1.0) / quicker * change
            pace = quicker
        forces[:] = new


@kernel
def _project(f, tangents, mu, sliding):
    """Nearest force inside the cone; along the known direction where it slides."""
    if tangents == 0 or mu == 0.0:
        f[0] = max(0.0, f[0])
        f[1] = 0.0
        f[2] = 0.0
    elif sliding[0] != 0.0 or sliding[1] != 0.0:
        f[0] = max(0.0, f[0])
        f[1] = -mu * f[0] * sliding[0]
        f[2] = -mu * f[0] * sliding[1]
    elif np.isinf(mu):
        f[0] = max(0.0, f[0])
    else:
        along = np.sqrt(f[1] ** 2 + f[2] ** 2)
        if along <= mu * f[0]:
            return
        if mu * along <= -f[0]:
            f[:] = 0.0
            return
        f[0] = (f[0] + mu * along) / (1.0 + mu * mu)
        f[1] *= mu * f[0] / along
        f[2] *= mu * f[0] / along
