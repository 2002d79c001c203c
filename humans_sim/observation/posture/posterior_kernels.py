# SPDX-License-Identifier: Apache-2.0
r"""Compiled variances of postures: diagonals of inverses, without the inverses.

The matrix of a posture's normal equations is :math:`A = L^T L` with the sparsity of its
tree, that of a motion :math:`A = L L^T` with a band. In both, the entries of
:math:`A^{-1}` at places where L has entries follow from each other (Takahashi, Fagan
and Chin, 1973): nothing else of the inverse is needed for its diagonal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.observation.posture.frame_kernels import INTERPOLATED, USED
from humans_sim.observation.posture.kernels import (
    NormalEquations,
    PostureGoal,
    factorise,
    normal_equations,
)
from humans_sim.observation.posture.smooth_kernels import factorise_band
from humans_sim.observation.posture.tree_kernels import BASE, empty_poses, place, points

FIRM = 1e-14
"""Added to the diagonal, as the search does [m^2]."""


class PostureFrames(NamedTuple):
    """Frames and the postures that explain them.

    Attributes:
        q: postures (n, nq).
        positions: of the markers (n, m, 3) [m].
        status: of the markers (n, m), numbers of ``MarkerStatus``.
        prior: weight of what is known of coordinates without markers (n, nv) [m^2].
    """

    q: np.ndarray
    positions: np.ndarray
    status: np.ndarray
    prior: np.ndarray


class MarkerWeights(NamedTuple):
    """How the k markers of the set count.

    Attributes:
        columns: among those of the frames (k,).
        weight: where they are seen (k,).
        scale: of the loss [m].
        filled: share of its weight that a marker has where it was filled in.
    """

    columns: np.ndarray
    weight: np.ndarray
    scale: float
    filled: float


@kernel
def tree_variances(factor, above, out):
    """Fill in the diagonal (n,) of the inverse of a tree's matrix.

    Its factor L (:func:`kernels.factorise`) is overwritten by the inverse's entries.
    """
    n = above.size
    chain, row = np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        size, j = 0, above[i]
        while j >= 0:
            chain[size] = j
            row[size] = factor[i, j]
            size += 1
            j = above[j]
        pivot = factor[i, i]
        own = 1.0 / pivot
        for s in range(size):
            total = 0.0
            for r in range(size):
                # Coordinates nearer the tip have larger numbers.
                low, high = (s, r) if s >= r else (r, s)
                total += row[r] * factor[chain[high], chain[low]]
            factor[i, chain[s]] = -total / pivot
        for s in range(size):
            own -= row[s] * factor[i, chain[s]]
        factor[i, i] = own / pivot
        out[i] = factor[i, i]


@kernel
def frame_variances(frames, rules, marked):
    """Variances of the coordinates for markers of unit noise.

    Gives variances (n, nv) [m^-2 of each coordinate squared], weighted squares of the
    distances (n,) [m^2], and degrees of freedom that they have (n,).
    """
    tree = marked.tree
    n, nv, count = frames.q.shape[0], tree.above.size, rules.columns.size
    variances = np.empty((n, nv))
    squares, freedom = np.zeros(n), np.zeros(n)
    poses, x = empty_poses(tree.parent.size), np.empty((count, 3))
    y, weight = np.zeros((count, 3)), np.zeros(count)
    matrix, vector = np.zeros((nv, nv)), np.zeros(nv)
    equations = NormalEquations(matrix, vector)
    for f in range(n):
        place(tree, frames.q[f], poses)
        points(marked, poses, x)
        for row in range(count):
            column = rules.columns[row]
            status = frames.status[f, column]
            weight[row] = 0.0
            if status == USED or status == INTERPOLATED:
                weight[row] = rules.weight[row]
                if status == INTERPOLATED:
                    weight[row] *= rules.filled
                freedom[f] += 3.0
                for a in range(3):
                    y[row, a] = frames.positions[f, column, a]
                    squares[f] += weight[row] * (y[row, a] - x[row, a]) ** 2
        prior = frames.prior[f]
        goal = PostureGoal(y, weight, rules.scale, prior[BASE:], frames.q[f, 7:])
        normal_equations(x, frames.q[f], goal, marked, poses, equations)
        for i in range(nv):
            matrix[i, i] += FIRM
            if i < BASE:
                matrix[i, i] += prior[i]
        if not factorise(matrix, tree.above):
            variances[f] = np.inf
            freedom[f] = 0.0
            continue
        tree_variances(matrix, tree.above, variances[f])
        for i in range(nv):
            freedom[f] -= 1.0 - min((prior[i] + FIRM) * variances[f, i], 1.0)
    return variances, squares, freedom


@kernel
def band_variances(band, damping):
    """Diagonal of the inverse of a damped banded matrix, and whether there is one.

    The band is that of :func:`smooth_kernels.factorise_band`; it is overwritten.
    """
    n, width = band.shape
    out = np.empty(n)
    if not factorise_band(band, damping):
        return out, False
    column, product = np.empty(width), np.empty(width)
    for c in range(n - 1, -1, -1):
        own = band[c]
        most = min(width, n - c)
        for r in range(1, most):
            column[r] = own[r]
            product[r] = 0.0
        for r in range(1, most):
            other = band[c + r]
            share, total = column[r], other[0] * column[r]
            for k in range(1, most - r):
                total += other[k] * column[r + k]
                product[r + k] += other[k] * share
            product[r] += total
        pivot = own[0]
        total = 1.0 / pivot
        for r in range(1, most):
            own[r] = -product[r] / pivot
            total -= column[r] * own[r]
        own[0] = total / pivot
        out[c] = own[0]
    return out, True
