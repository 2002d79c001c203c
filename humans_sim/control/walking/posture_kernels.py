# SPDX-License-Identifier: Apache-2.0
"""The search for a posture of given feet and centre of mass, in one compiled call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.dense_kernels import cholesky_solve
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.tree_kernels import (
    TreeState,
    TreeTable,
    tree_columns,
    tree_poses,
    tree_state,
)

STEPS = 50
LONGEST = 0.3
"""Longest step of the search [rad]."""
_TURN = -0.5
"""Cosine of the largest turn between a sole and its target."""


class PostureTask(NamedTuple):
    """The posture that is sought, and how.

    Attributes:
        links: that carry the two soles (2,).
        turn: of the soles in their links (2, 3, 3).
        place: of the soles in their links (2, 3) [m].
        moves: whether a velocity moves a sole (2, nv).
        rows: of the error that count: centre of mass, then shift and turn of both
            soles (m,).
        columns: velocities that are free: those of the base, then the legs' (n,).
        low: least angles of the legs (n - 3,) [rad].
        high: largest angles (n - 3,) [rad].
    """

    links: np.ndarray
    turn: np.ndarray
    place: np.ndarray
    moves: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray


@kernel
def _turn_to(target, turn, out):
    """Rotation vector from one orientation to another; False where it is far."""
    r = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                r[i, j] += target[i, k] * turn[j, k]
    out[0] = 0.5 * (r[2, 1] - r[1, 2])
    out[1] = 0.5 * (r[0, 2] - r[2, 0])
    out[2] = 0.5 * (r[1, 0] - r[0, 1])
    cosine = 0.5 * (r[0, 0] + r[1, 1] + r[2, 2] - 1.0)
    sine = np.sqrt(out[0] ** 2 + out[1] ** 2 + out[2] ** 2)
    if sine > 0.0:
        scale = np.arctan2(sine, cosine) / sine
        for i in range(3):
            out[i] *= scale
    return cosine > _TURN


@kernel
def search_posture(tree, task, target, q, damping, close):
    """Damped Newton steps within limits; the largest error left, infinite if far.

    Args:
        tree: fields of a :class:`~humans_sim.dynamics.tree_kernels.TreeTable`.
        task: fields of a :class:`PostureTask`.
        target: centre of mass (3,), poses of the soles (2, 4, 4), axes along which
            their turns are looked at, as columns (2, 3, 3).
        q: configuration to begin with; becomes the posture.
        damping: of the steps.
        close: error at which the search ends.
    """
    rows, columns, low, high = task[4], task[5], task[6], task[7]
    n = columns.shape[0]
    state = tree_state(tree, task[3].shape[1])
    rotation = TreeState(*state).rotation
    error, matrix = np.zeros(15), np.zeros((15, n))
    normal, step = np.empty((n, n)), np.empty(n)
    worst = np.inf
    for _ in range(STEPS):
        near = _terms((tree, task, columns), target, q, state, error, matrix)
        if not near:
            return np.inf
        worst = 0.0
        for r in rows:
            worst = max(worst, abs(error[r]))
        if worst < close:
            return worst
        if not _damped_step(matrix, error, rows, damping, normal, step):
            return np.inf
        longest = 0.0
        for a in range(n):
            longest = max(longest, abs(step[a]))
        share = 1.0 if longest <= LONGEST else LONGEST / longest
        for i in range(3):
            for j in range(3):
                q[i] += rotation[0, i, j] * share * step[j]
        for a in range(3, n):
            k = columns[a] + 1
            q[k] = min(high[a - 3], max(low[a - 3], q[k] + share * step[a]))
    return worst


@kernel
def posture_rates(tree, task, target, q, damping, motion):
    """Velocities (nv,) of a posture whose soles and centre of mass move.

    Args:
        tree: fields of a :class:`~humans_sim.dynamics.tree_kernels.TreeTable`.
        task: fields of a :class:`PostureTask`.
        target: as of :func:`search_posture`.
        q: the posture.
        damping: of least squares.
        motion: rates of the centre of mass and both soles in the world (15,),
            velocities that are given (k,), and their values (k,).
    """
    rates, known, values = motion
    moves, rows, columns, looked = task[3], task[4], task[5], target[2]
    n, m, nv = columns.shape[0], known.shape[0], moves.shape[1]
    state, v = tree_state(tree, nv), np.zeros(nv)
    error, matrix, step = np.zeros(15), np.zeros((15, n + m)), np.empty(n)
    _terms((tree, task, np.append(columns, known)), target, q, state, error, matrix)
    for i in range(15):
        error[i] = rates[i]
    for s in range(2):
        first = 6 + 6 * s
        for i in range(3):
            error[first + i] = 0.0
            for k in range(3):
                error[first + i] += looked[s, k, i] * rates[first + k]
    for i in range(15):
        for k in range(m):
            error[i] -= matrix[i, n + k] * values[k]
    if not _damped_step(matrix, error, rows, damping, np.empty((n, n)), step):
        v[:] = np.nan
        return v
    for k in range(m):
        v[known[k]] = values[k]
    for a in range(n):
        v[columns[a]] = step[a]
    return v


@kernel
def _terms(parts, target, q, state, error, matrix):
    """Fill what is missing and the Jacobian; False where a sole is turned far away.

    Parts are tree, task, and the velocities that the matrix (15, n) has columns of; the
    error (15,), the matrix and the state of the tree are changed.
    """
    tree, task, columns = parts
    links, turn, place, moves = task[0], task[1], task[2], task[3]
    com, poses, looked = target
    n = columns.shape[0]
    table = TreeTable(*tree)
    parent, mass, centre = table.parent, table.mass, table.centre
    rotation, at, jacobian, inertia, _ = state
    own, away = np.empty((3, 3)), np.empty(3)
    tree_poses(tree, q, state)
    tree_columns(tree, state)
    # Masses and first moments, then those of all that each joint carries.
    for b in range(parent.shape[0]):
        inertia[b, 0] = mass[b]
        for i in range(3):
            middle = at[b, i]
            for j in range(3):
                middle += rotation[b, i, j] * centre[b, j]
            inertia[b, 1 + i] = mass[b] * middle
    for b in range(parent.shape[0] - 1, 0, -1):
        for i in range(4):
            inertia[parent[b], i] += inertia[b, i]
    whole = inertia[0, 0]
    for i in range(3):
        error[i] = com[i] - inertia[0, 1 + i] / whole
    for c in range(n):
        _column(jacobian, columns[c], inertia[max(columns[c] - 5, 0)], matrix, c)
        for i in range(3):
            matrix[i, c] /= whole
    for s in range(2):
        b, point = links[s], at[links[s]].copy()
        for i in range(3):
            for j in range(3):
                point[i] += rotation[b, i, j] * place[s, j]
                own[i, j] = 0.0
                for k in range(3):
                    own[i, j] += rotation[b, i, k] * turn[s, k, j]
        first = 3 + 6 * s
        for i in range(3):
            error[first + i] = poses[s, i, 3] - point[i]
        if not _turn_to(poses[s], own, away):
            return False
        for i in range(3):
            error[first + 3 + i] = 0.0
            for k in range(3):
                error[first + 3 + i] += looked[s, k, i] * away[k]
        for c in range(n):
            j = columns[c]
            w0, w1, w2 = jacobian[3, j], jacobian[4, j], jacobian[5, j]
            here = 1.0 if moves[s, j] else 0.0
            matrix[first, c] = jacobian[0, j] + w1 * point[2] - w2 * point[1]
            matrix[first + 1, c] = jacobian[1, j] + w2 * point[0] - w0 * point[2]
            matrix[first + 2, c] = jacobian[2, j] + w0 * point[1] - w1 * point[0]
            for i in range(3):
                matrix[first + i, c] *= here
                turned = looked[s, 0, i] * w0 + looked[s, 1, i] * w1
                matrix[first + 3 + i, c] = here * (turned + looked[s, 2, i] * w2)
    return True


@kernel
def _damped_step(matrix, error, rows, damping, normal, step):
    """Least squares of some rows into ``step``; False where it has no answer."""
    n = step.shape[0]
    for a in range(n):
        step[a] = 0.0
        for r in rows:
            step[a] += matrix[r, a] * error[r]
        for b in range(a + 1):
            normal[a, b] = damping if a == b else 0.0
            for r in rows:
                normal[a, b] += matrix[r, a] * matrix[r, b]
    return cholesky_solve(normal, step)


@kernel
def _column(jacobian, j, carried, matrix, c):
    """The motion of the centre of mass of the part that a velocity carries."""
    m, h0, h1, h2 = carried[0], carried[1], carried[2], carried[3]
    w0, w1, w2 = jacobian[3, j], jacobian[4, j], jacobian[5, j]
    matrix[0, c] = m * jacobian[0, j] + w1 * h2 - w2 * h1
    matrix[1, c] = m * jacobian[1, j] + w2 * h0 - w0 * h2
    matrix[2, c] = m * jacobian[2, j] + w0 * h1 - w1 * h0
