# SPDX-License-Identifier: Apache-2.0
"""Which markers move with which segment: distances that stay over a motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from humans_sim.observation.markers.trial import MarkerTrial

_FEWEST = 20
"""Frames in which two markers must be seen for their distance to say anything."""
_MOST = 400
"""Frames that are looked at; more of a motion repeat it."""
_INNER = (10.0, 90.0)
"""Percentiles between which a distance counts: swaps and ghosts are beyond."""
_TO_DEVIATION = 2.563
"""Width of these of a normal distribution, in standard deviations."""
_SLIDE, _SLIDE_OF_TWO = 0.004, 0.008
"""Usual change of a distance on one segment, as skin slides, and where it is the only
one: two markers of a foot flex with the shoe [m]."""
_MOST_COST = 9.0
"""Of rigidity, in squared deviations: a marker on the wrong segment misleads others."""
_PLACE = 0.05
"""Usual distance of a marker from the nearest landmark of its segment [m]."""
_ROUNDS = 5


def distance_spreads(
    motions: Sequence[MarkerTrial], names: Sequence[str]
) -> np.ndarray:
    """Standard deviations of the distances of all pairs over motions (m, m) [m].

    NaN where a pair is not seen together often enough.

    Args:
        motions: recordings in which the person moves.
        names: of the markers, in the order of rows and columns.
    """
    m = len(names)
    frames = []
    for trial in motions:
        rows = np.unique(np.linspace(0, len(trial) - 1, _MOST).astype(int))
        part = np.full((len(rows), m, 3), np.nan)
        for column, name in enumerate(names):
            if name in trial.names:
                part[:, column] = trial.positions[rows, trial.names.index(name)]
        frames.append(part)
    spreads = np.full((m, m), np.nan)
    if not frames:
        return spreads
    positions = np.concatenate(frames)
    for k in range(m):
        apart = np.linalg.norm(positions - positions[:, k : k + 1], axis=2)
        for other in range(k):
            seen = apart[:, other][np.isfinite(apart[:, other])]
            if len(seen) >= _FEWEST:
                low, high = np.percentile(seen, _INNER)
                spreads[k, other] = spreads[other, k] = (high - low) / _TO_DEVIATION
    return spreads


def segment_costs(
    places: np.ndarray, spreads: np.ndarray, members: np.ndarray
) -> np.ndarray:
    """How badly each marker fits each segment, in squared deviations (m, s).

    Args:
        places: distance of a marker from the nearest place on a segment (m, s) [m].
        spreads: of :func:`distance_spreads` (m, m) [m].
        members: segment of each marker (m,).
    """
    moving, number = _rigidity(spreads, members, places.shape[1])
    usual = np.where(number > 1, _SLIDE, _SLIDE_OF_TWO)
    rigid = np.minimum((moving / usual) ** 2, _MOST_COST)
    # A segment without other markers says nothing: as good as a marker's usual one.
    known = np.isfinite(moving)
    rigid = np.where(known, rigid, np.where(known.any(axis=1), 1.0, 0.0)[:, None])
    costs: np.ndarray = (places / _PLACE) ** 2 + rigid
    return costs


def assign_segments(
    places: np.ndarray, spreads: np.ndarray, members: np.ndarray, fixed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Segments of all markers by place and rigidity together.

    Args:
        places: distance of a marker from the nearest place on a segment (m, s) [m].
        spreads: of :func:`distance_spreads` (m, m) [m].
        members: segment of each marker to begin with (m,).
        fixed: markers whose segment is known (m,).

    Returns:
        The segments (m,), and the costs of :func:`segment_costs` (m, s).
    """
    members = members.copy()
    for _ in range(_ROUNDS):
        costs = segment_costs(places, spreads, members)
        better = np.where(fixed, members, costs.argmin(axis=1))
        if (better == members).all():
            break
        members = better
    return members, segment_costs(places, spreads, members)


def _rigidity(
    spreads: np.ndarray, members: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Median change of distances from a marker to the others of a segment (m, s) [m].

    Also how many others these are (m, s).
    """
    moving = np.full((len(members), count), np.nan)
    number = np.zeros((len(members), count), dtype=np.int64)
    for segment in range(count):
        for marker in range(len(members)):
            others = members == segment
            others[marker] = False
            known = spreads[marker, others]
            known = known[np.isfinite(known)]
            if len(known):
                moving[marker, segment] = np.median(known)
                number[marker, segment] = len(known)
    return moving, number
