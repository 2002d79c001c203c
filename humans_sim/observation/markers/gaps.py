# SPDX-License-Identifier: Apache-2.0
"""Occlusions filled by cubic splines through the samples around them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline

from humans_sim.core.disk_arrays import by_rows, column_of, put_column
from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers.trial import MarkerTrial

MAX_GAP = 0.1
"""Longest gap that is filled where nothing else is said [s]."""
_ROUNDING = 1e-6
"""Times of files are rounded: a gap may be longer by so much [s]."""


def fill_gaps(trial: MarkerTrial, max_gap: float | None = MAX_GAP) -> MarkerTrial:
    """Fill the gaps of each marker by a cubic spline of each coordinate.

    Nothing is extrapolated before the first and after the last sample of a marker. A
    spline runs through all samples between two gaps that stay open; where these are
    three or two, it is a parabola or a line.

    Args:
        trial: the markers.
        max_gap: longest gap to fill, from its first missing sample to the next seen
            one [s]; None fills any.

    Raises:
        ParameterError: the longest gap is not a positive number.
    """
    if max_gap is not None and not max_gap > 0:
        raise ParameterError(f"the longest gap is {max_gap:g} s: it must be positive")
    longest = np.inf if max_gap is None else max_gap + _ROUNDING
    occluded = trial.occluded
    if not occluded.any():
        return trial
    positions = by_rows(np.copy, trial.positions)
    filled = trial.filled.copy()
    for column in np.flatnonzero(occluded.any(axis=0)):
        values = column_of(trial.positions, int(column))
        seen = np.flatnonzero(~occluded[:, column])
        for stretch in _joined(trial.times, seen, longest):
            inside = np.arange(stretch[0], stretch[-1] + 1)
            missing = inside[occluded[inside, column]]
            if len(missing):
                start = trial.times[stretch[0]]
                spline = CubicSpline(trial.times[stretch] - start, values[stretch])
                values[missing] = spline(trial.times[missing] - start)
                filled[missing, column] = True
        put_column(positions, int(column), values)
    return replace(trial, positions=positions, filled=filled)


def _joined(times: np.ndarray, seen: np.ndarray, longest: float) -> list[np.ndarray]:
    """Rows that were seen, parted where the gap between two is too long."""
    if not len(seen):
        return []
    before, after = seen[:-1], seen[1:]
    gap = np.where(after > before + 1, times[after] - times[before + 1], 0.0)
    return np.split(seen, np.flatnonzero(gap > longest) + 1)
