# SPDX-License-Identifier: Apache-2.0
"""Compiled distances of many places to a scene."""

from __future__ import annotations

import numpy as np
from numba import njit

from humans_sim.contact.geometry.terrain_kernels import surface_distance


@njit(cache=True)
def least_distances(solids, meshes, places):
    """Distance of each place to the nearest solid, negative inside (n,) [m].

    Args:
        solids: rows of the solids (s, 16).
        meshes: numbers of all meshes that the rows point to.
        places: (n, 3) [m].
    """
    least = np.empty(places.shape[0])
    normal, hessian = np.empty(3), np.empty((3, 3))
    for k in range(places.shape[0]):
        least[k] = np.inf
        for s in range(solids.shape[0]):
            away = surface_distance(solids[s], meshes, places[k], normal, hessian)
            least[k] = min(least[k], away)
    return least
