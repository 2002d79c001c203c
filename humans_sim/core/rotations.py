# SPDX-License-Identifier: Apache-2.0
"""Rotations of many bodies at once: exponentials and what undoes their curvature."""

from __future__ import annotations

import math

import numpy as np

from humans_sim.core.kernels import kernel

_SMALL = 1e-2
"""Angles below which series are summed [rad]."""


@kernel
def turn(theta, frames, out):
    """exp(theta^) R for each body; theta (n, 3), frames R and out (n, 3, 3)."""
    for n in range(len(theta)):
        x, y, z = theta[n]
        square = x * x + y * y + z * z
        angle = math.sqrt(square)
        if angle < _SMALL:
            a = 1 - square / 6 * (1 - square / 20 * (1 - square / 42))
            b = 0.5 - square / 24 * (1 - square / 30 * (1 - square / 56))
        else:
            a, b = math.sin(angle) / angle, (1 - math.cos(angle)) / square
        e = np.empty((3, 3))
        e[0, 0], e[1, 1], e[2, 2] = (
            1 - b * (y * y + z * z),
            1 - b * (x * x + z * z),
            1 - b * (x * x + y * y),
        )
        e[0, 1], e[1, 0] = b * x * y - a * z, b * x * y + a * z
        e[0, 2], e[2, 0] = b * x * z + a * y, b * x * z - a * y
        e[1, 2], e[2, 1] = b * y * z - a * x, b * y * z + a * x
        for j in range(3):
            for i in range(3):
                out[n, i, j] = (
                    e[i, 0] * frames[n, 0, j]
                    + e[i, 1] * frames[n, 1, j]
                    + e[i, 2] * frames[n, 2, j]
                )
    return out


@kernel
def chart_rate(theta, omega, out):
    """Rate of theta where R = exp(theta^) R_0 turns with omega, all (n, 3).

    The inverse of the derivative of the exponential:
    omega - theta x omega / 2 + c theta x (theta x omega).
    """
    for n in range(len(theta)):
        x, y, z = theta[n]
        u, v, w = omega[n]
        square = x * x + y * y + z * z
        if square < _SMALL * _SMALL:
            c = 1 / 12 * (1 + square / 60 * (1 + square / 42))
        else:
            half = 0.5 * math.sqrt(square)
            c = (1 - half * math.cos(half) / math.sin(half)) / square
        p, q, r = y * w - z * v, z * u - x * w, x * v - y * u
        out[n, 0] = u - 0.5 * p + c * (y * r - z * q)
        out[n, 1] = v - 0.5 * q + c * (z * p - x * r)
        out[n, 2] = w - 0.5 * r + c * (x * q - y * p)
    return out


@kernel
def spin(frames, momenta, inverses, out):
    """R I^-1 R^T L for each body (n, 3)."""
    for n in range(len(momenta)):
        a = (
            frames[n, 0, 0] * momenta[n, 0]
            + frames[n, 1, 0] * momenta[n, 1]
            + frames[n, 2, 0] * momenta[n, 2]
        )
        b = (
            frames[n, 0, 1] * momenta[n, 0]
            + frames[n, 1, 1] * momenta[n, 1]
            + frames[n, 2, 1] * momenta[n, 2]
        )
        c = (
            frames[n, 0, 2] * momenta[n, 0]
            + frames[n, 1, 2] * momenta[n, 1]
            + frames[n, 2, 2] * momenta[n, 2]
        )
        i = inverses[n]
        u = i[0, 0] * a + i[0, 1] * b + i[0, 2] * c
        v = i[1, 0] * a + i[1, 1] * b + i[1, 2] * c
        w = i[2, 0] * a + i[2, 1] * b + i[2, 2] * c
        for k in range(3):
            out[n, k] = frames[n, k, 0] * u + frames[n, k, 1] * v + frames[n, k, 2] * w
    return out


@kernel
def crossed(omega, frames, out):
    """omega^ R for each body (n, 3, 3)."""
    for n in range(len(omega)):
        x, y, z = omega[n]
        for j in range(3):
            a, b, c = frames[n, 0, j], frames[n, 1, j], frames[n, 2, j]
            out[n, 0, j] = y * c - z * b
            out[n, 1, j] = z * a - x * c
            out[n, 2, j] = x * b - y * a
    return out


@kernel
def straighten(frames):
    """One step of Newton's towards the nearest rotations, in place."""
    for n in range(len(frames)):
        m = frames[n].copy()
        for i in range(3):
            for j in range(3):
                total = 0.0
                for k in range(3):
                    for h in range(3):
                        total += m[i, k] * m[h, k] * m[h, j]
                frames[n, i, j] = 1.5 * m[i, j] - 0.5 * total
    return frames
