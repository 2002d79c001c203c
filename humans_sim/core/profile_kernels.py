# SPDX-License-Identifier: Apache-2.0
r"""Cholesky factors of matrices with short rows, inside kernels.

A mass matrix is zero between the branches of a tree. Eliminated from its last row to
its first, :math:`M = U U^T` with U upper triangular, it keeps these zeros
(Featherstone, Rigid Body Dynamics Algorithms, 2008, section 6.5): no row of U is longer
than that of M. A full matrix costs what it costs by the usual factor.
"""

from __future__ import annotations

import numpy as np

from humans_sim.core.kernels import kernel


@kernel
def row_ends(matrix, ends):
    """Where the rows of a symmetric matrix end: behind their last entries (n,)."""
    n = matrix.shape[0]
    for i in range(n):
        end = n
        while end > i + 1 and matrix[i, end - 1] == 0.0:
            end -= 1
        ends[i] = end


@kernel
def upper_factor(matrix, ends, factor):
    """The factor U; False where the matrix is not positive definite.

    Args:
        matrix: symmetric; its upper triangle is read (n, n).
        ends: of its rows (n,).
        factor: zeros, is filled (n, n).
    """
    for j in range(matrix.shape[0] - 1, -1, -1):
        total = matrix[j, j]
        for k in range(j + 1, ends[j]):
            total -= factor[j, k] * factor[j, k]
        if not total > 0.0:
            return False
        pivot = np.sqrt(total)
        factor[j, j] = pivot
        pivot = 1.0 / pivot
        for i in range(j):
            if j < ends[i]:
                total = matrix[i, j]
                for k in range(j + 1, min(ends[i], ends[j])):
                    total -= factor[i, k] * factor[j, k]
                factor[i, j] = total * pivot
    return True


@kernel
def solve_upper(factor, ends, rows):
    """Solve U x = b in place, for each b that is a row (m, n)."""
    n = factor.shape[0]
    scale = np.empty(n)
    for i in range(n):
        scale[i] = 1.0 / factor[i, i]
    for r in range(rows.shape[0]):
        end = n
        while end > 0 and rows[r, end - 1] == 0.0:
            end -= 1
        for i in range(end - 1, -1, -1):
            total = rows[r, i]
            for k in range(i + 1, min(ends[i], end)):
                total -= factor[i, k] * rows[r, k]
            rows[r, i] = total * scale[i]


@kernel
def solve_upper_transposed(factor, vector):
    """Solve U^T x = b in place."""
    n = factor.shape[0]
    for i in range(n):
        vector[i] /= factor[i, i]
        c = vector[i]
        for k in range(i + 1, n):
            vector[k] -= factor[i, k] * c


@kernel
def gram(rows, products):
    """Products of all rows with each other (m, m)."""
    m, n = rows.shape
    for r in range(m):
        for s in range(r + 1):
            total = 0.0
            for k in range(n):
                total += rows[r, k] * rows[s, k]
            products[r, s] = products[s, r] = total


@kernel
def times_rows(rows, vector, out):
    """Product of each row with a vector (m,)."""
    for r in range(rows.shape[0]):
        total = 0.0
        for k in range(rows.shape[1]):
            total += rows[r, k] * vector[k]
        out[r] = total
