# SPDX-License-Identifier: Apache-2.0
r"""The law of contact: violation and modes of forces, and motion with fixed modes.

See :mod:`~humans_sim.contact.problem.contact_problem`.

*Motion with fixed modes.* Between two events each closed contact either sticks (no
acceleration along its normal and its tangents) or slides (none along its normal, and a
friction force of known direction). Then the acceleration follows from linear equations:

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
    """Modes of k contacts, and the forces that they are near.

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


class ContactProblem(NamedTuple):
    """Contacts whose forces are sought, in any one scale of motion and force.

    Kernels take it as it is or as a plain tuple.

    Attributes:
        delassus: W (3k, 3k).
        free: b, motion without contact forces (k, 3) [m/s^2, or m/s].
        tangents: number of tangents of each contact (k,).
        friction: (k,); infinite for the sticking law.
        sliding: unit directions in which contacts slide already (k, 2); zero where they
            do not.
    """

    delassus: np.ndarray
    free: np.ndarray
    tangents: np.ndarray
    friction: np.ndarray
    sliding: np.ndarray


@kernel
def motion_of(delassus, free, forces, c, u):
    """Motion u of contact c."""
    for i in range(3):
        total = free[c, i]
        for d in range(forces.shape[0]):
            for j in range(3):
                total += delassus[3 * c + i, 3 * d + j] * forces[d, j]
        u[i] = total


@kernel
def is_sliding(sliding, c):
    """Whether the direction of friction of contact c is known."""
    return sliding[c, 0] != 0.0 or sliding[c, 1] != 0.0


@kernel
def residual_of(problem, forces):
    """Largest violation of the law, relative to the free motion.

    Motion and force are compared in the units of motion, by the diagonal of W.
    """
    delassus, free, tangents, friction, sliding = problem
    n = forces.shape[0]
    if not np.isfinite(forces).all():
        return np.inf
    size = 1e-300
    stiffness = 0.0
    for c in range(n):
        stiffness = max(stiffness, delassus[3 * c, 3 * c])
        for i in range(1 + tangents[c]):
            size = max(size, abs(free[c, i]))
    worst = 0.0
    u = np.empty(3)
    for c in range(n):
        motion_of(delassus, free, forces, c, u)
        mobility = max(delassus[3 * c, 3 * c], 1e-9 * stiffness)
        kind = (tangents[c], friction[c], sliding[c])
        worst = max(worst, violation(mobility, u, forces[c], kind))
    return worst / size


@kernel(borrows=True)
def violation(w, u, f, kind):
    """Violation of the law by one contact, in the units of motion.

    Args:
        w: its mobility, by which forces are compared with motion.
        u: its motion (3,).
        f: its force (3,).
        kind: number of its tangents, its friction, its known direction of sliding.
    """
    tangents, mu, sliding = kind
    # 0 <= u_n, f_n, and one of them zero
    worst = abs(u[0] - max(0.0, u[0] - w * f[0]))
    if f[0] < 0.0:
        worst = max(worst, -w * f[0])
    if tangents == 0 or mu == 0.0:
        return worst
    if sliding[0] != 0.0 or sliding[1] != 0.0:
        for i in range(2):
            worst = max(worst, w * abs(f[1 + i] + mu * f[0] * sliding[i]))
        return worst
    if np.isinf(mu):
        for i in range(tangents):
            worst = max(worst, abs(u[1 + i]))
        return worst
    # f_t is the projection of f_t - u_t / w on the disc of radius mu f_n
    p1, p2 = f[1] - u[1] / w, f[2] - u[2] / w
    if tangents == 1:
        p2 = 0.0
    length, radius = np.sqrt(p1 * p1 + p2 * p2), mu * max(0.0, f[0])
    if length > radius:
        p1 *= radius / length
        p2 *= radius / length
    return max(worst, w * abs(f[1] - p1), w * abs(f[2] - p2))


