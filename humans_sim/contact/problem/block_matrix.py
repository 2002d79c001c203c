# SPDX-License-Identifier: Apache-2.0
r"""Matrices of 3 x 3 blocks, one row of blocks for each contact, and their LU factors.

Contacts meet in W where they act on one body. In a heap each one meets few others, so
that nearly all blocks are zero; in a robot that stands none is. Both are stored row by
row, zeros left out, and both are solved by the same factors:

.. math:: L W + D = \text{(lower)} \, \text{(upper)}, \qquad L, D
   \text{ block diagonal,}

without exchange of rows. The order of elimination is that of the least degree, found
once for all L and D: next comes the contact that meets the fewest of those left.
Contacts that do not meet, not even through others, are *islands*: problems of their
own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel, lent


class BlockMatrix(NamedTuple):
    """A matrix of k x k blocks, row by row; the diagonal ones are always stored.

    Attributes:
        blocks: (m, 3, 3).
        starts: first block of each row, and the end of the last (k + 1,).
        columns: block column of each block (m,).
    """

    blocks: np.ndarray
    starts: np.ndarray
    columns: np.ndarray


class Elimination(NamedTuple):
    """Order in which contacts are eliminated, and the blocks of the factors.

    Step s has the pivot of contact ``order[s]``, then its row, then its column, each
    with a block for every contact of ``later[first[s] : first[s + 1]]``.

    Attributes:
        order: (k,).
        first: (k + 1,).
        later: contacts that meet the one of the step and are eliminated after it.
        place: number of the block of each pair in the factors (k, k); -1 for none.
    """

    order: np.ndarray
    first: np.ndarray
    later: np.ndarray
    place: np.ndarray


@kernel
def blocks_of(matrix, scale):
    """The blocks of a dense matrix that are not zero; rows and columns scaled."""
    n = scale.shape[0]
    starts, columns = np.empty(n + 1, np.int64), np.empty(n * n, np.int64)
    count = 0
    for c in range(n):
        starts[c] = count
        for d in range(n):
            # Mostly the normals tell.
            used = c == d or matrix[3 * c, 3 * d] != 0.0
            if not used:
                for i in range(3 * c, 3 * c + 3):
                    for j in range(3 * d, 3 * d + 3):
                        used |= matrix[i, j] != 0.0
            if used:
                columns[count] = d
                count += 1
    starts[n] = count
    blocks = np.empty((count, 3, 3))
    for c in range(n):
        for m in range(starts[c], starts[c + 1]):
            d = columns[m]
            factor = scale[c] * scale[d]
            for i in range(3):
                for j in range(3):
                    blocks[m, i, j] = factor * matrix[3 * c + i, 3 * d + j]
    return BlockMatrix(blocks, starts, columns[:count])


@kernel(borrows=True)
def times(matrix, vectors, result):
    """The product with vectors (k, 3)."""
    blocks, starts, columns = matrix
    for c in range(vectors.shape[0]):
        r0, r1, r2 = 0.0, 0.0, 0.0
        for m in range(starts[c], starts[c + 1]):
            d, b = columns[m], blocks[m]
            v0, v1, v2 = vectors[d, 0], vectors[d, 1], vectors[d, 2]
            r0 += b[0, 0] * v0 + b[0, 1] * v1 + b[0, 2] * v2
            r1 += b[1, 0] * v0 + b[1, 1] * v1 + b[1, 2] * v2
            r2 += b[2, 0] * v0 + b[2, 1] * v1 + b[2, 2] * v2
        result[c, 0], result[c, 1], result[c, 2] = r0, r1, r2


@kernel
def islands_of(matrix):
    """Contacts island by island (k,), and where each island begins and the last ends.

    A block counts in both directions.
    """
    _, starts, columns = matrix
    n = starts.shape[0] - 1
    if columns.shape[0] == n * n:
        return np.arange(n), np.array([0, n])
    root = np.arange(n)
    for c in range(n):
        for m in range(starts[c], starts[c + 1]):
            a, b = c, columns[m]
            while root[a] != a:
                root[a] = root[root[a]]
                a = root[a]
            while root[b] != b:
                root[b] = root[root[b]]
                b = root[b]
            root[max(a, b)] = min(a, b)
    # The root of an island is its first contact.
    member, place = np.empty(n, np.int64), np.zeros(n + 1, np.int64)
    count = 0
    for c in range(n):
        while root[root[c]] != root[c]:
            root[c] = root[root[c]]
        if root[c] == c:
            count += 1
        place[root[c]] += 1
    begins = np.empty(count + 1, np.int64)
    total, island = 0, 0
    for c in range(n):
        if root[c] == c:
            begins[island] = total
            island += 1
            total, place[c] = total + place[c], total
    begins[count] = total
    for c in range(n):
        member[place[root[c]]] = c
        place[root[c]] += 1
    return member, begins


@kernel
def part_of(matrix, members, place):
    """Rows and columns of an island; ``place`` (k,) is overwritten."""
    blocks, starts, columns = matrix
    n, count = members.shape[0], 0
    for a in range(n):
        place[members[a]] = a
        count += starts[members[a] + 1] - starts[members[a]]
    part = np.empty((count, 3, 3))
    begins, at = np.empty(n + 1, np.int64), np.empty(count, np.int64)
    count = 0
    for a in range(n):
        begins[a] = count
        for m in range(starts[members[a]], starts[members[a] + 1]):
            part[count] = blocks[m]
            at[count] = place[columns[m]]
            count += 1
    begins[n] = count
    return BlockMatrix(part, begins, at)


@kernel
def elimination_of(matrix):
    """Order of least degree, and the blocks that elimination fills."""
    matrix = lent(matrix)
    _, starts, columns = matrix
    n = starts.shape[0] - 1
    order, first = np.empty(n, np.int64), np.zeros(n + 1, np.int64)
    later = np.empty(n * (n - 1) // 2, np.int64)
    place = np.full((n, n), -1, np.int32)
    count = blocks = 0
    if columns.shape[0] == n * n:
        # All meet all: any order will do.
        for c in range(n):
            order[c] = c
            place[c, c] = blocks
            for a in range(c + 1, n):
                later[count] = a
                count += 1
                place[c, a] = blocks + a - c
                place[a, c] = blocks + a - c + n - 1 - c
            first[c + 1] = count
            blocks += 1 + 2 * (n - 1 - c)
        return Elimination(order, first, later, place)
    meets, degree = np.zeros((n, n), np.bool_), np.zeros(n, np.int64)
    for c in range(n):
        for m in range(starts[c], starts[c + 1]):
            meets[c, columns[m]] = meets[columns[m], c] = True
    for c in range(n):
        meets[c, c] = False
        degree[c] = meets[c].sum()
    left = np.arange(n)
    for s in range(n):
        best = s
        for a in range(s + 1, n):
            if degree[left[a]] < degree[left[best]]:
                best = a
        c = left[best]
        left[best] = left[s]
        order[s] = c
        begin = count
        for a in range(s + 1, n):
            if meets[c, left[a]]:
                later[count] = left[a]
                count += 1
        first[s + 1] = count
        place[c, c] = blocks
        for m in range(begin, count):
            a = later[m]
            place[c, a] = blocks + 1 + m - begin
            place[a, c] = blocks + 1 + m - begin + count - begin
            degree[a] -= 1
            for o in range(begin, m):
                b = later[o]
                if not meets[a, b]:
                    meets[a, b] = meets[b, a] = True
                    degree[a] += 1
                    degree[b] += 1
        blocks += 1 + 2 * (count - begin)
    return Elimination(order, first, later[:count], place)


@kernel
def factor_blocks(matrix, left, diagonal, elimination, factors):
    """LU factors of L A + D; False where a pivot has no inverse.

    A contact whose row of L is zero has D alone in its row.

    Args:
        matrix: A.
        left: L (k, 3, 3).
        diagonal: D (k, 3, 3).
        elimination: as of :func:`elimination_of` for A.
        factors: result (m, 3, 3), inverses in the place of pivots.
    """
    matrix, elimination = lent(matrix), lent(elimination)
    blocks, starts, columns = matrix
    order, first, later, place = elimination
    n = order.shape[0]
    alone = np.empty(n, np.bool_)
    factors[:] = 0.0
    for c in range(n):
        own = left[c]
        alone[c] = not own.any()
        if not alone[c]:
            for m in range(starts[c], starts[c + 1]):
                b, entry = blocks[m], factors[place[c, columns[m]]]
                for i in range(3):
                    for j in range(3):
                        entry[i, j] = (
                            own[i, 0] * b[0, j]
                            + own[i, 1] * b[1, j]
                            + own[i, 2] * b[2, j]
                        )
        factors[place[c, c]] += diagonal[c]
    for s in range(n):
        c = order[s]
        at, begin = place[c, c], first[s]
        count = first[s + 1] - begin
        if not _invert(factors[at]):
            return False
        pivot = factors[at]
        for m in range(count):
            a = later[begin + m]
            if alone[a]:
                continue
            v = factors[at + 1 + count + m]
            l00 = v[0, 0] * pivot[0, 0] + v[0, 1] * pivot[1, 0] + v[0, 2] * pivot[2, 0]
            l01 = v[0, 0] * pivot[0, 1] + v[0, 1] * pivot[1, 1] + v[0, 2] * pivot[2, 1]
            l02 = v[0, 0] * pivot[0, 2] + v[0, 1] * pivot[1, 2] + v[0, 2] * pivot[2, 2]
            l10 = v[1, 0] * pivot[0, 0] + v[1, 1] * pivot[1, 0] + v[1, 2] * pivot[2, 0]
            l11 = v[1, 0] * pivot[0, 1] + v[1, 1] * pivot[1, 1] + v[1, 2] * pivot[2, 1]
            l12 = v[1, 0] * pivot[0, 2] + v[1, 1] * pivot[1, 2] + v[1, 2] * pivot[2, 2]
            l20 = v[2, 0] * pivot[0, 0] + v[2, 1] * pivot[1, 0] + v[2, 2] * pivot[2, 0]
            l21 = v[2, 0] * pivot[0, 1] + v[2, 1] * pivot[1, 1] + v[2, 2] * pivot[2, 1]
            l22 = v[2, 0] * pivot[0, 2] + v[2, 1] * pivot[1, 2] + v[2, 2] * pivot[2, 2]
            v[0, 0], v[0, 1], v[0, 2] = l00, l01, l02
            v[1, 0], v[1, 1], v[1, 2] = l10, l11, l12
            v[2, 0], v[2, 1], v[2, 2] = l20, l21, l22
            if alone[c]:
                continue
            for o in range(count):
                u, e = factors[at + 1 + o], factors[place[a, later[begin + o]]]
                for j in range(3):
                    u0, u1, u2 = u[0, j], u[1, j], u[2, j]
                    e[0, j] -= l00 * u0 + l01 * u1 + l02 * u2
                    e[1, j] -= l10 * u0 + l11 * u1 + l12 * u2
                    e[2, j] -= l20 * u0 + l21 * u1 + l22 * u2
    return True


@kernel(borrows=True)
def _invert(a):
    """Inverse of a 3 x 3 matrix in place; False where there is none."""
    c00 = a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1]
    c01 = a[1, 2] * a[2, 0] - a[1, 0] * a[2, 2]
    c02 = a[1, 0] * a[2, 1] - a[1, 1] * a[2, 0]
    det = a[0, 0] * c00 + a[0, 1] * c01 + a[0, 2] * c02
    if not abs(det) > 0.0:
        return False
    s = 1.0 / det
    c10 = s * (a[0, 2] * a[2, 1] - a[0, 1] * a[2, 2])
    c11 = s * (a[0, 0] * a[2, 2] - a[0, 2] * a[2, 0])
    c12 = s * (a[0, 1] * a[2, 0] - a[0, 0] * a[2, 1])
    c20 = s * (a[0, 1] * a[1, 2] - a[0, 2] * a[1, 1])
    c21 = s * (a[0, 2] * a[1, 0] - a[0, 0] * a[1, 2])
    c22 = s * (a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0])
    a[0, 0], a[0, 1], a[0, 2] = s * c00, c10, c20
    a[1, 0], a[1, 1], a[1, 2] = s * c01, c11, c21
    a[2, 0], a[2, 1], a[2, 2] = s * c02, c12, c22
    return True


@kernel(borrows=True)
def solve_blocks(elimination, factors, vectors):
    """Solve with the factors of :func:`factor_blocks`, in place; vectors (k, 3)."""
    order, first, later, place = elimination
    n = order.shape[0]
    for s in range(n):
        c = order[s]
        count = first[s + 1] - first[s]
        at = place[c, c] + 1 + count
        v0, v1, v2 = vectors[c, 0], vectors[c, 1], vectors[c, 2]
        for m in range(count):
            x, f = vectors[later[first[s] + m]], factors[at + m]
            x[0] -= f[0, 0] * v0 + f[0, 1] * v1 + f[0, 2] * v2
            x[1] -= f[1, 0] * v0 + f[1, 1] * v1 + f[1, 2] * v2
            x[2] -= f[2, 0] * v0 + f[2, 1] * v1 + f[2, 2] * v2
    for s in range(n - 1, -1, -1):
        c = order[s]
        at = place[c, c]
        v0, v1, v2 = vectors[c, 0], vectors[c, 1], vectors[c, 2]
        for m in range(first[s + 1] - first[s]):
            x, f = vectors[later[first[s] + m]], factors[at + 1 + m]
            v0 -= f[0, 0] * x[0] + f[0, 1] * x[1] + f[0, 2] * x[2]
            v1 -= f[1, 0] * x[0] + f[1, 1] * x[1] + f[1, 2] * x[2]
            v2 -= f[2, 0] * x[0] + f[2, 1] * x[1] + f[2, 2] * x[2]
        f = factors[at]
        vectors[c, 0] = f[0, 0] * v0 + f[0, 1] * v1 + f[0, 2] * v2
        vectors[c, 1] = f[1, 0] * v0 + f[1, 1] * v1 + f[1, 2] * v2
        vectors[c, 2] = f[2, 0] * v0 + f[2, 1] * v1 + f[2, 2] * v2
