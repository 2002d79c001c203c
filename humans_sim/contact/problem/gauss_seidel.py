# SPDX-License-Identifier: Apache-2.0
"""Gauss-Seidel sweeps over contacts, each solved exactly with the others held."""

from __future__ import annotations

import numpy as np

from humans_sim.contact.problem.law_kernels import motion_of
from humans_sim.contact.problem.polish_kernels import ACCEPTED, better
from humans_sim.core.kernels import kernel

_FIRST_SWEEPS = 20
_LAST_SWEEPS = 640
_ANGLES = 24


@kernel
def by_sweeps(problem):
    """Forces of the best of some hundred sweeps (k, 3), and their residual."""
    _, free, _, _, _ = problem
    forces = np.zeros(free.shape)
    best, residual = forces.copy(), np.inf
    sweeps = _FIRST_SWEEPS
    while residual > ACCEPTED and sweeps <= _LAST_SWEEPS:
        _sweep(problem, forces, sweeps)
        if not np.abs(forces).max() < 1e150:
            break
        residual = better(problem, forces, best, residual)
        sweeps *= 2
    return best, residual


@kernel
def _sweep(problem, forces, sweeps):
    """Gauss-Seidel: each contact in turn, the others held."""
    delassus, free, tangents, friction, sliding = problem
    n = forces.shape[0]
    u = np.empty(3)
    b = np.empty(3)
    for _ in range(sweeps):
        for c in range(n):
            w = delassus[3 * c : 3 * c + 3, 3 * c : 3 * c + 3]
            motion_of(delassus, free, forces, c, u)
            for i in range(3):
                b[i] = u[i]
                for j in range(3):
                    b[i] -= w[i, j] * forces[c, j]
            _solve_one(w, b, tangents[c], friction[c], sliding[c], forces[c])


@kernel
def _solve_one(w, b, tangents, mu, sliding, f):
    """Exact solution of one contact."""
    if w[0, 0] <= 0.0:
        f[:] = 0.0
        return
    if tangents == 0 or mu == 0.0:
        f[0] = max(0.0, -b[0] / w[0, 0])
        f[1] = 0.0
        f[2] = 0.0
        return
    if sliding[0] != 0.0 or sliding[1] != 0.0:
        stiffness = w[0, 0] - mu * (w[0, 1] * sliding[0] + w[0, 2] * sliding[1])
        # Painleve, a stiffness below zero: with motion into the surface there is no
        # force, and the residual says so; with motion off it, of the two solutions the
        # open one is taken: the closed one is unstable.
        f[0] = max(0.0, -b[0] / stiffness) if stiffness > 0.0 else 0.0
        f[1] = -mu * f[0] * sliding[0]
        f[2] = -mu * f[0] * sliding[1]
        return
    held = np.isinf(mu)
    if b[0] >= 0.0 and not held:
        f[:] = 0.0
        return
    # stick
    if tangents == 1:
        det = w[0, 0] * w[1, 1] - w[0, 1] * w[1, 0]
        if det > 1e-14 * w[0, 0] * w[1, 1]:
            f[0] = (-b[0] * w[1, 1] + b[1] * w[0, 1]) / det
            f[1] = (-b[1] * w[0, 0] + b[0] * w[1, 0]) / det
        else:
            f[0] = -b[0] / w[0, 0]
            f[1] = 0.0
        f[2] = 0.0
    else:
        local = w.copy()
        scale = (w[0, 0] + w[1, 1] + w[2, 2]) * 1e-15
        for i in range(3):
            local[i, i] += scale
        x = np.linalg.solve(local, -b)
        for i in range(3):
            f[i] = x[i]
    if held:
        if f[0] < 0.0:
            f[0] = 0.0
            if tangents == 1:
                f[1] = -b[1] / w[1, 1] if w[1, 1] > 0.0 else 0.0
            else:
                det = w[1, 1] * w[2, 2] - w[1, 2] * w[2, 1]
                if det > 1e-14 * w[1, 1] * w[2, 2]:
                    f[1] = (-b[1] * w[2, 2] + b[2] * w[1, 2]) / det
                    f[2] = (-b[2] * w[1, 1] + b[1] * w[2, 1]) / det
        return
    if f[0] >= 0.0 and f[1] * f[1] + f[2] * f[2] <= (mu * f[0]) ** 2:
        return
    # slip: along d the motion, against d the force
    if tangents == 1:
        for sign in (1.0, -1.0):
            stiffness = w[0, 0] - mu * sign * w[0, 1]
            if stiffness > 0.0:
                normal = -b[0] / stiffness
                along = b[1] + (w[1, 0] - mu * sign * w[1, 1]) * normal
                if normal >= 0.0 and along * sign >= 0.0:
                    f[0] = normal
                    f[1] = -mu * sign * normal
                    f[2] = 0.0
                    return
        return
    last, last_angle = _slip_error(w, b, mu, 0.0), 0.0
    for k in range(1, _ANGLES + 1):
        angle = 2.0 * np.pi * k / _ANGLES
        error = _slip_error(w, b, mu, angle)
        if last * error <= 0.0 and np.isfinite(last) and np.isfinite(error):
            low, high, at_low = last_angle, angle, last
            for _ in range(60):
                middle = 0.5 * (low + high)
                value = _slip_error(w, b, mu, middle)
                if at_low * value <= 0.0:
                    high = middle
                else:
                    low, at_low = middle, value
            theta = 0.5 * (low + high)
            d1, d2 = np.cos(theta), np.sin(theta)
            stiffness = w[0, 0] - mu * (w[0, 1] * d1 + w[0, 2] * d2)
            if stiffness > 0.0:
                normal = -b[0] / stiffness
                u1 = b[1] + (w[1, 0] - mu * (w[1, 1] * d1 + w[1, 2] * d2)) * normal
                u2 = b[2] + (w[2, 0] - mu * (w[2, 1] * d1 + w[2, 2] * d2)) * normal
                if u1 * d1 + u2 * d2 >= 0.0:
                    f[0] = normal
                    f[1] = -mu * normal * d1
                    f[2] = -mu * normal * d2
                    return
        last, last_angle = error, angle


@kernel
def _slip_error(w, b, mu, angle):
    """Motion across the assumed direction of slip; zero where it is the true one."""
    d1, d2 = np.cos(angle), np.sin(angle)
    stiffness = w[0, 0] - mu * (w[0, 1] * d1 + w[0, 2] * d2)
    if stiffness <= 0.0:
        return np.nan
    normal = -b[0] / stiffness
    u1 = b[1] + (w[1, 0] - mu * (w[1, 1] * d1 + w[1, 2] * d2)) * normal
    u2 = b[2] + (w[2, 0] - mu * (w[2, 1] * d1 + w[2, 2] * d2)) * normal
    return u1 * d2 - u2 * d1