@kernel
def modes_of(forces, tangents, friction, sliding):
    """Modes of contacts, read off their forces."""
    n = forces.shape[0]
    mode = np.zeros(n, np.int64)
    load = 0.0
    for c in range(n):
        load = max(load, abs(forces[c, 0]))
    for c in range(n):
        if forces[c, 0] <= 1e-10 * load or load == 0.0:
            mode[c] = OPEN
        elif tangents[c] == 0 or np.isinf(friction[c]):
            mode[c] = STICK
        elif friction[c] == 0.0 or is_sliding(sliding, c):
            mode[c] = SLIDE
        else:
            along = np.sqrt(forces[c, 1] ** 2 + forces[c, 2] ** 2)
            on_cone = along >= (1.0 - 1e-7) * friction[c] * forces[c, 0]
            mode[c] = SLIDE if on_cone else STICK
    return mode


ACCEPTED = 1e-10
"""Relative residual with which a solver may end."""


@kernel
def better(problem, forces, best, residual):
    """Keep the forces, or what polishing makes of them, where they are better."""
    for trial in (forces, polished(problem, forces)):
        trial_residual = residual_of(problem, trial)
        if trial_residual < residual:
            residual = trial_residual
            best[:] = trial
    return residual


@kernel
def polished(problem, forces):
    """Solve the linear equations of the modes that the forces show."""
    delassus, free, tangents, friction, sliding = problem
    n = forces.shape[0]
    mode = modes_of(forces, tangents, friction, sliding)
    direction = np.zeros((n, 2))
    for c in range(n):
        if mode[c] == SLIDE:
            if is_sliding(sliding, c):
                direction[c] = sliding[c]
            elif friction[c] > 0.0:
                along = np.sqrt(forces[c, 1] ** 2 + forces[c, 2] ** 2)
                direction[c, 0] = -forces[c, 1] / along
                direction[c, 1] = -forces[c, 2] / along
    polished = forces.copy()
    size = 0
    row = np.full((n, 3), -1)
    for c in range(n):
        held = np.isinf(friction[c]) and tangents[c] > 0
        count = 0
        if mode[c] == SLIDE:
            count = 1
        elif mode[c] == STICK:
            count = 1 + tangents[c]
        if mode[c] != OPEN:
            row[c, 0] = size
            size += 1
        if held or (mode[c] == STICK and count > 1):
            for i in range(tangents[c]):
                row[c, 1 + i] = size
                size += 1
    if size == 0:
        return np.zeros((n, 3))
    matrix, right = np.zeros((size, size)), np.zeros(size)
    start, idle = np.zeros(size), np.zeros((size, size))
    u = np.empty(3)
    for _ in range(60):
        for c in range(n):
            for i in range(3):
                if row[c, i] < 0:
                    continue
                r = row[c, i]
                right[r] = -free[c, i]
                start[r] = polished[c, i]
                for d in range(n):
                    for j in range(3):
                        if row[d, j] < 0:
                            continue
                        entry = delassus[3 * c + i, 3 * d + j]
                        if j == 0 and mode[d] == SLIDE and not np.isinf(friction[d]):
                            for t in range(tangents[d]):
                                entry -= (
                                    friction[d]
                                    * direction[d, t]
                                    * delassus[3 * c + i, 3 * d + 1 + t]
                                )
                        matrix[r, row[d, j]] = entry
        x, _ = deflated_solve(matrix, right, idle, start)
        for c in range(n):
            for i in range(3):
                polished[c, i] = x[row[c, i]] if row[c, i] >= 0 else 0.0
            if mode[c] == SLIDE:
                for t in range(tangents[c]):
                    polished[c, 1 + t] = -friction[c] * direction[c, t] * polished[c, 0]
        moved = 0.0
        for c in range(n):
            if mode[c] != SLIDE or friction[c] == 0.0 or tangents[c] < 2:
                continue
            if is_sliding(sliding, c):
                continue
            motion_of(delassus, free, polished, c, u)
            along = np.sqrt(u[1] ** 2 + u[2] ** 2)
            if along > 0.0:
                for t in range(2):
                    moved = max(moved, abs(direction[c, t] - u[1 + t] / along))
                    direction[c, t] = u[1 + t] / along
        if moved < 1e-14:
            break
    return polished
