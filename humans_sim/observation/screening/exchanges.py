# SPDX-License-Identifier: Apache-2.0
"""Labels that stand on each other's markers.

Two labels are exchanged where the recording is far more probable with the two
exchanged: distances that then fit count by their logarithmic probabilities, tetrahedra
that then lie the right way round one each.
"""

from __future__ import annotations

import numpy as np

from humans_sim.observation.screening.arrangement import Arrangement

_CERTAIN = 8.0
"""Gain in logarithmic probability of an exchange that is sure."""
_HOPEFUL = -2.0
"""Gain in distances below which an exchange is not looked at further."""
_MOST = 4
"""Exchanges that are looked for; where there are more, all labels are in doubt."""
_WORST = 25.0
"""Largest squared error that counts, in variances."""


def exchanged_labels(arrangement: Arrangement) -> tuple[tuple[str, str], ...]:
    """Pairs of labels that are exchanged, the surest first; empty where none are."""
    names = arrangement.expected.names
    order = np.arange(len(names))
    pairs: list[tuple[str, str]] = []
    while len(pairs) < _MOST and arrangement.scale > 0:
        gain, a, b = _best(arrangement, order)
        if gain < _CERTAIN:
            break
        pairs.append((names[a], names[b]))
        order[[a, b]] = order[[b, a]]
    return tuple(pairs)


def _best(arrangement: Arrangement, order: np.ndarray) -> tuple[float, int, int]:
    """The gain of the best exchange, and which it is."""
    gains = _distance_gains(arrangement, order)
    positions, tetrahedra = arrangement.positions[:, order], arrangement.tetrahedra
    before = tetrahedra.contradicted(positions)
    involved = np.zeros(len(gains), dtype=bool)
    involved[tetrahedra.corners[before]] = True
    # A tetrahedron can only change its sign by one of its corners.
    candidates = np.triu(gains > _HOPEFUL, 1) & (involved[:, None] | involved)
    for a, b in np.argwhere(candidates).tolist():
        swapped = positions.copy()
        swapped[:, [a, b]] = swapped[:, [b, a]]
        after = tetrahedra.contradicted(swapped)
        gains[a, b] += float(before.sum()) - float(after.sum())
    gains = np.where(np.triu(np.ones_like(gains, dtype=bool), 1), gains, -np.inf)
    first, second = divmod(int(np.argmax(gains)), len(gains))
    return float(gains[first, second]), first, second


def _distance_gains(arrangement: Arrangement, order: np.ndarray) -> np.ndarray:
    """What each exchange gains by the stiff distances (m, m)."""
    expected, rows = arrangement.expected, np.arange(len(order))
    measured = arrangement.distances[np.ix_(order, order)] / arrangement.scale
    stiff = arrangement.stiff
    spread = np.where(stiff, expected.spread, 1.0)
    # cost[a, b, j]: of label a on the marker of b, by its distance to the marker of j
    error = (measured[None] - expected.distance[:, None]) / spread[:, None]
    cost = np.where(stiff[:, None], np.minimum(error**2, _WORST) / 2, 0.0)
    own = np.nan_to_num(cost[rows, rows])
    cost = np.where(np.isnan(cost), own[:, None], cost)  # no gain by what is not seen
    between = cost[:, rows, rows] - own  # of the two, which an exchange does not change
    gain = own.sum(axis=1)[:, None] - cost.sum(axis=2) + between
    total: np.ndarray = gain + gain.T
    return total
