# SPDX-License-Identifier: Apache-2.0
"""Which way round four markers lie in space: a mirror changes it, no posture does.

The triple product of three edges of a tetrahedron has a sign. For many tetrahedra of
markers near each other the sign is the same in all postures of the joints' ranges; a
recording that is mirrored, or whose left and right labels are exchanged, has the other
one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from humans_sim.observation.screening.expected import ExpectedMarkers

_NEAREST = 7
"""Markers whose distance varies least, as it is and for its length, that make
tetrahedra with one."""
_SURE = 0.9
"""Mean sign over the postures above which a tetrahedron has a handedness."""
_AGAINST = -0.5
"""Mean sign over the frames below which one contradicts it."""


@dataclass(frozen=True, eq=False)
class Tetrahedra:
    """Tetrahedra of markers whose handedness no posture changes.

    Attributes:
        corners: numbers of the markers (k, 4).
        sign: of the triple product of the edges from the first corner (k,).
    """

    corners: np.ndarray
    sign: np.ndarray

    @classmethod
    def of(cls, expected: ExpectedMarkers) -> Tetrahedra:
        """Those of a person's markers."""
        corners = _near_ones(expected)
        sign = np.sign(_volumes(expected.samples, corners)).mean(axis=0)
        sure = np.abs(sign) > _SURE
        return cls(corners[sure], np.sign(sign[sure]))

    def agreement(self, positions: np.ndarray) -> np.ndarray:
        """How far each has its sign in frames (n, m, 3): 1 in all, -1 in none (k,).

        NaN where it was never seen.
        """
        signs = self.sign * np.sign(_volumes(positions, self.corners))
        seen = ~np.isnan(signs)
        count = seen.sum(axis=0)
        total = np.where(seen, signs, 0.0).sum(axis=0)
        mean: np.ndarray = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return mean

    def contradicted(self, positions: np.ndarray) -> np.ndarray:
        """Which of them have the other sign in most frames (k,)."""
        against: np.ndarray = self.agreement(positions) < _AGAINST
        return against


def _near_ones(expected: ExpectedMarkers) -> np.ndarray:
    corners: set[tuple[int, ...]] = set()
    own = np.diag(np.full(len(expected.names), np.inf))
    length = expected.distance + np.eye(len(own))
    for spread in (expected.spread, expected.spread / length):
        nearest = np.argsort(spread + own, axis=1, kind="stable")
        for marker, row in enumerate(nearest[:, : min(_NEAREST, len(own) - 1)]):
            for three in combinations(row.tolist(), 3):
                corners.add(tuple(sorted((marker, *three))))
    return np.array(sorted(corners), dtype=np.int64).reshape(-1, 4)


def _volumes(positions: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Triple products (n, k) of positions (n, m, 3)."""
    x, y, z = np.moveaxis(positions, 2, 0)
    ax, bx, cx = (x[:, corners[:, k]] - x[:, corners[:, 0]] for k in (1, 2, 3))
    ay, by, cy = (y[:, corners[:, k]] - y[:, corners[:, 0]] for k in (1, 2, 3))
    az, bz, cz = (z[:, corners[:, k]] - z[:, corners[:, 0]] for k in (1, 2, 3))
    volumes: np.ndarray = (
        ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
    )
    return volumes
