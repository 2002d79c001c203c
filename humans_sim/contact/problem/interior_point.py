# SPDX-License-Identifier: Apache-2.0
r"""Interior points: near to a solution of the contact problem, from any start.

De Saxce's form of the law: with :math:`\mu |u_t|` added to the normal motion, motion
and force lie in cones that are dual to each other, and their product is zero. In the
variables :math:`x = (u_n + \mu |u_t|, \mu u_t)` and :math:`y = (f_n, f_t / \mu)` both
cones are the same, :math:`x_0 \ge |\bar x|`, and

.. math:: x = Q W Q\, y + Q b + |\bar x| e_0, \qquad x \circ y = \nu e

is a smooth path that leads to the solution as :math:`\nu` goes to zero. It is followed
by Newton steps that stay inside the cones (cf. Acary, Armand, Nguyen and Shpakovych
2023). Here the slip :math:`|\bar x|` is differentiated with the rest, which is quick;
with a part of its derivative left out the steps are those of a problem nearer to a
convex one, and longer where the others end at the cones.

Tangents that are held whatever the normal force (infinite friction) are bound to no
cone: W f + b = 0 is their equation.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.problem.block_matrix import (
    BlockMatrix,
    factor_blocks,
    solve_blocks,
    times,
)
from humans_sim.core.kernels import kernel

_CENTRING = 0.1
_RECENTRING, _FULL = 0.8, 0.8
_INSIDE = 0.95
_NEAR = 1e-8


@kernel
def in_one_cone(problem):
    """Q W Q, Q b and Q (k, 3); tangents that are missing or frictionless are zero."""
    matrix, free, tangents, friction = problem
    blocks, starts, columns = matrix
    n = friction.shape[0]
    factor, shift = np.zeros((n, 3)), np.empty((n, 3))
    for c in range(n):
        factor[c, 0] = 1.0
        for i in range(tangents[c]):
            factor[c, 1 + i] = 1.0 if np.isinf(friction[c]) else friction[c]
        for i in range(3):
            shift[c, i] = factor[c, i] * free[c, i]
    scaled = np.empty(blocks.shape)
    for c in range(n):
        for m in range(starts[c], starts[c + 1]):
            for i in range(3):
                for j in range(3):
                    scaled[m, i, j] = (
                        factor[c, i] * blocks[m, i, j] * factor[columns[m], j]
                    )
    return BlockMatrix(scaled, starts, columns), shift, factor


@kernel
def path_step(cone, kinds, solver, point, slip, share):
    """One Newton step along the path; changes the point.

    Args:
        cone: Q W Q and Q b.
        kinds: tangents and friction of the contacts.
        solver: elimination and memory for the factors.
        point: x and y (k, 3), inside the cones.
        slip: part of the derivative of the slip that is taken.
        share: of the step before that was taken.

    Returns:
        the share of the step that was taken; 0 where the path ends.
    """
    matrix, shift = cone
    tangents, friction = kinds
    elimination, factors = solver
    x, y = point
    n = x.shape[0]
    errors, right = np.empty((n, 3)), np.empty((n, 3))
    left, diagonal = np.zeros((n, 3, 3)), np.zeros((n, 3, 3))
    size, worst, gap = 0.0, 0.0, 0.0
    for c in range(n):
        for i in range(3):
            gap += x[c, i] * y[c, i] / n
            size = max(size, abs(shift[c, i]))
    times(matrix, y, errors)
    # A step that was cut short has come near to the cones: back to the middle.
    target = gap * (_CENTRING if share > _FULL else _RECENTRING)
    for c in range(n):
        for i in range(3):
            errors[c, i] = x[c, i] - errors[c, i] - shift[c, i]
        along = np.sqrt(x[c, 1] ** 2 + x[c, 2] ** 2)
        errors[c, 0] -= along
        for i in range(3):
            worst = max(worst, abs(errors[c, i]))
            left[c, i, i], diagonal[c, i, i] = y[c, 0], x[c, 0]
        if tangents[c] > 0 and np.isinf(friction[c]):
            left[c, 1, 1] = left[c, 2, 2] = 1.0
            diagonal[c, 1, 1] = 0.0
            diagonal[c, 2, 2] = 1.0 if tangents[c] == 1 else 0.0
            right[c, 0] = target - x[c, 0] * y[c, 0] + y[c, 0] * errors[c, 0]
            right[c, 1], right[c, 2] = errors[c, 1], errors[c, 2]
            continue
        for i in range(1, 3):
            left[c, 0, i] = left[c, i, 0] = y[c, i]
            diagonal[c, 0, i] = diagonal[c, i, 0] = x[c, i]
        right[c, 0] = target
        for i in range(1, 3):
            right[c, i] = 0.0
            if along > 0.0:
                part = slip * x[c, i] / along
                for j in range(3):
                    left[c, j, i] += left[c, j, 0] * part
        for i in range(3):
            for j in range(3):
                right[c, i] -= diagonal[c, i, j] * y[c, j]
                right[c, i] += left[c, i, j] * errors[c, j]
    if max(worst, np.sqrt(max(gap, 0.0))) < _NEAR * size:
        return 0.0
    if not factor_blocks(matrix, left, diagonal, elimination, factors):
        return 0.0
    solve_blocks(elimination, factors, right)
    moved = np.empty((n, 3))
    times(matrix, right, moved)
    share = 1.0
    for c in range(n):
        for i in range(3):
            moved[c, i] -= errors[c, i]
        if tangents[c] > 0 and np.isinf(friction[c]):
            share = min(share, _INSIDE * _room_of_normal(x[c, 0], moved[c, 0]))
            share = min(share, _INSIDE * _room_of_normal(y[c, 0], right[c, 0]))
            moved[c, 1] = moved[c, 2] = 0.0
            continue
        along = np.sqrt(x[c, 1] ** 2 + x[c, 2] ** 2)
        if along > 0.0:
            along = slip / along
            moved[c, 0] += along * (x[c, 1] * moved[c, 1] + x[c, 2] * moved[c, 2])
        share = min(share, _INSIDE * _room(x[c], moved[c]))
        share = min(share, _INSIDE * _room(y[c], right[c]))
    for c in range(n):
        for i in range(3):
            x[c, i] += share * moved[c, i]
            y[c, i] += share * right[c, i]
    return share


@kernel
def _room_of_normal(x, dx):
    """Largest step that leaves a number above zero."""
    return -x / dx if dx < 0.0 else np.inf


@kernel
def _room(x, dx):
    """Largest step from inside the cone to its surface."""
    room = _room_of_normal(x[0], dx[0])
    a = dx[0] ** 2 - dx[1] ** 2 - dx[2] ** 2
    b = x[0] * dx[0] - x[1] * dx[1] - x[2] * dx[2]
    c = x[0] ** 2 - x[1] ** 2 - x[2] ** 2
    # Smallest root above zero of a t^2 + 2 b t + c.
    square = b * b - a * c
    if b < 0.0:
        if square >= 0.0:
            room = min(room, c / (np.sqrt(square) - b))
    elif a < 0.0:
        room = min(room, -(b + np.sqrt(square)) / a)
    return room
