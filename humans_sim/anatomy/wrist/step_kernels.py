# SPDX-License-Identifier: Apache-2.0
"""Compiled sums over ligaments and pairs of balls in a step of bones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.dense_kernels import backward, cholesky, forward, forward_rows
from humans_sim.core.kernels import kernel


class Ties(NamedTuple):
    """Ligaments about a trial: bones, arms, direction, pull and its derivatives.

    ``along`` is the unit vector from end j to end i; ``across`` the tension over the
    length, ``slope`` the derivative of the tension by the length.
    """

    body_i: np.ndarray
    body_j: np.ndarray
    arm_i: np.ndarray
    arm_j: np.ndarray
    along: np.ndarray
    tension: np.ndarray
    slope: np.ndarray
    across: np.ndarray


class Pairs(NamedTuple):
    """Pairs of balls: bones, centres in their frames, normal, sum of the radii."""

    body_i: np.ndarray
    body_j: np.ndarray
    ball_i: np.ndarray
    ball_j: np.ndarray
    normal: np.ndarray
    reach: np.ndarray


@kernel
def add_ties(ties, columns, gradient, matrix, turning):
    """Add derivatives of the stored energy by shifts and small turns of free bones.

    Args:
        ties: ligaments about a trial.
        columns: first column of each bone, -1 where it is not free (n,).
        gradient: (6 f,); changed.
        matrix: of second derivatives (6 f, 6 f), but for the turning of arms; changed.
        turning: second derivatives by turns from arms that turn (n, 3, 3); changed.
    """
    rows, stiff = np.zeros((2, 3, 6)), np.empty((3, 3))
    for t in range(len(ties.tension)):
        if ties.tension[t] == 0.0 and ties.slope[t] == 0.0:
            continue
        n = ties.along[t]
        for i in range(3):
            for j in range(3):
                stiff[i, j] = (ties.slope[t] - ties.across[t]) * n[i] * n[j]
            stiff[i, i] += ties.across[t]
        ends = (ties.body_i[t], ties.body_j[t])
        for e in range(2):
            sign = 1.0 if e == 0 else -1.0
            arm = ties.arm_i[t] if e == 0 else ties.arm_j[t]
            _point_rows(arm, sign, rows[e])
            if columns[ends[e]] >= 0:
                for c in range(6):
                    for i in range(3):
                        gradient[columns[ends[e]] + c] += (
                            ties.tension[t] * rows[e, i, c] * n[i]
                        )
                _turn_arm(arm, -sign * ties.tension[t] * n, turning[ends[e]])
        for a in range(2):
            for b in range(2):
                if columns[ends[a]] >= 0 and columns[ends[b]] >= 0:
                    block = rows[a].T @ (stiff @ rows[b])
                    for i in range(6):
                        for j in range(6):
                            matrix[columns[ends[a]] + i, columns[ends[b]] + j] += block[
                                i, j
                            ]


@kernel
def _point_rows(arm, sign, rows):
    """Velocity of a point by those of its bone: v + w x arm."""
    for i in range(3):
        rows[i, i] = sign
    rows[0, 4], rows[0, 5] = sign * arm[2], -sign * arm[1]
    rows[1, 3], rows[1, 5] = -sign * arm[2], sign * arm[0]
    rows[2, 3], rows[2, 4] = sign * arm[1], -sign * arm[0]


@kernel
def _turn_arm(arm, pull, block):
    along = arm[0] * pull[0] + arm[1] * pull[1] + arm[2] * pull[2]
    for i in range(3):
        for j in range(3):
            block[i, j] -= 0.5 * (arm[i] * pull[j] + arm[j] * pull[i])
        block[i, i] += along


@kernel
def pair_gaps(pairs, x, frames, gaps):
    """Gaps along the pairs' normals, bones at x in their frames; written (c,)."""
    for c in range(len(gaps)):
        i, j = pairs.body_i[c], pairs.body_j[c]
        gap = -pairs.reach[c]
        for a in range(3):
            shift = x[i, a] - x[j, a]
            for b in range(3):
                shift += frames[i, a, b] * pairs.ball_i[c, b]
                shift -= frames[j, a, b] * pairs.ball_j[c, b]
            gap += pairs.normal[c, a] * shift
        gaps[c] = gap


@kernel
def pair_rates(pairs, frames, v, w, rates):
    """Rates of the gaps by velocities and spins of all bones; written (c,)."""
    arm = np.empty(3)
    for c in range(len(rates)):
        rate = 0.0
        for e in range(2):
            bone = pairs.body_i[c] if e == 0 else pairs.body_j[c]
            ball = pairs.ball_i[c] if e == 0 else pairs.ball_j[c]
            sign = 1.0 if e == 0 else -1.0
            f = frames[bone]
            for a in range(3):
                arm[a] = f[a, 0] * ball[0] + f[a, 1] * ball[1] + f[a, 2] * ball[2]
            n, s = pairs.normal[c], w[bone]
            rate += sign * n[0] * (v[bone, 0] + s[1] * arm[2] - s[2] * arm[1])
            rate += sign * n[1] * (v[bone, 1] + s[2] * arm[0] - s[0] * arm[2])
            rate += sign * n[2] * (v[bone, 2] + s[0] * arm[1] - s[1] * arm[0])
        rates[c] = rate


@kernel
def factorise(matrix):
    """Lower factor of a symmetric matrix, and whether it is positive definite."""
    factor = np.zeros_like(matrix)
    positive = cholesky(matrix, factor)
    return factor, positive


@kernel
def solve_with(factor, vector):
    """Solve the equations of a factor."""
    solved = vector.copy()
    forward(factor, solved)
    backward(factor, solved)
    return solved


@kernel
def rows_through(factor, rows):
    """Rows J (m, n) through the factor L: Y = L^-1 J^T (n, m) and W = Y^T Y."""
    m, n = rows.shape
    half = rows.T.copy()
    forward_rows(factor, half)
    delassus = np.zeros((m, m))
    for k in range(n):
        for i in range(m):
            c = half[k, i]
            if c != 0.0:
                for j in range(i + 1):
                    delassus[i, j] += c * half[k, j]
    for i in range(m):
        for j in range(i):
            delassus[j, i] = delassus[i, j]
    return half, delassus


@kernel
def moved_by(factor, half, impulses):
    """What impulses of rows add to the velocities: L^-T Y f."""
    n, m = half.shape
    change = np.zeros(n)
    for k in range(n):
        for i in range(m):
            change[k] += half[k, i] * impulses[i]
    backward(factor, change)
    return change
