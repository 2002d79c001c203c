# SPDX-License-Identifier: Apache-2.0
"""Compiled envelopes of parabolas: exact squared Euclidean distances on grids.

Along one axis ``min_p f(p) + (q - p)^2`` is the lower envelope of parabolas, found in
one scan (Meijster and others, 2000; Felzenszwalb and Huttenlocher, 2012). Axis after
axis it is the squared distance map, where f is 0 outside and far inside; and where f is
minus a squared radius it is the power diagram of the balls (Coeurjolly and Montanvert,
2007). All numbers are integers: there is no rounding.
"""

from __future__ import annotations

import numpy as np

from humans_sim.core.kernels import kernel

FAR = np.int32(1 << 29)


@kernel
def lower_envelopes(values, owners, axis):
    """Replace values by their envelopes along an axis, in place.

    Args:
        values: (nx, ny, nz); FAR where there is no parabola.
        owners: of the values (nx, ny, nz), moved along with them; or of no size.
        axis: 0, 1 or 2.
    """
    nx, ny, nz = values.shape
    length = values.shape[axis]
    tracked = owners.size > 0
    line = np.empty(length, np.int64)
    old = np.empty(length, np.int32)
    vertex = np.empty(length, np.int64)
    begin = np.empty(length, np.int64)
    first = ny if axis == 0 else nx
    second = ny if axis == 2 else nz
    for a in range(first):
        for b in range(second):
            busy = False
            for q in range(length):
                i, j, k = _place(axis, a, b, q)
                line[q] = values[i, j, k]
                if line[q] != 0:
                    busy = True
                if tracked:
                    old[q] = owners[i, j, k]
            if not busy:
                continue
            count = _envelope(line, vertex, begin)
            part = 0
            for q in range(length):
                i, j, k = _place(axis, a, b, q)
                if count == 0:
                    continue
                while part + 1 < count and begin[part + 1] <= q:
                    part += 1
                p = vertex[part]
                values[i, j, k] = min(line[p] + (q - p) * (q - p), FAR)
                if tracked:
                    owners[i, j, k] = old[p]


@kernel
def _place(axis, a, b, q):
    if axis == 0:
        return q, a, b
    if axis == 1:
        return a, q, b
    return a, b, q


@kernel
def _envelope(line, vertex, begin):
    """Vertices of the parabolas below all others, and from where on each is lowest."""
    count = 0
    length = len(line)
    for q in range(length):
        if line[q] >= FAR:
            continue
        while True:
            if count == 0:
                vertex[0], begin[0], count = q, 0, 1
                break
            p = vertex[count - 1]
            # First place at which q's parabola is below p's.
            rise = line[q] + q * q - line[p] - p * p
            start = rise // (2 * (q - p)) + 1
            if start <= begin[count - 1]:
                count -= 1
                continue
            if start < length:
                vertex[count], begin[count] = q, start
                count += 1
            break
    return count


@kernel
def mark_owners(values, owners, kept):
    """Mark the balls that own a covered voxel; their number."""
    flat, names = values.ravel(), owners.ravel()
    total = 0
    for n in range(len(flat)):
        if flat[n] < 0 and not kept[names[n]]:
            kept[names[n]] = True
            total += 1
    return total
