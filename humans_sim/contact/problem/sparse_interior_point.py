# SPDX-License-Identifier: Apache-2.0
"""The contact problem of many contacts by interior points.

The path and the steps are those of :mod:`~humans_sim.contact.problem.interior_point`,
written for sparse matrices: Newton's equations have the blocks of W.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.problem.block_matrix import BlockMatrix

_STEPS = 100
_CENTRING = 0.1
_RECENTRING, _FULL = 0.8, 0.8
_INSIDE = 0.95
_NEAR = 1e-8
_SHORT, _STALLED = 0.1, 3


def sparse_interior_point(
    delassus: BlockMatrix,
    free: np.ndarray,
    tangents: np.ndarray,
    friction: np.ndarray,
    softness: float,
) -> np.ndarray:
    """Forces next to a solution (k, 3); arguments as of the dense method."""
    n = len(friction)
    held = np.isinf(friction) & (tangents > 0)
    factor = np.ones((n, 3))
    factor[:, 1:] = np.where(held, 1.0, friction)[:, None]
    factor[:, 1:] *= np.arange(1, 3) <= tangents[:, None]
    matrix = BlockMatrix(
        factor[delassus.rows][:, :, None]
        * delassus.blocks
        * factor[delassus.columns][:, None, :],
        delassus.rows,
        delassus.columns,
        n,
    )
    shift, everything = factor * free, np.ones(n, dtype=bool)
    size = float(np.abs(free).max())
    x, y = np.zeros((n, 3)), np.zeros((n, 3))
    x[:, 0] = y[:, 0] = size
    short, share = 0, 1.0
    for _ in range(_STEPS):
        gap = float(np.sum(x * y)) / n
        blur = softness * gap
        along = np.sqrt(x[:, 1] ** 2 + x[:, 2] ** 2 + blur)
        errors = x - matrix.times(y) - shift
        errors[:, 0] -= along
        if max(float(np.abs(errors).max()), np.sqrt(max(gap, 0.0))) < _NEAR * size:
            break
        # A step that was cut short has come near to the cones: back to the middle.
        target = gap * (_CENTRING if share > _FULL else _RECENTRING)
        direction = np.divide(
            x[:, 1:], along[:, None], out=np.zeros((n, 2)), where=along[:, None] > 0.0
        )
        direction[held] = 0.0
        left, diagonal = _arrow(y, held), _arrow(x, held)
        # The tangents of held contacts are bound to no normal: W f + b = 0.
        left[held, 1, 1] = left[held, 2, 2] = 1.0
        diagonal[held, 1, 1] = 0.0
        diagonal[held, 2, 2] = tangents[held] == 1
        right = -np.einsum("cij,cj->ci", diagonal, y)
        right[held, 1:] = 0.0
        right[:, 0] += target
        left[:, :, 1:] += left[:, :, :1] * direction[:, None, :]
        right += np.einsum("cij,cj->ci", left, errors)
        try:
            dy = matrix.solve(left, diagonal, right, everything)
        except RuntimeError:
            break
        dx = matrix.times(dy) - errors
        dx[held, 1:] = 0.0
        dx[:, 0] += np.sum(direction * dx[:, 1:], axis=1)
        share = min(1.0, _INSIDE * _room(x, dx, held), _INSIDE * _room(y, dy, held))
        x += share * dx
        y += share * dy
        # Where contacts are at the verge of slipping the path ends in ever shorter
        # steps, next to the solution all the same.
        short = short + 1 if share < _SHORT else 0
        if short == _STALLED:
            break
    y[:, 1:] *= np.where(held, 1.0, np.where(tangents > 0, friction, 1.0))[:, None]
    return y


def _arrow(x: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Matrices of the product with x in the algebra of the cone (k, 3, 3)."""
    arrows = x[:, :1, None] * np.eye(3)
    loose = ~held
    arrows[loose, 0, 1:] = arrows[loose, 1:, 0] = x[loose, 1:]
    return arrows


def _room(x: np.ndarray, dx: np.ndarray, held: np.ndarray) -> float:
    """Largest step from inside the cones to the first surface."""
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(dx[:, 0] < 0.0, -x[:, 0] / dx[:, 0], np.inf)
        a = dx[:, 0] ** 2 - dx[:, 1] ** 2 - dx[:, 2] ** 2
        b = x[:, 0] * dx[:, 0] - x[:, 1] * dx[:, 1] - x[:, 2] * dx[:, 2]
        c = x[:, 0] ** 2 - x[:, 1] ** 2 - x[:, 2] ** 2
        # Smallest root above zero of a t^2 + 2 b t + c.
        square = b * b - a * c
        root = np.sqrt(np.maximum(square, 0.0))
        first = np.where((b < 0.0) & (square >= 0.0), c / (root - b), np.inf)
        first = np.where((b >= 0.0) & (a < 0.0), -(b + root) / a, first)
    first[held] = np.inf
    return float(min(room.min(), first.min()))
