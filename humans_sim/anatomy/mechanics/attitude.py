# SPDX-License-Identifier: Apache-2.0
r"""Attitudes as the thesis has them: Euler angles, direction cosines, Riccati.

With :math:`(p, q, r)` the spin in the bone's own frame, and the passage matrix from it
to the fixed frame (E5)

.. math:: R = R_z(-\psi)\, R_x(-\theta)\, R_z(\varphi),

.. math::
    p = \psi' \sin\theta \sin\varphi - \theta' \cos\varphi, \quad
    q = \psi' \sin\theta \cos\varphi + \theta' \sin\varphi, \quad
    r = \varphi' - \psi' \cos\theta .

Corrected misprints: signs and order of the inverse of E7 (E1 of chapter 7), the factor
1/2 of the quaternion's rate (E16), and the second of Darboux' variables, which is -1/y.
"""

from __future__ import annotations

import numpy as np


def euler_matrix(theta: float, phi: float, psi: float) -> np.ndarray:
    """Passage from the bone's frame to the fixed one, E5 (3, 3)."""
    ct, st = np.cos(theta), np.sin(theta)
    cf, sf = np.cos(phi), np.sin(phi)
    cp, sp = np.cos(psi), np.sin(psi)
    return np.array(
        [
            [cp * cf + sp * sf * ct, ct * cf * sp - cp * sf, st * sp],
            [ct * cp * sf - sp * cf, sp * sf + cp * ct * cf, st * cp],
            [-st * sf, -st * cf, ct],
        ]
    )


def euler_angles(rotation: np.ndarray) -> np.ndarray:
    """Angles theta, phi and psi of a passage matrix (3,) [rad]; theta in [0, pi]."""
    theta = np.arctan2(np.hypot(rotation[2, 0], rotation[2, 1]), rotation[2, 2])
    if np.sin(theta) < 1e-12:  # only a sum of the two others is defined
        return np.array([theta, np.arctan2(-rotation[0, 1], rotation[0, 0]), 0.0])
    phi = np.arctan2(-rotation[2, 0], -rotation[2, 1])
    psi = np.arctan2(rotation[0, 2], rotation[1, 2])
    return np.array([theta, phi, psi])


def spin_of_rates(angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Spin (p, q, r) in the bone's frame of rates of theta, phi, psi, E7 (3,)."""
    theta, phi, _ = angles
    dtheta, dphi, dpsi = rates
    return np.array(
        [
            dpsi * np.sin(theta) * np.sin(phi) - dtheta * np.cos(phi),
            dpsi * np.sin(theta) * np.cos(phi) + dtheta * np.sin(phi),
            dphi - dpsi * np.cos(theta),
        ]
    )


def euler_rates(angles: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """Rates of theta, phi and psi of a spin (3,); unbounded where sin theta is 0."""
    theta, phi = angles[..., 0], angles[..., 1]
    p, q, r = spin[..., 0], spin[..., 1], spin[..., 2]
    across = (p * np.sin(phi) + q * np.cos(phi)) / np.sin(theta)
    dtheta = q * np.sin(phi) - p * np.cos(phi)
    return np.stack([dtheta, r + np.cos(theta) * across, across], axis=-1)


def spin_rates(moments: np.ndarray, spin: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """Euler's equations in principal axes, E3: rates of (p, q, r) (n, 3).

    Args:
        moments: A, B, C of each bone (n, 3) [kg m^2].
        spin: (n, 3) [rad/s].
        torque: L, M, N in the bones' frames (n, 3) [N m].
    """
    return np.asarray((torque - np.cross(spin, moments * spin)) / moments)


def cosine_rates(row: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """Rate of a row (a, b, c) of R, E2 of chapter 7 (3,)."""
    return np.cross(row, spin)


def riccati_rate(x: complex, spin: np.ndarray) -> complex:
    """Rate of x = (a + i b) / (1 - c), E6 of chapter 7."""
    p, q, r = spin
    return complex(0.5 * (q - 1j * p) - 1j * r * x + 0.5 * (q + 1j * p) * x * x)


def stereographic(row: np.ndarray) -> complex:
    """The variable x of a row (a, b, c) of R."""
    return complex((row[0] + 1j * row[1]) / (1 - row[2]))


def second_variable(row: np.ndarray) -> complex:
    """Darboux' second solution -1/y of the same equation, y = (a - i b) / (1 - c)."""
    return complex(-(1 - row[2]) / (row[0] - 1j * row[1]))


def row_of(x: complex, other: complex) -> np.ndarray:
    """The row (a, b, c) of the two variables: Darboux' formulas."""
    gap = x - other
    return np.array(
        [
            ((1 - x * other) / gap).real,
            (1j * (1 + x * other) / gap).real,
            ((x + other) / gap).real,
        ]
    )


def quaternion_rates(parameters: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """Rates of (lambda, mu, nu, rho), E16 with its missing factor 1/2 (4,).

    They are those of the inverse rotation: (rho, -lambda, -mu, -nu) is the usual unit
    quaternion (w, x, y, z) from the bone's frame to the fixed one.
    """
    p, q, r = spin
    matrix = np.array(
        [[0, r, -q, -p], [-r, 0, p, -q], [q, -p, 0, -r], [p, q, r, 0]], dtype=float
    )
    return np.asarray(0.5 * matrix @ parameters)


def quaternion_matrix(parameters: np.ndarray) -> np.ndarray:
    """R of (lambda, mu, nu, rho), normalised (3, 3)."""
    x, y, z, w = parameters / np.linalg.norm(parameters) * [-1, -1, -1, 1]
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
