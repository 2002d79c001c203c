# SPDX-License-Identifier: Apache-2.0
"""The derivatives of smooth motion, put together from their parts."""

from __future__ import annotations

import numpy as np

from humans_sim.core.dense_kernels import lu_factor, lu_solve
from humans_sim.core.kernels import kernel


@kernel
def assemble_derivatives(torques, rates, turn, response, base):
    """Derivatives of the rates of coordinates, velocity and z by these (n, n).

    Args:
        torques: derivatives of the torques by the state (nv, n).
        rates: derivatives of the rates of z by the state (nz, n).
        turn: rates of the coordinates for each velocity (nv, nv).
        response: of the acceleration to forces, velocities and positions (3, nv, nv).
        base: coordinates whose rates are no velocities, the first ones.
    """
    nv, n = torques.shape
    matrix = np.zeros((n, n))
    matrix[nv : 2 * nv] = response[0] @ torques
    matrix[2 * nv :] = rates
    # Positions are moved along velocities: response[2] with the inverse of turn.
    factors = turn[:base, :base].T.copy()
    order = np.empty(base, np.int64)
    regular = lu_factor(factors, order)
    row = np.empty(base)
    for i in range(nv):
        if regular:
            row[:] = response[2, i, :base]
            lu_solve(factors, order, row)
            matrix[nv + i, :base] += row
        for j in range(nv):
            matrix[i, nv + j] = turn[i, j]
            matrix[nv + i, nv + j] += response[1, i, j]
            if j >= base:
                matrix[nv + i, j] += response[2, i, j]
    return matrix
