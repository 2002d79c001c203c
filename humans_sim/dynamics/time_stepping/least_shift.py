# SPDX-License-Identifier: Apache-2.0
r"""The least change of position after which contacts are where they belong.

.. math:: \min_s s^T M s \quad \text{with} \quad g_i + J_i s = 0, \; g_j + J_j s \ge 0

for contacts i that are held on their surfaces and all others j. What is inside may only
be pushed out: were it held, too, two points of one edge that are inside by different
depths would have to come onto the surface together, which can take a large motion.
"""

from __future__ import annotations

import numpy as np

_ROUNDS = 12
"""How often what is pushed may change."""
_REGULAR = 1e-11
"""Of the largest diagonal entry: corners of one sole are redundant."""
_PULLING = 1e-9
"""Share of the largest impulse from which on one that pulls is none."""


def least_shift(
    spread: np.ndarray, gap: np.ndarray, held: np.ndarray, tolerance: float
) -> np.ndarray:
    """The change, times the factor of the mass matrix: U^T s (nv,).

    Args:
        spread: U^-1 J^T of the normals of contacts (nv, k).
        gap: of these contacts (k,).
        held: whether a contact shall be on its surface; others may be above (k,).
        tolerance: penetration that does not count [m, rad].
    """
    mobility = spread.T @ spread
    size = float(np.diagonal(mobility).max(initial=0.0))
    pushed = held | (gap < -tolerance)
    impulses = np.zeros(len(gap))
    for _ in range(_ROUNDS):
        rows = np.flatnonzero(pushed)
        matrix = mobility[np.ix_(rows, rows)] + _REGULAR * size * np.eye(len(rows))
        impulses[:] = 0.0
        impulses[rows] = np.linalg.solve(matrix, -gap[rows])
        least = -_PULLING * float(np.abs(impulses).max(initial=0.0))
        pulling = pushed & ~held & (impulses < least)
        if pulling.any():
            pushed &= ~pulling
            continue
        inside = ~pushed & (gap + mobility @ impulses < -tolerance)
        if not inside.any():
            break
        pushed |= inside
    shift: np.ndarray = spread @ impulses
    return shift
