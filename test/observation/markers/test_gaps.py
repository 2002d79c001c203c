# SPDX-License-Identifier: Apache-2.0
"""Tests of the splines over occlusions."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.observation.markers.filters import fill_gaps
from humans_sim.observation.markers.trial import MarkerTrial


def trial_of(curve: np.ndarray, hidden: list[int], rate: float = 100.0) -> MarkerTrial:
    """One marker that moves along a curve, hidden in some samples."""
    positions = np.stack([curve, 2 * curve, -curve], axis=1)[:, None]
    positions[hidden] = np.nan
    n = len(curve)
    return MarkerTrial(("m",), 5.0 + np.arange(n) / rate, positions, np.arange(n))


def test_cubics_are_filled_exactly() -> None:
    """A cubic spline through a cubic is the cubic; only missing samples change."""
    t = np.arange(60) / 100
    curve = 1.0 - 2.0 * t + 3.0 * t**2 - 4.0 * t**3
    hidden = [20, 21, 22, 23, 40]
    trial = trial_of(curve, hidden)
    filled = fill_gaps(trial)
    assert not filled.occluded.any()
    assert filled.positions[:, 0, 0] == pytest.approx(curve, abs=1e-10)
    assert filled.positions[:, 0, 1] == pytest.approx(2 * curve, abs=1e-10)
    assert np.flatnonzero(filled.filled[:, 0]).tolist() == hidden
    seen = ~trial.occluded[:, 0]
    assert (filled.positions[seen] == trial.positions[seen]).all()
    # the trial that was given stays as it was
    assert trial.occluded.sum() == len(hidden) and not trial.filled.any()


def test_longest_gap() -> None:
    """A gap as long as the limit is filled, one sample more is not, None fills any."""
    curve = np.sin(np.arange(100) / 10)
    ten, eleven = list(range(20, 30)), list(range(60, 71))
    trial = trial_of(curve, ten + eleven)
    assert np.flatnonzero(fill_gaps(trial, 0.1).filled[:, 0]).tolist() == ten
    assert np.flatnonzero(fill_gaps(trial, None).filled[:, 0]).tolist() == ten + eleven
    error = fill_gaps(trial, None).positions[:, 0, 0] - curve
    assert np.abs(error).max() < 5e-3
    assert not fill_gaps(trial, 0.05).filled.any()


def test_nothing_is_extrapolated() -> None:
    """Before the first and after the last sample a marker stays missing."""
    trial = trial_of(np.arange(30.0), [0, 1, 10, 28, 29])
    filled = fill_gaps(trial, None)
    assert np.flatnonzero(filled.occluded[:, 0]).tolist() == [0, 1, 28, 29]
    never = trial_of(np.arange(5.0), [0, 1, 2, 3, 4])
    assert fill_gaps(never, None).occluded.all()
    once = trial_of(np.arange(5.0), [0, 1, 3, 4])
    assert fill_gaps(once, None).occluded.sum() == 4


@pytest.mark.parametrize("seen", [[0, 4], [0, 2, 4], [0, 1, 4, 5]])
def test_few_samples(seen: list[int]) -> None:
    """Two samples make a line, three a parabola; straight motion stays straight."""
    n = seen[-1] + 1
    hidden = [k for k in range(n) if k not in seen]
    filled = fill_gaps(trial_of(np.arange(float(n)), hidden), None)
    assert filled.positions[:, 0, 0] == pytest.approx(np.arange(n), abs=1e-12)


def test_long_gaps_part_the_splines() -> None:
    """What lies behind a gap that stays open has no say in what is filled."""
    curve = np.zeros(100)
    hidden = [5, *range(12, 60)]
    calm = fill_gaps(trial_of(curve, hidden))
    curve[60:] = 100.0
    wild = fill_gaps(trial_of(curve, hidden))
    assert (calm.positions[5] == wild.positions[5]).all()
    assert np.flatnonzero(wild.filled[:, 0]).tolist() == [5]


def test_earlier_marks_stay_and_bad_limits_are_refused() -> None:
    """Samples already interpolated by others remain marked."""
    trial = fill_gaps(trial_of(np.arange(9.0), [4]))
    assert np.flatnonzero(fill_gaps(trial).filled[:, 0]).tolist() == [4]
    for bad in (0.0, -1.0, float("nan")):
        with pytest.raises(hs.errors.ParameterError, match="must be positive"):
            fill_gaps(trial, bad)
