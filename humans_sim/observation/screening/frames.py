# SPDX-License-Identifier: Apache-2.0
"""Which frames of a recording are looked at, and how fast its markers are there."""

from __future__ import annotations

import numpy as np

from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.wide_search import FEWEST
from humans_sim.observation.screening.arrangement import median

LAG = 0.1
"""Time over which a speed is a person's, not a marker's noise [s]."""
_FINE = 3
"""Frames of a lag from which it is longer than a step."""
_ALIKE = 0.5
"""Share of the distance over a lag that no step from frame to frame has."""
_PLACES = 40
"""Frames all over a recording, each with the next one and the one a lag later."""


def look_at(trial: MarkerTrial) -> MarkerTrial:
    """Some frames of a trial; every marker that is seen at all is seen in them."""
    if len(trial) <= 3 * _PLACES + len(trial.names):
        return trial
    seen = ~np.isnan(trial.positions[:, :, 0])
    usable = np.flatnonzero(seen.sum(axis=1) >= FEWEST)
    if not len(usable):
        return trial.samples(slice(0, 1))
    count = len(trial)
    first = usable[np.linspace(0, len(usable) - 1, _PLACES).astype(int)]
    lag = max(round(LAG * trial.rate), 1)
    rows = np.concatenate([first, first + 1, first + lag, seen.argmax(axis=0)])
    return trial.samples(np.unique(rows[rows < count]))


def speeds(trial: MarkerTrial, lag: float | None = None) -> np.ndarray:
    """Speeds of markers at some times, NaN where not seen (k, m) [m/s].

    Args:
        trial: some frames of a recording, or all.
        lag: time over which they are measured [s]; None: from one frame to the next.
    """
    nothing = np.full((1, len(trial.names)), np.nan)
    if len(trial) < 2:
        return nothing
    times = trial.times
    period = float(np.diff(times).min())
    lag = period if lag is None else max(lag, period)
    later = np.searchsorted(times, times + lag - 0.5 * period)
    within = np.minimum(later, len(times) - 1)
    pairs = np.flatnonzero(
        (later < len(times)) & (times[within] - times < lag + 0.5 * period)
    )
    if not len(pairs):
        return nothing
    pairs = pairs[np.unique(np.linspace(0, len(pairs) - 1, 2 * _PLACES).astype(int))]
    steps = trial.positions[later[pairs]] - trial.positions[pairs]
    spans = times[later[pairs]] - times[pairs]
    found: np.ndarray = np.linalg.norm(steps, axis=2) / spans[:, None]
    return found


def disorder(trial: MarkerTrial) -> float:
    """Distance from frame to frame, where it is no larger over a lag; else 0 [m].

    Who moves is further away after a tenth of a second than in the next frame, unless
    frames are not in the order of their times.
    """
    if len(trial) < 2 or LAG < _FINE * float(np.diff(trial.times).min()):
        return 0.0
    period = float(np.diff(trial.times).min())
    near = float(median(period * speeds(trial).reshape(-1, 1))[0])
    far = float(median(LAG * speeds(trial, LAG).reshape(-1, 1))[0])
    return near if near > _ALIKE * far else 0.0
