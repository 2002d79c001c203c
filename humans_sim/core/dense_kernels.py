# SPDX-License-Identifier: Apache-2.0
"""Small dense linear equations inside kernels, where a call of LAPACK costs more.

*Cholesky factors* of matrices with short rows. A mass matrix is zero between the
branches of a tree. Eliminated from its last row to its first, :math:`M = U U^T` with U
upper triangular, it keeps these zeros (Featherstone, Rigid Body Dynamics Algorithms,
2008, section 6.5): no row of U is longer than that of M. A full matrix costs what it
costs by the usual factor.

*Loops that processors do four at a time* add a multiple of one row to another and go
over whole rows: a sum in one variable waits for each of its terms, and a loop that does
not begin at zero is not compiled for vectors.
"""

from __future__ import annotations

import numpy as np

from humans_sim.core.kernels import kernel


@kernel(borrows=True)
def cholesky(matrix, factor):
    """Lower Cholesky factor; False where the matrix is not positive definite.

    The factor may be the matrix itself: only the lower triangle is read and written.
    """
    n = matrix.shape[0]
    for i in range(n):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                factor[i, i] = np.sqrt(total)
            else:
                factor[i, j] = total / factor[j, j]
    return True


@kernel(borrows=True)
def forward_rows(factor, rows):
    """Solve factor x = rows in place; rows (n, m)."""
    n, m = rows.shape
    for i in range(n):
        for k in range(i):
            c = factor[i, k]
            if c != 0.0:
                for j in range(m):
                    rows[i, j] -= c * rows[k, j]
        c = 1.0 / factor[i, i]
        for j in range(m):
            rows[i, j] *= c


@kernel(borrows=True)
def forward(factor, vector):
    """Solve factor x = vector in place."""
    n = vector.shape[0]
    for i in range(n):
        total = vector[i]
        for k in range(i):
            total -= factor[i, k] * vector[k]
        vector[i] = total / factor[i, i]


@kernel(borrows=True)
def backward(factor, vector):
    """Solve factor.T x = vector in place."""
    n = vector.shape[0]
    for i in range(n - 1, -1, -1):
        total = vector[i]
        for k in range(i + 1, n):
            total -= factor[k, i] * vector[k]
        vector[i] = total / factor[i, i]


@kernel(borrows=True)
def cholesky_solve(matrix, vector):
    """Solve with a symmetric matrix, in place; False where it is not positive definite.

    Only its lower triangle is read; the factor is left there.
    """
    if not cholesky(matrix, matrix):
        return False
    forward(matrix, vector)
    backward(matrix, vector)
    return True


@kernel(borrows=True)
def lu_factor(matrix, order):
    """LU factors in place, rows swapped; False where it is singular."""
    n = matrix.shape[0]
    for k in range(n):
        best, row = abs(matrix[k, k]), k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > best:
                best, row = abs(matrix[i, k]), i
        if not best > 0.0:
            return False
        order[k] = row
        if row != k:
            for j in range(n):
                matrix[k, j], matrix[row, j] = matrix[row, j], matrix[k, j]
        # Four rows at once: rows are short, and each loop over one costs its start.
        i, pivot = k + 1, matrix[k, k]
        while i + 3 < n:
            a, b = matrix[i, k] / pivot, matrix[i + 1, k] / pivot
            c, d = matrix[i + 2, k] / pivot, matrix[i + 3, k] / pivot
            matrix[i, k], matrix[i + 1, k] = a, b
            matrix[i + 2, k], matrix[i + 3, k] = c, d
            i += 4
            if a == 0.0 and b == 0.0 and c == 0.0 and d == 0.0:
                continue
            for j in range(k + 1, n):
                above = matrix[k, j]
                matrix[i - 4, j] -= a * above
                matrix[i - 3, j] -= b * above
                matrix[i - 2, j] -= c * above
                matrix[i - 1, j] -= d * above
        while i < n:
            a = matrix[i, k] / pivot
            matrix[i, k] = a
            for j in range(k + 1, n):
                matrix[i, j] -= a * matrix[k, j]
            i += 1
    return True


@kernel(borrows=True)
def lu_solve(matrix, order, vector):
    """Solve with the factors of :func:`lu_factor`, in place."""
    n = vector.shape[0]
    for k in range(n):
        row = order[k]
        if row != k:
            vector[k], vector[row] = vector[row], vector[k]
    for k in range(n):
        total = vector[k]
        for i in range(k):
            total -= matrix[k, i] * vector[i]
        vector[k] = total
    for k in range(n - 1, -1, -1):
        total = vector[k]
        for i in range(k + 1, n):
            total -= matrix[k, i] * vector[i]
        vector[k] = total / matrix[k, k]


@kernel(borrows=True)
def row_ends(matrix, ends):
    """Where the rows of a symmetric matrix end: behind their last entries (n,)."""
    n = matrix.shape[0]
    for i in range(n):
        end = n
        while end > i + 1 and matrix[i, end - 1] == 0.0:
            end -= 1
        ends[i] = end


@kernel(borrows=True)
def upper_factor(matrix, ends, factor):
    """The factor U (zeros before); False where the matrix is not positive definite."""
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


