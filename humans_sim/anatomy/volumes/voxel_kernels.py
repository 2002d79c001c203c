# SPDX-License-Identifier: Apache-2.0
"""Compiled scan of triangle meshes along columns of voxels."""

from __future__ import annotations

import math

import numpy as np

from humans_sim.core.kernels import kernel


@kernel
def count_windings(triangles, low, spacing, windings):
    """Add to each column where the surface is crossed, and in which sense.

    Every column (i, j) is the line through the centres of its voxels, along z. Where a
    triangle crosses it, the first voxel beyond gets +1 or -1; the running sum along z
    is the winding number. Of two triangles with a common edge exactly one has the line,
    also where it meets the edge: signs are computed with the edge's ends in one order.

    Args:
        triangles: corners (n, 3, 3).
        low: centre of the first voxel (3,).
        spacing: edge of a voxel.
        windings: (nx, ny, nz) of small integers, zero; changed.
    """
    nx, ny, nz = windings.shape
    for n in range(len(triangles)):
        a, b, c = triangles[n, 0], triangles[n, 1], triangles[n, 2]
        first = max(math.ceil((min(a[0], b[0], c[0]) - low[0]) / spacing), 0)
        last = min(math.floor((max(a[0], b[0], c[0]) - low[0]) / spacing), nx - 1)
        left = max(math.ceil((min(a[1], b[1], c[1]) - low[1]) / spacing), 0)
        right = min(math.floor((max(a[1], b[1], c[1]) - low[1]) / spacing), ny - 1)
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        bottom, top = min(a[2], b[2], c[2]), max(a[2], b[2], c[2])
        for i in range(first, last + 1):
            x = low[0] + spacing * i
            for j in range(left, right + 1):
                y = low[1] + spacing * j
                side = _left_of(a, b, x, y)
                if _left_of(b, c, x, y) != side or _left_of(c, a, x, y) != side:
                    continue
                z = bottom
                if area != 0.0:
                    u = (x - a[0]) * (c[1] - a[1]) - (y - a[1]) * (c[0] - a[0])
                    v = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
                    z = a[2] + (u * (b[2] - a[2]) + v * (c[2] - a[2])) / area
                    z = min(max(z, bottom), top)
                k = max(math.ceil((z - low[2]) / spacing), 0)
                if k < nz:
                    windings[i, j, k] += -1 if side else 1


@kernel
def _left_of(start, end, x, y):
    """Whether a point lies left of an edge; the same for both of its triangles."""
    turned = start[0] > end[0] or (start[0] == end[0] and start[1] > end[1])
    a, b = (end, start) if turned else (start, end)
    value = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
    return (value >= 0.0) != turned


@kernel
def fill_columns(windings, inside):
    """Sum along z: where the winding number is not zero lies the inside."""
    nx, ny, nz = windings.shape
    for i in range(nx):
        for j in range(ny):
            total = 0
            for k in range(nz):
                total += windings[i, j, k]
                inside[i, j, k] = total > 0
    return np.count_nonzero(inside)
