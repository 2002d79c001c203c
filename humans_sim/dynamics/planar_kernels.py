# SPDX-License-Identifier: Apache-2.0
"""Contacts of a rigid body in the plane with the floor, corner by corner."""

from __future__ import annotations

import math

import numpy as np

from humans_sim.core.kernels import kernel


@kernel
def corner_gaps(corners, q):
    """Heights of the corners (n,) [m].

    Args:
        corners: from the centre of mass, at angle zero (n, 2) [m].
        q: x, z of the centre of mass and the angle.
    """
    c, s = math.cos(q[2]), math.sin(q[2])
    gaps = np.empty(corners.shape[0])
    for k in range(corners.shape[0]):
        gaps[k] = q[1] + s * corners[k, 0] + c * corners[k, 1]
    return gaps


@kernel
def corner_rows(corners, q):
    """Jacobians of the corners, normal and one tangent (n, 3, 3)."""
    c, s = math.cos(q[2]), math.sin(q[2])
    rows = np.zeros((corners.shape[0], 3, 3))
    for k in range(corners.shape[0]):
        rows[k, 0, 1] = rows[k, 1, 0] = 1.0
        rows[k, 0, 2] = c * corners[k, 0] - s * corners[k, 1]
        rows[k, 1, 2] = -(s * corners[k, 0] + c * corners[k, 1])
    return rows


@kernel
def corner_drifts(corners, q, v):
    """Accelerations of the corners at zero acceleration (n, 3) [m/s^2]."""
    c, s = math.cos(q[2]), math.sin(q[2])
    drifts = np.zeros((corners.shape[0], 3))
    for k in range(corners.shape[0]):
        drifts[k, 0] = -(v[2] ** 2) * (s * corners[k, 0] + c * corners[k, 1])
        drifts[k, 1] = -(v[2] ** 2) * (c * corners[k, 0] - s * corners[k, 1])
    return drifts
