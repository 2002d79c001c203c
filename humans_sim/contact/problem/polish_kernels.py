# SPDX-License-Identifier: Apache-2.0
"""Forces made exact: the linear equations of the modes that they show."""

from __future__ import annotations

import numpy as np

from humans_sim.contact.problem.law_kernels import (
    is_sliding,
    modes_of,
    motion_of,
    residual_of,
)
from humans_sim.contact.problem.modes import OPEN, SLIDE, STICK, deflated_solve
from humans_sim.core.kernels import kernel

ACCEPTED = 1e-10
"""Relative residual with which a solver may end."""


@kernel
def better(problem, forces, best, residual):
    """Keep the forces, or what polishing makes of them, where they are better."""
    for trial in (forces, polished(problem, forces)):
        trial_residual = residual_of(problem, trial)
        if trial_residual < residual:
            residual = trial_residual
            best[:] = trial
    return residual


@kernel
def polished(problem, forces):
    """Solve the linear equations of the modes that the forces show."""
    delassus, free, tangents, friction, sliding = problem
    n = forces.shape[0]
    mode = modes_of(forces, tangents, friction, sliding)
    direction = np.zeros((n, 2))
    for c in range(n):
        if mode[c] == SLIDE:
            if is_sliding(sliding, c):
                direction[c] = sliding[c]
            elif friction[c] > 0.0:
                along = np.sqrt(forces[c, 1] ** 2 + forces[c, 2] ** 2)
                direction[c, 0] = -forces[c, 1] / along
                direction[c, 1] = -forces[c, 2] / along
    polished = forces.copy()
    size = 0
    row = np.full((n, 3), -1)
    for c in range(n):
        held = np.isinf(friction[c]) and tangents[c] > 0
        count = 0
        if mode[c] == SLIDE:
            count = 1
        elif mode[c] == STICK:
            count = 1 + tangents[c]
        if mode[c] != OPEN:
            row[c, 0] = size
            size += 1
        if held or (mode[c] == STICK and count > 1):
            for i in range(tangents[c]):
                row[c, 1 + i] = size
                size += 1
    if size == 0:
        return np.zeros((n, 3))
    matrix, right = np.zeros((size, size)), np.zeros(size)
    start, idle = np.zeros(size), np.zeros((size, size))
    u = np.empty(3)
    for _ in range(60):
        for c in range(n):
            for i in range(3):
                if row[c, i] < 0:
                    continue
                r = row[c, i]
                right[r] = -free[c, i]
                start[r] = polished[c, i]
                for d in range(n):
                    for j in range(3):
                        if row[d, j] < 0:
                            continue
                        entry = delassus[3 * c + i, 3 * d + j]
                        if j == 0 and mode[d] == SLIDE and not np.isinf(friction[d]):
                            for t in range(tangents[d]):
                                entry -= (
                                    friction[d]
                                    * direction[d, t]
                                    * delassus[3 * c + i, 3 * d + 1 + t]
                                )
                        matrix[r, row[d, j]] = entry
        x, _ = deflated_solve(matrix, right, idle, start)
        for c in range(n):
            for i in range(3):
                polished[c, i] = x[row[c, i]] if row[c, i] >= 0 else 0.0
            if mode[c] == SLIDE:
                for t in range(tangents[c]):
                    polished[c, 1 + t] = -friction[c] * direction[c, t] * polished[c, 0]
        moved = 0.0
        for c in range(n):
            if mode[c] != SLIDE or friction[c] == 0.0 or tangents[c] < 2:
                continue
            if is_sliding(sliding, c):
                continue
            motion_of(delassus, free, polished, c, u)
            along = np.sqrt(u[1] ** 2 + u[2] ** 2)
            if along > 0.0:
                for t in range(2):
                    moved = max(moved, abs(direction[c, t] - u[1 + t] / along))
                    direction[c, t] = u[1 + t] / along
        if moved < 1e-14:
            break
    return polished
