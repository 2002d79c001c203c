# SPDX-License-Identifier: Apache-2.0
"""How large a recording is, and whether its markers fit together as the person's do.

Distances between markers of a segment, and across a joint or two, hardly depend on the
posture. Their ratio to those of the person is the scale of the recording; what then
does not fit is a label on the wrong marker.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from humans_sim.observation.screening.expected import ExpectedMarkers, pair_distances
from humans_sim.observation.screening.handedness import Tetrahedra

_STEADY = 0.06
"""Share of a distance that postures change, of one that shows a scale."""
_STIFF, _BENT = 0.1, 0.03
"""Standard deviation of a distance that shows a wrong label, and the posture's part in
it [m]."""
_FEWEST = 4
"""Tetrahedra that show a mirror."""
_FAR = 4.0
"""A distance so many standard deviations off does not fit."""


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Markers of a recording beside those expected.

    Attributes:
        expected: where the markers of the person can be.
        tetrahedra: of them.
        positions: of the markers in some frames, NaN where not seen (n, m, 3) [m].
    """

    expected: ExpectedMarkers
    tetrahedra: Tetrahedra
    positions: np.ndarray

    @cached_property
    def distances(self) -> np.ndarray:
        """Median distance of each pair over the frames; NaN without any (m, m) [m]."""
        return median(pair_distances(self.positions))

    @cached_property
    def scale(self) -> float:
        """Size of the recording over that of the person; NaN where nothing shows it."""
        expected = self.expected
        shown = np.triu(expected.bending < _STEADY * expected.length, 1)
        shown &= np.isfinite(self.distances)
        if not shown.any():
            return float("nan")
        ratios = self.distances[shown] / expected.length[shown]
        weights = (expected.length[shown] / expected.spread[shown]) ** 2
        order = np.argsort(ratios)
        total = np.cumsum(weights[order])
        return float(ratios[order][np.searchsorted(total, 0.5 * total[-1])])

    @cached_property
    def looseness(self) -> float:
        """Standard deviation of distances within a segment, the median [m]; NaN: none.

        Skin moves by a centimetre or two, and that is all.
        """
        body = self.expected.body
        rigid = np.argwhere(np.triu(body[:, None] == body, 1))
        first, second = self.positions[:, rigid[:, 0]], self.positions[:, rigid[:, 1]]
        lengths = np.linalg.norm(first - second, axis=2)
        # 1.4826: from the median deviation of normal noise to its standard deviation
        spread = 1.4826 * median(np.abs(lengths - median(lengths)))
        spread = spread[np.isfinite(spread)]
        return float(np.median(spread)) if len(spread) else float("nan")

    @cached_property
    def mirrored(self) -> float:
        """Share of the tetrahedra that lie the other way round; 0 of too few."""
        agreement = self.tetrahedra.agreement(self.positions)
        seen = agreement[~np.isnan(agreement)]
        return float((seen < 0).mean()) if len(seen) >= _FEWEST else 0.0

    @cached_property
    def stiff(self) -> np.ndarray:
        """Pairs whose distance says something, and which were seen (m, m)."""
        varied = (self.expected.spread > 0) & (self.expected.spread < _STIFF)
        varied &= self.expected.bending < _BENT
        stiff: np.ndarray = varied & np.isfinite(self.distances)
        return stiff

    @property
    def misplaced(self) -> float:
        """Share of the stiff distances that no posture explains; 0 without any."""
        if not self.stiff.any() or not self.scale > 0:
            return 0.0
        error = np.abs(self.distances / self.scale - self.expected.distance)
        off = error[self.stiff] > _FAR * self.expected.spread[self.stiff]
        return float(off.mean())


def median(values: np.ndarray) -> np.ndarray:
    """Median over the first axis of what is not NaN; NaN where there is nothing."""
    ordered = np.sort(values, axis=0)  # NaN comes last
    last = np.maximum((~np.isnan(values)).sum(axis=0) - 1, 0)
    lower, upper = last // 2, (last + 1) // 2
    middle: np.ndarray = 0.5 * (
        np.take_along_axis(ordered, lower[None], axis=0)[0]
        + np.take_along_axis(ordered, upper[None], axis=0)[0]
    )
    return middle
