# SPDX-License-Identifier: Apache-2.0
r"""Compiled parts of the smoother: banded normal equations of a whole motion.

Accelerations are second differences over the sampling times; those of the base's
rotation are differences of :math:`\omega_k = \log(R_{k+1} R_k^T)`, whose derivatives
by turns of both frames about the world's axes are the inverse Jacobians of SO(3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.observation.posture.kernels import (
    NormalEquations,
    PostureGoal,
    cost_at,
    normal_equations,
)
from humans_sim.observation.posture.tree_kernels import empty_poses, place, points

TURN = 3
"""First of the three coordinates that turn the base."""


class MotionGoal(NamedTuple):
    """Markers that a motion of n frames explains, and its smoothness.

    Attributes:
        y: measured markers (n, m, 3) [m].
        weight: of them; 0 for those not seen (n, m).
        scale: of the loss [m].
        prior: how strongly joints are pulled (nv - 6,) [m^2].
        middle: where to (nv - 6,) [rad].
        times: of the frames (n,) [s].
        stiffness: weights of squared accelerations (nv,).
    """

    y: np.ndarray
    weight: np.ndarray
    scale: float
    prior: np.ndarray
    middle: np.ndarray
    times: np.ndarray
    stiffness: np.ndarray


class BandedEquations(NamedTuple):
    """Normal equations of a motion of n frames.

    Attributes:
        band: row c holds the matrix below its diagonal at column c (n nv, 3 nv).
        vector: right-hand side (n nv,).
    """

    band: np.ndarray
    vector: np.ndarray


@kernel
def _frame(goal, k):
    """The goal of one frame."""
    return PostureGoal(goal.y[k], goal.weight[k], goal.scale, goal.prior, goal.middle)


@kernel
def rotation_between(a, b):
    """Vector of the turn, about world axes, that takes quaternion a to b."""
    x = -b[3] * a[0] + b[0] * a[3] - b[1] * a[2] + b[2] * a[1]
    y = -b[3] * a[1] + b[0] * a[2] + b[1] * a[3] - b[2] * a[0]
    z = -b[3] * a[2] - b[0] * a[1] + b[1] * a[0] + b[2] * a[3]
    w = b[3] * a[3] + b[0] * a[0] + b[1] * a[1] + b[2] * a[2]
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    s = np.sqrt(x * x + y * y + z * z)
    factor = 2.0 if s < 1e-9 else 2.0 * np.arctan2(s, w) / s
    return np.array([factor * x, factor * y, factor * z])


@kernel
def inverse_jacobian(turn, left):
    """Inverse left (or right) Jacobian of SO(3) at a rotation vector (3, 3)."""
    angle = np.sqrt(np.sum(turn * turn))
    if angle < 1e-4:
        square = 1.0 / 12.0
    else:
        square = (1.0 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2
    half = -0.5 if left else 0.5
    skew = np.array(
        [[0.0, -turn[2], turn[1]], [turn[2], 0.0, -turn[0]], [-turn[1], turn[0], 0.0]]
    )
    return np.eye(3) + half * skew + square * (skew @ skew)


@kernel
def accelerations(q, times, out):
    """Accelerations of base and joints at the inner samples (n - 2, nv)."""
    n = q.shape[0]
    for k in range(1, n - 1):
        before, after = times[k] - times[k - 1], times[k + 1] - times[k]
        whole = 0.5 * (before + after)
        for a in range(3):
            rise = (q[k + 1, a] - q[k, a]) / after - (q[k, a] - q[k - 1, a]) / before
            out[k - 1, a] = rise / whole
        last = rotation_between(q[k - 1, 3:7], q[k, 3:7])
        following = rotation_between(q[k, 3:7], q[k + 1, 3:7])
        for a in range(3):
            out[k - 1, TURN + a] = (following[a] / after - last[a] / before) / whole
        for j in range(7, q.shape[1]):
            rise = (q[k + 1, j] - q[k, j]) / after - (q[k, j] - q[k - 1, j]) / before
            out[k - 1, j - 1] = rise / whole


@kernel
def motion_cost(q, goal, marked):
    """Cost of a motion (n, nq): markers, pull to rest, accelerations."""
    times, stiffness = goal.times, goal.stiffness
    poses, x = empty_poses(marked.tree.parent.size), np.empty((marked.body.size, 3))
    total = 0.0
    for k in range(q.shape[0]):
        place(marked.tree, q[k], poses)
        points(marked, poses, x)
        total += cost_at(x, q[k], _frame(goal, k))
    if q.shape[0] > 2:
        rates = np.empty((q.shape[0] - 2, q.shape[1] - 1))
        accelerations(q, times, rates)
        for k in range(rates.shape[0]):
            whole = 0.5 * (times[k + 2] - times[k])
            for i in range(rates.shape[1]):
                total += stiffness[i] * whole * rates[k, i] ** 2
    return total


@kernel
def motion_equations(q, goal, marked):
    """Fields of the :class:`BandedEquations` of a motion (n, nq).

    Joints on a limit that are pushed outwards are held.
    """
    n, nv = q.shape[0], q.shape[1] - 1
    band, vector = np.zeros((n * nv, 3 * nv)), np.zeros(n * nv)
    tree = marked.tree
    poses, x = empty_poses(tree.parent.size), np.empty((marked.body.size, 3))
    matrix, own = np.empty((nv, nv)), np.empty(nv)
    frame_equations = NormalEquations(matrix, own)
    for k in range(n):
        place(tree, q[k], poses)
        points(marked, poses, x)
        normal_equations(x, q[k], _frame(goal, k), marked, poses, frame_equations)
        for i in range(nv):
            vector[k * nv + i] += own[i]
            for j in range(i + 1):
                band[k * nv + j, i - j] += matrix[i, j]
    if n > 2:
        rates = np.empty((n - 2, nv))
        accelerations(q, goal.times, rates)
        equations = BandedEquations(band, vector)
        for k in range(1, n - 1):
            _add_acceleration(q, goal, k, rates[k - 1], equations)
    _hold(q, tree.lower, tree.upper, nv, band, vector)
    return band, vector


@kernel
def _add_acceleration(q, goal, k, rate, equations):
    """The three blocks of one acceleration."""
    times, stiffness, nv = goal.times, goal.stiffness, q.shape[1] - 1
    band, vector = equations
    before, after = times[k] - times[k - 1], times[k + 1] - times[k]
    whole = 0.5 * (before + after)
    share = np.array([1.0 / before, -1.0 / before - 1.0 / after, 1.0 / after]) / whole
    for i in range(nv):
        if TURN <= i < TURN + 3:
            continue
        s = stiffness[i] * whole
        for a in range(3):
            row = (k - 1 + a) * nv + i
            vector[row] -= s * share[a] * rate[i]
            for b in range(a + 1):
                band[(k - 1 + b) * nv + i, (a - b) * nv] += s * share[a] * share[b]
    last = rotation_between(q[k - 1, 3:7], q[k, 3:7])
    following = rotation_between(q[k, 3:7], q[k + 1, 3:7])
    blocks = np.empty((3, 3, 3))
    blocks[0] = inverse_jacobian(last, False) / (before * whole)
    blocks[2] = inverse_jacobian(following, True) / (after * whole)
    blocks[1] = -inverse_jacobian(following, False) / (
        after * whole
    ) - inverse_jacobian(last, True) / (before * whole)
    s = stiffness[TURN] * whole
    three = rate[TURN : TURN + 3].copy()
    for a in range(3):
        pull = blocks[a].T @ three
        for i in range(3):
            vector[(k - 1 + a) * nv + TURN + i] -= s * pull[i]
        for b in range(a + 1):
            block = s * (blocks[a].T @ blocks[b])
            for i in range(3):
                for j in range(3):
                    row, column = (a - b) * nv + i - j, (k - 1 + b) * nv + TURN + j
                    if row >= 0:
                        band[column, row] += block[i, j]


@kernel
def _hold(q, lower, upper, nv, band, vector):
    width = band.shape[1]
    for k in range(q.shape[0]):
        for i in range(lower.size):
            at = k * nv + 6 + i
            out = (q[k, 7 + i] <= lower[i] and vector[at] < 0.0) or (
                q[k, 7 + i] >= upper[i] and vector[at] > 0.0
            )
            if not out:
                continue
            vector[at] = 0.0
            for r in range(1, width):
                band[at, r] = 0.0
                if at - r >= 0:
                    band[at - r, r] = 0.0
            band[at, 0] = 1.0


@kernel
def factorise_band(band, damping):
    """L of L L^T of a damped banded matrix, in place; False if it is not positive.

    Row c of the band (n, width) holds the matrix below its diagonal at column c.
    """
    n, width = band.shape
    for c in range(n):
        pivot = band[c, 0] + damping
        if not pivot > 0.0:
            return False
        root = np.sqrt(pivot)
        most = min(width, n - c)
        own = band[c]
        own[0] = root
        for r in range(1, most):
            own[r] /= root
        for r in range(1, most):
            share = own[r]
            if share != 0.0:
                other = band[c + r]
                for k in range(most - r):
                    other[k] -= share * own[r + k]
    return True


@kernel
def solve_band(band, damping, vector):
    """Cholesky solution of the damped equations; and whether there is one.

    In one thread: a library's threads would wait for each other on a busy machine.
    """
    n, width = band.shape
    factor, x = band.copy(), vector.copy()
    if not factorise_band(factor, damping):
        return x, False
    for c in range(n):
        own = factor[c]
        x[c] /= own[0]
        for r in range(1, min(width, n - c)):
            x[c + r] -= own[r] * x[c]
    for c in range(n - 1, -1, -1):
        own = factor[c]
        for r in range(1, min(width, n - c)):
            x[c] -= own[r] * x[c + r]
        x[c] /= own[0]
    return x, True
