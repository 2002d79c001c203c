# SPDX-License-Identifier: Apache-2.0
r"""Acceleration of a system whose contacts keep their modes.

Between two events each closed contact either sticks (no acceleration along its normal
and its tangents) or slides (none along its normal, and a friction force of known
direction). Then the acceleration follows from linear equations:

.. math:: M a + N = \tau + \sum_i J_i^T f_i, \qquad J_c a + s = 0.

Several points of one rigid foot are redundant: a is unique, the forces are not. The
rows are solved by iterations that start at reference forces; along the directions in
which forces do (next to) nothing, given as a projector (:func:`idle_forces`), they stay
at the reference. Next to nothing matters: two feet on the ground without hip yaw can
turn against each other only to second order, and holding that with force alone would
take tons.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.dense_kernels import (
    backward,
    cholesky,
    forward_rows,
    lu_factor,
    lu_solve,
)
from humans_sim.core.kernels import kernel

OPEN, STICK, SLIDE = 0, 1, 2
"""Modes of a contact; the numbers are those of the ROS message ContactPoint."""

_PROXIMAL = 1e-9
_ITERATIONS = 25
_RESIDUAL = 1e-14


class ModeArrays(NamedTuple):
    """What each of k contacts does, and near which forces.

    Attributes:
        mode: STICK or SLIDE (k,); OPEN contacts carry no force.
        tangents: number of tangential rows (k,).
        friction: (k,).
        direction: unit directions of sliding (k, 2).
        reference: forces the solution shall be near to (k, 3) [N].
        idle: projector on forces without effect, by :func:`idle_forces`.
    """

    mode: np.ndarray
    tangents: np.ndarray
    friction: np.ndarray
    direction: np.ndarray
    reference: np.ndarray
    idle: np.ndarray


IDLE = 1e-8
"""Mobility, relative to the largest, below which a force does next to nothing."""


def idle_forces(
    mass: np.ndarray, rows: np.ndarray, mode: np.ndarray, tangents: np.ndarray
) -> np.ndarray:
    """Projector on the contact forces that move the system next to nothing.

    Over the rows that :func:`constrained_acceleration` solves: normal and tangents of
    sticking contacts, the normal of sliding ones.
    """
    used = [
        rows[c, : 1 + (tangents[c] if mode[c] == STICK else 0)]
        for c in np.flatnonzero(mode)
    ]
    if not used:
        return np.zeros((0, 0))
    flat = np.concatenate(used)
    mobility = flat @ np.linalg.solve(mass, flat.T)
    values, vectors = np.linalg.eigh(0.5 * (mobility + mobility.T))
    null = vectors[:, values < IDLE * max(values[-1], 1e-300)]
    return np.ascontiguousarray(null @ null.T)


@kernel
def deflated_solve(matrix, right, idle, start):
    """Solve matrix x = right, x staying at ``start`` along the idle directions.

    Returns x and the largest residual, relative.
    """
    n = right.shape[0]
    scale = 0.0
    for k in range(n):
        scale += abs(matrix[k, k])
    scale /= n
    if scale == 0.0:
        scale = 1.0
    factors = matrix + scale * idle
    for k in range(n):
        factors[k, k] += _PROXIMAL * scale
    order = np.empty(n, np.int64)
    x = start.copy()
    if not lu_factor(factors, order):
        return x, np.inf
    size = 1e-300
    for k in range(n):
        size = max(size, abs(right[k]))
    before = np.inf
    step = np.empty(n)
    for _ in range(_ITERATIONS):
        worst = 0.0
        for k in range(n):
            total = right[k]
            for j in range(n):
                total -= matrix[k, j] * x[j]
            step[k] = total
            worst = max(worst, abs(total))
        if worst <= _RESIDUAL * size or worst >= 0.5 * before:
            return x, worst / size
        before = worst
        lu_solve(factors, order, step)
        for k in range(n):
            x[k] += step[k]
    return x, before / size


@kernel
def constrained_acceleration(mass, force, rows, drift, modes):
    """Acceleration and contact forces while the modes stay.

    Args:
        mass: (nv, nv).
        force: torques minus bias (nv,).
        rows: contact Jacobians (k, 3, nv).
        drift: (k, 3), stabilising terms included.
        modes: what the contacts do, a :class:`ModeArrays`.

    Returns:
        acceleration (nv,), forces (k, 3), the largest relative residual: above 1e-6
        the rows contradict each other.
    """
    mode, tangents, friction, direction, reference, idle = modes
    nv, k = force.shape[0], mode.shape[0]
    forces = np.zeros((k, 3))
    factor = np.zeros((nv, nv))
    if not cholesky(mass, factor):
        return force, forces, np.inf
    column = force.copy().reshape(nv, 1)
    forward_rows(factor, column)
    free = column.ravel()
    m = 0
    for c in range(k):
        if mode[c] == STICK:
            m += 1 + tangents[c]
        elif mode[c] == SLIDE:
            m += 1
    if m == 0:
        acceleration = free
        backward(factor, acceleration)
        return acceleration, forces, 0.0
    constraint = np.zeros((nv, m))
    applied = np.zeros((nv, m))
    right, start = np.empty(m), np.empty(m)
    slides = False
    r = 0
    for c in range(k):
        if mode[c] == OPEN:
            continue
        count = 1 + tangents[c] if mode[c] == STICK else 1
        for i in range(count):
            for j in range(nv):
                constraint[j, r + i] = rows[c, i, j]
                applied[j, r + i] = rows[c, i, j]
            right[r + i] = -drift[c, i]
            start[r + i] = reference[c, i]
        if mode[c] == SLIDE and tangents[c] and friction[c] > 0.0:
            slides = True
            for i in range(tangents[c]):
                push = friction[c] * direction[c, i]
                for j in range(nv):
                    applied[j, r] -= push * rows[c, 1 + i, j]
        r += count
    forward_rows(factor, constraint)
    if slides:
        forward_rows(factor, applied)
    else:
        applied = constraint
    delassus = constraint.T @ applied
    right -= constraint.T @ free
    x, residual = deflated_solve(delassus, right, idle, start)
    acceleration = free + applied @ x
    backward(factor, acceleration)
    r = 0
    for c in range(k):
        if mode[c] == STICK:
            for i in range(1 + tangents[c]):
                forces[c, i] = x[r + i]
            r += 1 + tangents[c]
        elif mode[c] == SLIDE:
            forces[c, 0] = x[r]
            for i in range(tangents[c]):
                forces[c, 1 + i] = -friction[c] * direction[c, i] * x[r]
            r += 1
    return acceleration, forces, residual
