# SPDX-License-Identifier: Apache-2.0
"""Compiled choice of balls that still cover a volume, and distances to unions."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def choose_cover(voxels, reaches, limits, norm, counts):
    """Choose balls that cover what all of them cover.

    Largest first, a ball is taken where it covers a voxel that none before it does.
    Then, smallest first, balls are left out whose every voxel others cover.

    Args:
        voxels: centres (n, 3), by falling size.
        reaches: voxels that each ball goes along an axis (n,).
        limits: of the norm, inside of each ball (n,).
        norm: of an offset with components (i, j, k) >= 0 (r, r, r).
        counts: of balls over each voxel, zero; changed.

    Returns:
        which balls are chosen (n,).
    """
    n = len(voxels)
    chosen = np.zeros(n, np.bool_)
    for b in range(n):
        if _least_count(voxels[b], reaches[b], limits[b], norm, counts) == 0:
            chosen[b] = True
            _add(voxels[b], reaches[b], limits[b], norm, counts, 1)
    for b in range(n - 1, -1, -1):
        if chosen[b]:
            if _least_count(voxels[b], reaches[b], limits[b], norm, counts) > 1:
                chosen[b] = False
                _add(voxels[b], reaches[b], limits[b], norm, counts, -1)
    return chosen


@njit(cache=True)
def _least_count(voxel, reach, limit, norm, counts):
    """How many balls the least covered voxel of a ball has, up to 2."""
    least = 2
    for i in range(-reach, reach + 1):
        for j in range(-reach, reach + 1):
            if norm[abs(i), abs(j), 0] >= limit:
                continue
            for k in range(-reach, reach + 1):
                if norm[abs(i), abs(j), abs(k)] < limit:
                    count = counts[voxel[0] + i, voxel[1] + j, voxel[2] + k]
                    if count == 0:
                        return 0
                    if count < least:
                        least = count
    return least


@njit(cache=True)
def _add(voxel, reach, limit, norm, counts, change):
    for i in range(-reach, reach + 1):
        for j in range(-reach, reach + 1):
            if norm[abs(i), abs(j), 0] >= limit:
                continue
            for k in range(-reach, reach + 1):
                if norm[abs(i), abs(j), abs(k)] < limit:
                    counts[voxel[0] + i, voxel[1] + j, voxel[2] + k] += change


@njit(cache=True)
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


@njit(cache=True)
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
