# SPDX-License-Identifier: Apache-2.0
"""Which points of a model a time step can bring to the ground.

A body has a hundred points that may touch and stands on eight of them. A ball around
all points of a link bounds their gaps from below; a step leaves out the links whose
balls stay clear of the scene.
"""

from __future__ import annotations

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.dynamics.contact_kernels import link_gaps, link_speeds

_CLEAR = 5e-3
"""Distance beyond what a link travels that an impact in the step may add [m]."""
_AHEAD = 3.0
"""How many times the way at the link's present speed is looked ahead."""


@kernel
def near_points(still, motions, h):
    """Points whose links may touch in a step, and lower bounds of the others' gaps.

    Args:
        still: fields of a :class:`~humans_sim.dynamics.contact_kernels.ContactGeometry`
            with the poses of the links, as a plain tuple.
        motions: velocities of the links in their own frames (m, 2, 6).
        h: length of the step [s].

    Returns:
        indices of the points (k,), and the bound of every point (n,) [m].
    """
    row, gaps, speeds = still[1], link_gaps(still), link_speeds(still, motions)
    n, links = row.shape[0], gaps.shape[0]
    bound = np.full(links, np.inf)
    for k in range(links):
        for s in range(gaps.shape[1]):
            bound[k] = min(bound[k], gaps[k, s])
    which, least, count = np.empty(n, np.int64), np.empty(n), 0
    for p in range(n):
        k = row[p]
        least[p] = bound[k]
        if not bound[k] > _CLEAR + _AHEAD * h * speeds[k]:
            which[count] = p
            count += 1
    return which[:count], least


@kernel
def contacts_of_points(points, every, solids, limits):
    """Contacts of some points, then of all limits, among all contacts (indices).

    Args:
        points: indices of points (k,).
        every: how many points there are.
        solids: how many solids.
        limits: how many joint limits.
    """
    which = np.empty(points.shape[0] * solids + limits, np.int64)
    for k in range(points.shape[0]):
        for s in range(solids):
            which[k * solids + s] = points[k] * solids + s
    for k in range(limits):
        which[points.shape[0] * solids + k] = every * solids + k
    return which
