# SPDX-License-Identifier: Apache-2.0
"""Compiled choice of balls that still cover a volume, and distances to unions."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel

SHIFT = 2
"""Edges of blocks of voxels: 4."""


class CoverBalls(NamedTuple):
    """Balls on a grid, by falling size.

    Attributes:
        voxels: centres (n, 3).
        reaches: voxels that each goes along an axis (n,).
        limits: of the norm, inside of each (n,).
        norm: of an offset with components (i, j, k) >= 0, growing with each (r, r, r).
    """

    voxels: np.ndarray
    reaches: np.ndarray
    limits: np.ndarray
    norm: np.ndarray


class CoverGrids(NamedTuple):
    """Voxels to be covered, with blocks of them: few are looked at.

    Attributes:
        wanted: voxels to be covered (nx, ny, nz).
        counts: of balls over each of these (nx, ny, nz).
        present: how many are wanted of each block (bx, by, bz).
        sums: how many of these have the count that is looked for (bx, by, bz).
    """

    wanted: np.ndarray
    counts: np.ndarray
    present: np.ndarray
    sums: np.ndarray


@kernel
def choose_cover(balls, grids):
    """Choose balls that cover the voxels that are wanted.

    Largest first, a ball is taken where it covers a voxel that none before it does.
    Then, smallest first, balls are left out whose every voxel others cover.

    Args:
        balls: by falling size.
        grids: counts and sums zero; changed.

    Returns:
        which balls are chosen (n,).
    """
    n = len(balls.voxels)
    chosen = np.zeros(n, np.bool_)
    grids.sums[:] = grids.present
    for b in range(n):
        if _visit(balls, b, grids, 0, 0):
            chosen[b] = True
            _visit(balls, b, grids, 0, 1)
    _sum_singles(grids)
    for b in range(n - 1, -1, -1):
        if chosen[b] and not _visit(balls, b, grids, 1, 0):
            chosen[b] = False
            _visit(balls, b, grids, 1, -1)
    return chosen


@kernel
def _sum_singles(grids):
    grids.sums[:] = 0
    nx, ny, nz = grids.wanted.shape
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                if grids.wanted[i, j, k] and grids.counts[i, j, k] == 1:
                    grids.sums[i >> SHIFT, j >> SHIFT, k >> SHIFT] += 1


@kernel
def _nearest(middle, block):
    """Offset of a block's nearest voxel from a ball's centre, along an axis."""
    first = block << SHIFT
    if middle < first:
        return first - middle
    return max(middle - first - (1 << SHIFT) + 1, 0)


@kernel
def _visit(balls, b, grids, value, change):
    """Visit the blocks of a ball that have wanted voxels.

    Args:
        balls: by falling size.
        b: number of the ball.
        grids: of the voxels.
        value: count that the sums are of.
        change: of the ball's counts; 0: look for a voxel that has the value.

    Returns:
        whether one was found.
    """
    limit, reach, norm = balls.limits[b], balls.reaches[b], balls.norm
    x, y, z = balls.voxels[b]
    worth = grids.sums if change == 0 else grids.present
    for bx in range((x - reach) >> SHIFT, ((x + reach) >> SHIFT) + 1):
        i = _nearest(x, bx)
        for by in range((y - reach) >> SHIFT, ((y + reach) >> SHIFT) + 1):
            j = _nearest(y, by)
            if norm[i, j, 0] >= limit:
                continue
            for bz in range((z - reach) >> SHIFT, ((z + reach) >> SHIFT) + 1):
                if worth[bx, by, bz] > 0 and norm[i, j, _nearest(z, bz)] < limit:
                    if _visit_block(balls, b, (bx, by, bz), grids, value, change):
                        return True
    return False


@kernel
def _visit_block(balls, b, block, grids, value, change):
    limit, reach, norm = balls.limits[b], balls.reaches[b], balls.norm
    x, y, z = balls.voxels[b]
    bx, by, bz = block
    first, last = max(z - reach, bz << SHIFT), min(z + reach + 1, (bz + 1) << SHIFT)
    for u in range(max(x - reach, bx << SHIFT), min(x + reach + 1, (bx + 1) << SHIFT)):
        for v in range(
            max(y - reach, by << SHIFT), min(y + reach + 1, (by + 1) << SHIFT)
        ):
            line = norm[abs(u - x), abs(v - y)]
            for w in range(first, last):
                if not grids.wanted[u, v, w] or line[abs(w - z)] >= limit:
                    continue
                count = grids.counts[u, v, w]
                if change == 0:
                    if count == value:
                        return True
                    continue
                grids.counts[u, v, w] = count + change
                if count == value:
                    grids.sums[bx, by, bz] -= 1
                elif count + change == value:
                    grids.sums[bx, by, bz] += 1
    return False


@kernel
def union_distances(points, centres, radii):
    """Signed distance of points to a union of balls, negative inside (n,).

    Inside, it is that to the surface of the ball that holds the point most deeply.
    """
    out = np.empty(len(points))
    for n in range(len(points)):
        best = np.inf
        for b in range(len(radii)):
            x = points[n, 0] - centres[b, 0]
            y = points[n, 1] - centres[b, 1]
            z = points[n, 2] - centres[b, 2]
            square = x * x + y * y + z * z
            reach = best + radii[b]
            if reach > 0.0 and square < reach * reach:
                best = math.sqrt(square) - radii[b]
        out[n] = best
    return out


@kernel
def cover_voxels(centres, radii, inside):
    """Mark voxels whose centres lie in a ball; centres and radii in voxels."""
    nx, ny, nz = inside.shape
    for b in range(len(radii)):
        r = radii[b]
        x, y, z = centres[b]
        for i in range(max(math.ceil(x - r), 0), min(math.floor(x + r), nx - 1) + 1):
            flat = r * r - (i - x) ** 2
            if flat < 0.0:
                continue
            w = math.sqrt(flat)
            for j in range(
                max(math.ceil(y - w), 0), min(math.floor(y + w), ny - 1) + 1
            ):
                rest = flat - (j - y) ** 2
                if rest < 0.0:
                    continue
                d = math.sqrt(rest)
                low = max(math.ceil(z - d), 0)
                for k in range(low, min(math.floor(z + d), nz - 1) + 1):
                    inside[i, j, k] = True
