# SPDX-License-Identifier: Apache-2.0
"""Compiled scans of chamfer maps: forth and back, on a grid with a margin.

Grids are flat, so that a neighbour is one offset away; the margin is as wide as the
mask reaches, and is not scanned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel

FAR = np.int32(1 << 29)
"""Distance of what no path reaches."""


class Grid(NamedTuple):
    """A flat grid of three axes with a margin.

    Attributes:
        shape: of the whole (3,).
        margin: width of the margin along each axis (3,).
        offsets: to the neighbours before a voxel, in the order of the scan (m,).
        weights: distances to them (m,).
    """

    shape: np.ndarray
    margin: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray


@kernel
def shortest_paths(values, grid):
    """Two scans: every value becomes the least of neighbour plus weight; in place."""
    nx, ny, nz = grid.shape
    mx, my, mz = grid.margin
    count = len(grid.offsets)
    for i in range(mx, nx - mx):
        for j in range(my, ny - my):
            start = (i * ny + j) * nz
            for at in range(start + mz, start + nz - mz):
                best = values[at]
                if best == 0:
                    continue
                for m in range(count):
                    other = values[at + grid.offsets[m]] + grid.weights[m]
                    if other < best:
                        best = other
                values[at] = best
    for i in range(nx - mx - 1, mx - 1, -1):
        for j in range(ny - my - 1, my - 1, -1):
            start = (i * ny + j) * nz
            for at in range(start + nz - mz - 1, start + mz - 1, -1):
                best = values[at]
                if best == 0:
                    continue
                for m in range(count):
                    other = values[at - grid.offsets[m]] + grid.weights[m]
                    if other < best:
                        best = other
                values[at] = best


@kernel
def grow(values, grid):
    """Two scans: every value becomes the greatest of neighbour minus weight; in place.

    With radii at the centres of balls and 0 elsewhere, what ends above 0 lies in one.
    """
    nx, ny, nz = grid.shape
    mx, my, mz = grid.margin
    count = len(grid.offsets)
    for i in range(mx, nx - mx):
        for j in range(my, ny - my):
            start = (i * ny + j) * nz
            for at in range(start + mz, start + nz - mz):
                best = values[at]
                for m in range(count):
                    other = values[at + grid.offsets[m]] - grid.weights[m]
                    if other > best:
                        best = other
                values[at] = best
    for i in range(nx - mx - 1, mx - 1, -1):
        for j in range(ny - my - 1, my - 1, -1):
            start = (i * ny + j) * nz
            for at in range(start + nz - mz - 1, start + mz - 1, -1):
                best = values[at]
                for m in range(count):
                    other = values[at - grid.offsets[m]] - grid.weights[m]
                    if other > best:
                        best = other
                values[at] = best


@kernel
def maximal(values, grid, kept):
    """Which balls of a chamfer map no ball of a neighbour holds; their number.

    M stays where D(P) - D(M) < D(M, P) for every neighbour P of the mask.
    """
    nx, ny, nz = grid.shape
    mx, my, mz = grid.margin
    count, total = len(grid.offsets), 0
    for i in range(mx, nx - mx):
        for j in range(my, ny - my):
            start = (i * ny + j) * nz
            for at in range(start + mz, start + nz - mz):
                own = values[at]
                if own == 0:
                    continue
                alone = True
                for m in range(count):
                    limit = own + grid.weights[m]
                    if (
                        values[at + grid.offsets[m]] >= limit
                        or values[at - grid.offsets[m]] >= limit
                    ):
                        alone = False
                        break
                if alone:
                    kept[at] = True
                    total += 1
    return total