@kernel(borrows=True)
def solve_upper(factor, ends, columns):
    """Solve U x = b in place, for each b that is a column (n, m)."""
    n, m = columns.shape
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, ends[i]):
            c = factor[i, k]
            if c != 0.0:
                for r in range(m):
                    columns[i, r] -= c * columns[k, r]
        c = 1.0 / factor[i, i]
        for r in range(m):
            columns[i, r] *= c


@kernel(borrows=True)
def solve_upper_vector(factor, ends, vector):
    """The same for one vector (n,)."""
    for i in range(vector.shape[0] - 1, -1, -1):
        total = vector[i]
        for k in range(i + 1, ends[i]):
            total -= factor[i, k] * vector[k]
        vector[i] = total / factor[i, i]


@kernel(borrows=True)
def solve_upper_transposed(factor, vector):
    """Solve U^T x = b in place."""
    n = factor.shape[0]
    for i in range(n):
        vector[i] /= factor[i, i]
        c = vector[i]
        for k in range(i + 1, n):
            vector[k] -= factor[i, k] * c


@kernel(borrows=True)
def gram(columns, products):
    """Products of all columns (n, m) with each other (m, m)."""
    (n, m), x, k = columns.shape, columns, 0
    products[:] = 0.0
    # Four rows at once: what is summed up is fetched and put back once for them.
    while k + 3 < n:
        for r in range(m):
            a, b, c, d = x[k, r], x[k + 1, r], x[k + 2, r], x[k + 3, r]
            if a == 0.0 and b == 0.0 and c == 0.0 and d == 0.0:
                continue
            # Up to the diagonal, by blocks that processors do at once.
            for s in range(min(m, 16 * (r // 16 + 1))):
                products[r, s] += (
                    a * x[k, s] + b * x[k + 1, s] + c * x[k + 2, s] + d * x[k + 3, s]
                )
        k += 4
    while k < n:
        for r in range(m):
            a = x[k, r]
            for s in range(r + 1):
                products[r, s] += a * x[k, s]
        k += 1
    for r in range(m):
        for s in range(r):
            products[s, r] = products[r, s]


@kernel(borrows=True)
def upper_cholesky(matrix, factor):
    """Upper triangular U with U^T U a matrix; False where it is not positive definite.

    What is below the diagonal of U is not set.
    """
    n, u = matrix.shape[0], factor
    for j in range(n):
        row, k, left = u[j, j:], 0, n - j
        for s in range(left):
            row[s] = matrix[j, j + s]
        while k + 3 < j:
            a, b, c, d = u[k, j], u[k + 1, j], u[k + 2, j], u[k + 3, j]
            # Contacts that do not meet leave zeros.
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                p, q, r, t = u[k, j:], u[k + 1, j:], u[k + 2, j:], u[k + 3, j:]
                for s in range(left):
                    row[s] -= a * p[s] + b * q[s] + c * r[s] + d * t[s]
            k += 4
        while k < j:
            a, p = u[k, j], u[k, j:]
            for s in range(left):
                row[s] -= a * p[s]
            k += 1
        if not row[0] > 0.0:
            return False
        a = 1.0 / np.sqrt(row[0])
        for s in range(left):
            row[s] *= a
    return True


@kernel(borrows=True)
def upper_cholesky_solve(factor, vector):
    """Solve U^T U x = b in place."""
    n = vector.shape[0]
    for j in range(n):
        vector[j] /= factor[j, j]
        a = vector[j]
        for s in range(j + 1, n):
            vector[s] -= a * factor[j, s]
    for j in range(n - 1, -1, -1):
        total = vector[j]
        for s in range(j + 1, n):
            total -= factor[j, s] * vector[s]
        vector[j] = total / factor[j, j]


@kernel(borrows=True)
def largest(vector):
    """The largest size of an entry, zero without any; not finite where one is not."""
    size = 0.0
    for k in range(vector.shape[0]):
        here = abs(vector[k])
        if not here <= size:
            size = here
            if not np.isfinite(here):
                break
    return size


@kernel(borrows=True)
def times_rows(rows, vector, out):
    """Product of each row with a vector (m,)."""
    r, n = 0, rows.shape[1]
    # Four sums at once do not wait for each other.
    while r + 3 < rows.shape[0]:
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for k in range(n):
            a += rows[r, k] * vector[k]
            b += rows[r + 1, k] * vector[k]
            c += rows[r + 2, k] * vector[k]
            d += rows[r + 3, k] * vector[k]
        out[r], out[r + 1], out[r + 2], out[r + 3] = a, b, c, d
        r += 4
    while r < rows.shape[0]:
        a = 0.0
        for k in range(n):
            a += rows[r, k] * vector[k]
        out[r] = a
        r += 1


@kernel(borrows=True)
def times_columns(columns, vector, out):
    """Product of each column (n, m) with a vector (m,)."""
    for r in range(out.shape[0]):
        out[r] = 0.0
    for k in range(columns.shape[0]):
        a = vector[k]
        for r in range(out.shape[0]):
            out[r] += a * columns[k, r]
