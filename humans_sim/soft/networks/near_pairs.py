# SPDX-License-Identifier: Apache-2.0
"""Pairs of a crowd that are near each other, looked up by a tree."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from humans_sim.soft.errors import SoftError
from humans_sim.soft.networks.network import Crowd, crowd_reach

MARGIN = 0.3
"""Of the reach: pairs are kept until a mass has moved half of it."""


class NearPairs:
    """The pairs of a crowd within its reach, and somewhat beyond.

    Args:
        crowd: its masses and law.
    """

    def __init__(self, crowd: Crowd) -> None:
        """No pairs before the first look."""
        self._masses = np.array(crowd.masses, dtype=np.int64)
        self._apart = None if crowd.apart is None else np.array(crowd.apart)
        self._reach = crowd_reach(crowd.law)
        self._seen: np.ndarray | None = None
        self._pairs = np.empty((0, 2), dtype=np.int64)

    def at(self, positions: np.ndarray) -> np.ndarray:
        """Pairs of masses, sorted (p, 2).

        Args:
            positions: of all masses of the network (n, 3) [m].
        """
        points = positions[self._masses]
        margin = MARGIN * self._reach
        if not np.abs(points).max() < 1e9:
            raise SoftError(
                "a crowd has left all bounds; ask stability_report for the period"
            )
        if self._seen is not None:
            moved = float(np.max(np.sum((points - self._seen) ** 2, axis=1)))
            if moved < (0.5 * margin) ** 2:
                return self._pairs
        tree = cKDTree(points)
        near = tree.query_pairs(self._reach + margin, output_type="ndarray")
        if self._apart is not None:
            near = near[self._apart[near[:, 0]] != self._apart[near[:, 1]]]
        near = near[np.lexsort((near[:, 1], near[:, 0]))]
        self._pairs = np.ascontiguousarray(self._masses[near])
        self._seen = points
        return self._pairs
