# SPDX-License-Identifier: Apache-2.0
"""The program of the preview as a projection, in one compiled call."""

from __future__ import annotations

import numpy as np

from humans_sim.core.dual_active_set import project
from humans_sim.core.kernels import kernel


@kernel
def nearest_knots(inverse, pull, normals, bounds):
    """Knots with the least cost inside their polygons.

    Args:
        inverse: of the lower Cholesky factor of the Hessian of one axis (n, n).
        pull: linear part of the cost, x and y (n, 2).
        normals: half-planes of each knot (n, edges, 2); zero where there is none.
        bounds: of the half-planes (n, edges); infinite where there is none.

    Returns:
        the knots (n, 2), and an answer of
        :func:`~humans_sim.core.dual_active_set.project`.
    """
    n, edges = bounds.shape
    # In y = L^T x: first x of all knots, then y.
    y = np.empty(2 * n)
    for axis in range(2):
        for i in range(n):
            total = 0.0
            for j in range(i + 1):
                total += inverse[i, j] * pull[j, axis]
            y[axis * n + i] = total
    count = 0
    for i in range(n):
        for e in range(edges):
            if np.isfinite(bounds[i, e]):
                count += 1
    rows, high = np.zeros((count, 2 * n)), np.empty(count)
    count = 0
    for i in range(n):
        for e in range(edges):
            if not np.isfinite(bounds[i, e]):
                continue
            for axis in range(2):
                for k in range(i, n):
                    rows[count, axis * n + k] = normals[i, e, axis] * inverse[k, i]
            high[count] = bounds[i, e]
            count += 1
    answer = project(y, rows, np.full(count, -np.inf), high)
    knots = np.zeros((n, 2))
    for axis in range(2):
        for i in range(n):
            for k in range(i, n):
                knots[i, axis] += inverse[k, i] * y[axis * n + k]
    return knots, answer
