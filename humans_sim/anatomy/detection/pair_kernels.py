# SPDX-License-Identifier: Apache-2.0
"""Compiled test of a list of pairs of balls."""

from __future__ import annotations

import math

import numpy as np

from humans_sim.core.kernels import kernel


@kernel
def meet_in_list(bodies, centres, radii, rotations, positions):
    """Pairs of a list that overlap.

    Args:
        bodies: of the pairs (k, 2).
        centres: of their balls, in the bodies' frames (k, 2, 3) [m].
        radii: (k, 2) [m].
        rotations: of the bodies (n, 3, 3).
        positions: (n, 3) [m].

    Returns:
        numbers of the pairs (c,), depths (c,), normals and points (c, 3).
    """
    count = len(bodies)
    hits = np.empty(count, np.int64)
    depth = np.empty(count)
    normal, point = np.empty((count, 3)), np.empty((count, 3))
    found = 0
    one, other = np.empty(3), np.empty(3)
    for n in range(count):
        i, j = bodies[n, 0], bodies[n, 1]
        square = 0.0
        for k in range(3):
            one[k], other[k] = positions[i, k], positions[j, k]
            for m in range(3):
                one[k] += rotations[i, k, m] * centres[n, 0, m]
                other[k] += rotations[j, k, m] * centres[n, 1, m]
            square += (one[k] - other[k]) ** 2
        distance = math.sqrt(square)
        over = radii[n, 0] + radii[n, 1] - distance
        if over <= 0.0:
            continue
        hits[found], depth[found] = n, over
        for k in range(3):
            along = (one[k] - other[k]) / distance if distance > 0.0 else (k == 2) * 1.0
            normal[found, k] = along
            point[found, k] = other[k] + along * (radii[n, 1] - 0.5 * over)
        found += 1
    return hits[:found], depth[:found], normal[:found], point[:found]
