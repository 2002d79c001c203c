# SPDX-License-Identifier: Apache-2.0
"""Cells of a grid that a surface passes, and the quadrangles between them.

What surface nets share (Gibson 1998): one vertex for each cell with corners on both
sides of the surface, one quadrangle for each edge of the grid that it crosses.
"""

from __future__ import annotations

import itertools

import numpy as np

CORNERS = np.array(list(itertools.product((0, 1), repeat=3)))
"""Of a cell (8, 3)."""


def passed_cells(inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells that the surface passes (n, 3), and their numbers on the grid.

    Args:
        inside: whether points of the grid are inside (a, b, c).

    Returns:
        the cells, and numbers (a - 1, b - 1, c - 1), -1 where it does not pass.
    """
    size = tuple(n - 1 for n in inside.shape)
    counts = np.zeros(size, dtype=np.int8)
    for i, j, k in CORNERS:
        counts += inside[i : i + size[0], j : j + size[1], k : k + size[2]]
    passed = (counts > 0) & (counts < 8)
    number = np.full(size, -1, dtype=np.int64)
    number[passed] = np.arange(np.count_nonzero(passed))
    return np.argwhere(passed), number


def crossed_quadrangles(inside: np.ndarray, number: np.ndarray) -> list[np.ndarray]:
    """Cells around the crossed edges along each axis, counter-clockwise from outside.

    Args:
        inside: whether points of the grid are inside.
        number: of the cells, as :func:`passed_cells` has them.

    Returns:
        numbers of four cells for each edge (n, 4), by axis.
    """
    quadrangles = []
    for axis in range(3):
        b, c = (axis + 1) % 3, (axis + 2) % 3
        first = np.moveaxis(inside, axis, 0)
        at = np.argwhere(np.moveaxis(first[1:] != first[:-1], 0, axis))
        around = []
        for shift_b, shift_c in ((-1, -1), (0, -1), (0, 0), (-1, 0)):
            cell = at.copy()
            cell[:, b] += shift_b
            cell[:, c] += shift_c
            around.append(number[tuple(cell.T)])
        corners = np.stack(around, axis=1)
        leaving = inside[tuple(at.T)]
        corners[~leaving] = corners[~leaving][:, ::-1]
        quadrangles.append(corners)
    return quadrangles
