# SPDX-License-Identifier: Apache-2.0
"""Kernels on sparse matrices of contacts; see the module ``block_matrix``.

A matrix is the tuple (blocks (m, 3, 3), starts (k + 1,), columns (m,)): row c has the
blocks from ``starts[c]`` to ``starts[c + 1]``, at these block columns.
"""

from __future__ import annotations

import numpy as np

from humans_sim.core.kernels import kernel


@kernel
def times(matrix, vectors):
    """The product with vectors (k, 3), as (k, 3)."""
    blocks, starts, columns = matrix
    result = np.empty(vectors.shape)
    for c in range(vectors.shape[0]):
        r0, r1, r2 = 0.0, 0.0, 0.0
        for m in range(starts[c], starts[c + 1]):
            d, b = columns[m], blocks[m]
            v0, v1, v2 = vectors[d, 0], vectors[d, 1], vectors[d, 2]
            r0 += b[0, 0] * v0 + b[0, 1] * v1 + b[0, 2] * v2
            r1 += b[1, 0] * v0 + b[1, 1] * v1 + b[1, 2] * v2
            r2 += b[2, 0] * v0 + b[2, 1] * v1 + b[2, 2] * v2
        result[c, 0], result[c, 1], result[c, 2] = r0, r1, r2
    return result


@kernel
def equations(matrix, left, diagonal, keep):
    """Rows of L A + D in compressed form, of the contacts that are kept.

    Args:
        matrix: A.
        left: blocks of L, which is zero elsewhere (k, 3, 3).
        diagonal: blocks of D, which is zero elsewhere (k, 3, 3).
        keep: (k,); the others are left out.

    Returns:
        entries, their columns, and the first entry of each row.
    """
    blocks, starts, columns = matrix
    n = keep.shape[0]
    place, kept = np.full(n, -1), 0
    for c in range(n):
        if keep[c]:
            place[c] = kept
            kept += 1
    entries = np.empty(9 * blocks.shape[0])
    at = np.empty(9 * blocks.shape[0], np.int32)
    begins = np.zeros(3 * kept + 1, np.int32)
    count = 0
    for c in range(n):
        if not keep[c]:
            continue
        for i in range(3):
            l0, l1, l2 = left[c, i, 0], left[c, i, 1], left[c, i, 2]
            for m in range(starts[c], starts[c + 1]):
                d, b = columns[m], blocks[m]
                if place[d] < 0:
                    continue
                for j in range(3):
                    entry = l0 * b[0, j] + l1 * b[1, j] + l2 * b[2, j]
                    if d == c:
                        entry += diagonal[c, i, j]
                    if entry != 0.0:
                        entries[count] = entry
                        at[count] = 3 * place[d] + j
                        count += 1
            begins[3 * place[c] + i + 1] = count
    return entries[:count], at[:count], begins


@kernel
def sweep_blocks(matrix, free, friction, forces, sweeps):
    """Gauss-Seidel forth and back: each force steps against its motion, to its cone.

    The step is along De Saxce's motion, by the stiffest direction of the contact;
    changes the forces, which come near to a solution. Friction must be finite, zero
    where a contact has no tangents.
    """
    blocks, starts, columns = matrix
    n = forces.shape[0]
    step = np.empty(n)
    for c in range(n):
        for m in range(starts[c], starts[c + 1]):
            if columns[m] == c:
                b = blocks[m]
                # The largest eigenvalue is below the sum of a row, and the norm.
                rows = 1e-300
                for i in range(3):
                    rows = max(rows, abs(b[i, 0]) + abs(b[i, 1]) + abs(b[i, 2]))
                step[c] = 1.0 / min(rows, max(1e-300, np.sqrt((b * b).sum())))
    for s in range(sweeps):
        for count in range(n):
            c = count if s % 2 == 0 else n - 1 - count
            mu = friction[c]
            u0, u1, u2 = free[c, 0], free[c, 1], free[c, 2]
            for m in range(starts[c], starts[c + 1]):
                d, b = columns[m], blocks[m]
                f0, f1, f2 = forces[d, 0], forces[d, 1], forces[d, 2]
                u0 += b[0, 0] * f0 + b[0, 1] * f1 + b[0, 2] * f2
                u1 += b[1, 0] * f0 + b[1, 1] * f1 + b[1, 2] * f2
                u2 += b[2, 0] * f0 + b[2, 1] * f1 + b[2, 2] * f2
            u0 += mu * np.sqrt(u1 * u1 + u2 * u2)
            normal = forces[c, 0] - step[c] * u0
            t1, t2 = forces[c, 1] - step[c] * u1, forces[c, 2] - step[c] * u2
            along = np.sqrt(t1 * t1 + t2 * t2)
            if mu * along <= -normal:
                normal, t1, t2 = 0.0, 0.0, 0.0
            elif along > mu * normal:
                normal = (normal + mu * along) / (1.0 + mu * mu)
                t1 *= mu * normal / along
                t2 *= mu * normal / along
            forces[c, 0], forces[c, 1], forces[c, 2] = normal, t1, t2


@kernel
def law_of(matrix, problem, forces):
    """Alart and Curnier's functions, their length, and the slope of the projection.

    Args:
        matrix: W.
        problem: free motion (k, 3), tangents (k,) and friction (k,).
        forces: (k, 3).

    Returns:
        errors (k, 3), zero where the law holds; their length; D (k, 3, 3), the
        derivative of the projection on the cones.
    """
    free, tangents, friction = problem
    n = forces.shape[0]
    motion = times(matrix, forces)
    errors, slope = np.empty((n, 3)), np.zeros((n, 3, 3))
    total = 0.0
    for c in range(n):
        mu, held = friction[c], np.isinf(friction[c])
        pressed = forces[c, 0] - motion[c, 0] - free[c, 0]
        closed = pressed > 0.0
        pressed = max(0.0, pressed)
        slope[c, 0, 0] = 1.0 if closed else 0.0
        p1 = forces[c, 1] - motion[c, 1] - free[c, 1] if tangents[c] > 0 else 0.0
        p2 = forces[c, 2] - motion[c, 2] - free[c, 2] if tangents[c] > 1 else 0.0
        length, ratio = np.sqrt(p1 * p1 + p2 * p2), 1.0
        if tangents[c] > 0:
            if held or (closed and length <= mu * pressed):
                slope[c, 1, 1] = 1.0
                slope[c, 2, 2] = 1.0 if tangents[c] > 1 else 0.0
            elif length > mu * pressed:
                ratio = mu * pressed / length
                d1, d2 = p1 / length, p2 / length
                if closed:
                    slope[c, 1, 0], slope[c, 2, 0] = mu * d1, mu * d2
                if tangents[c] > 1:
                    slope[c, 1, 1] = ratio * (1.0 - d1 * d1)
                    slope[c, 2, 2] = ratio * (1.0 - d2 * d2)
                    slope[c, 1, 2] = slope[c, 2, 1] = -ratio * d1 * d2
        errors[c, 0] = forces[c, 0] - pressed
        errors[c, 1] = forces[c, 1] - ratio * p1
        errors[c, 2] = forces[c, 2] - ratio * p2
        for i in range(3):
            total += errors[c, i] ** 2
    return errors, np.sqrt(total), slope
