# SPDX-License-Identifier: Apache-2.0
"""Tests of the low-pass filters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import butter, lfilter, lfilter_zi

import humans_sim as hs
from humans_sim.observation.markers.filters import (
    JUMP,
    JUMP_ACCELERATION,
    CausalFilter,
    jumps,
    smooth_markers,
)
from humans_sim.observation.markers.trial import MarkerTrial

RATE = 100.0


def trial_of(curve: np.ndarray, rate: float = RATE) -> MarkerTrial:
    """A marker that moves along x."""
    positions = np.zeros((len(curve), 1, 3))
    positions[:, 0, 0] = curve
    positions[np.isnan(curve)] = np.nan
    times = np.arange(len(curve)) / rate
    return MarkerTrial(("m",), times, positions, np.arange(len(curve)))


def wave(frequency: float, n: int = 2000) -> np.ndarray:
    """A sine of one metre."""
    return np.sin(2 * np.pi * frequency * np.arange(n) / RATE)


def run(filter_: CausalFilter, samples: np.ndarray) -> np.ndarray:
    """A live filter over all samples."""
    return np.array([filter_.push(sample) for sample in samples])


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("cutoff", [4.0, 8.0, 30.0])
def test_gain_at_the_cutoff(cutoff: float, order: int) -> None:
    """Both filters let the half power through at the cut-off."""
    trial = trial_of(wave(cutoff))
    middle = slice(500, 1500)
    live = run(CausalFilter(RATE, cutoff, order), trial.positions)[middle, 0, 0]
    offline = smooth_markers(trial, cutoff, order).positions[middle, 0, 0]
    for result in (live, offline):
        gain = np.sqrt((result**2).sum() / (wave(cutoff)[middle] ** 2).sum())
        assert 20 * np.log10(gain) == pytest.approx(-3.01, abs=0.02)


def test_zero_phase() -> None:
    """What passes the offline filter comes at its own time, and whole."""
    curve = wave(2.0)
    smooth = smooth_markers(trial_of(curve)).positions[:, 0, 0]
    assert np.abs(smooth - curve)[100:-100].max() < 0.005
    backward = smooth_markers(trial_of(curve[::-1])).positions[::-1, 0, 0]
    assert smooth == pytest.approx(backward, abs=1e-5)
    noise = smooth_markers(trial_of(wave(40.0))).positions[200:-200, 0, 0]
    assert np.abs(noise).max() < 1e-3


def test_straight_motion_stays() -> None:
    """No transient at the ends, whatever the length of a stretch."""
    for n in (1, 2, 3, 5, 30):
        line = 3.0 + 0.01 * np.arange(n)
        assert smooth_markers(trial_of(line)).positions[:, 0, 0] == pytest.approx(
            line, abs=1e-5
        )


def test_stretches_are_filtered_apart(rng: np.random.Generator) -> None:
    """A gap, or samples lost in time, part the signal; gaps stay gaps."""
    curve = rng.normal(size=200)
    curve[80:90] = np.nan
    smooth = smooth_markers(trial_of(curve)).positions
    assert np.flatnonzero(np.isnan(smooth[:, 0, 0])).tolist() == list(range(80, 90))
    first = smooth_markers(trial_of(curve[:80])).positions
    assert smooth[:80] == pytest.approx(first, abs=1e-12)
    whole = trial_of(np.where(np.isnan(curve), 0.0, curve))
    parted = smooth_markers(whole.samples(np.r_[0:80, 90:200])).positions
    assert parted[:80] == pytest.approx(first, abs=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_live_filter_is_that_of_scipy(order: int, rng: np.random.Generator) -> None:
    """One sample at a time gives what scipy gives for all, from a steady start."""
    samples = rng.normal(size=(300, 4, 3))
    b, a = butter(order, 8.0, fs=RATE)
    start = lfilter_zi(b, a)[:, None, None] * samples[:1]
    expected, _ = lfilter(b, a, samples, axis=0, zi=start)
    live = run(CausalFilter(RATE, 8.0, order, 4), samples)
    assert live == pytest.approx(expected, abs=1e-10)
    assert live[0] == pytest.approx(samples[0], abs=1e-12)


def test_live_filter_restarts_after_a_gap(rng: np.random.Generator) -> None:
    """A marker that comes back starts anew; the other one goes on undisturbed."""
    samples = rng.normal(size=(60, 2, 3))
    samples[20:25, 0] = np.nan
    samples[30, 0, 1] = np.nan
    live = run(CausalFilter(RATE, columns=2), samples)
    hidden = np.isnan(live).any(axis=2)
    assert np.flatnonzero(hidden[:, 0]).tolist() == [*range(20, 25), 30]
    assert not hidden[:, 1].any()
    assert live[25, 0] == pytest.approx(samples[25, 0], abs=1e-12)
    alone = CausalFilter(RATE)
    assert live[:, 1:] == pytest.approx(run(alone, samples[:, 1:]), abs=1e-12)
    alone.reset()
    assert live[25:30, :1] == pytest.approx(run(alone, samples[25:30, :1]), abs=1e-12)


def test_impossible_filters() -> None:
    """Cut-offs beyond half the rate, orders and sizes that cannot be."""
    trial = trial_of(wave(1.0, 50))
    for cutoff in (50.0, 0.0, -1.0, float("nan")):
        with pytest.raises(hs.errors.ParameterError, match="half the sampling rate"):
            smooth_markers(trial, cutoff)
        with pytest.raises(hs.errors.ParameterError, match="half the sampling rate"):
            CausalFilter(RATE, cutoff)
    for order in (0, 9):
        with pytest.raises(hs.errors.ParameterError, match="order"):
            smooth_markers(trial, 8.0, order)
    with pytest.raises(hs.errors.ParameterError, match="sampling rate"):
        CausalFilter(0.0)
    with pytest.raises(hs.errors.ParameterError, match="shape"):
        CausalFilter(RATE, columns=2).push(np.zeros((3, 3)))


def test_exchanged_markers_are_not_smeared() -> None:
    """A marker that is elsewhere for a while, or for one sample, stays whole there."""
    times = np.arange(200) / 100.0
    positions = np.zeros((200, 1, 3))
    positions[:, 0, 0] = 0.3 * np.sin(2 * np.pi * times)
    true = positions.copy()
    positions[80:120] += 0.2
    positions[150] -= 0.3
    trial = MarkerTrial(("a",), times, positions, np.arange(200))
    smooth = smooth_markers(trial).positions
    elsewhere = np.zeros((200, 1, 3))
    elsewhere[80:120], elsewhere[150] = 0.2, -0.3
    assert np.abs(smooth - true - elsewhere).max() < 0.02


def test_fast_and_noisy_markers_do_not_jump(rng: np.random.Generator) -> None:
    """Neither noise of 5 mm nor a foot that strikes the ground at 60 Hz."""
    noise = rng.normal(0, 0.005, (5000, 3))
    assert not jumps(noise, JUMP + JUMP_ACCELERATION / 100.0**2).any()
    times = np.arange(60) / 60.0
    foot = np.zeros((60, 3))
    foot[:, 0] = 8.0 * np.minimum(times, 0.5)
    assert not jumps(foot, JUMP + JUMP_ACCELERATION / 60.0**2).any()
