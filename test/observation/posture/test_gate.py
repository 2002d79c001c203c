# SPDX-License-Identifier: Apache-2.0
"""Markers that are where they cannot be: by metres and seconds, not by frames."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.observation.markers.marker_set import MarkerSet, load_marker_set
from humans_sim.observation.markers.synthetic import (
    Motion,
    marker_positions,
    swapped,
    synthetic_trial,
)
from humans_sim.observation.posture.reconstruct import solve_postures
from humans_sim.observation.posture.result import MarkerStatus

RATES = (60.0, 100.0, 250.0)
STRIDE = 0.62
"""Time of a stride of the run [s]."""


@pytest.fixture(scope="module")
def markers(human: hs.Model) -> MarkerSet:
    """Markers of a gait laboratory that stay on in motions."""
    whole = load_marker_set("plug-in-gait", human)
    return whole.of(m.name for m in whole.markers if not m.calibration)


@pytest.fixture(scope="module")
def run(human: hs.Model) -> Motion:
    """A run at 5 m/s whose feet reach 8 m/s."""
    place = {name: 7 + i for i, name in enumerate(human.joint_names)}

    def posture(t: float) -> np.ndarray:
        q = human.neutral()
        q[0] = 5.0 * t
        for side, start in (("l", 0.0), ("r", np.pi)):
            phase = 2 * np.pi * t / STRIDE + start
            q[place[f"{side}_hip_pitch"]] = 0.2 + 0.55 * np.sin(phase)
            q[place[f"{side}_knee"]] = -0.9 + 0.8 * np.sin(phase + 2.4)
            q[place[f"{side}_ankle_pitch"]] = 0.3 * np.sin(phase + 1.0)
            q[place[f"{side}_elbow_pitch"]] = 1.2
            q[place[f"{side}_shoulder_pitch"]] = -0.6 * np.sin(phase)
        return q

    return posture


def test_the_feet_are_fast(human: hs.Model, markers: MarkerSet, run: Motion) -> None:
    """Faster than 8 m/s: at 60 Hz they move by more than 13 cm from frame to frame."""
    times = np.arange(0.0, STRIDE, 1e-3)
    places = marker_positions(human, markers, np.array([run(t) for t in times]))
    speed = np.linalg.norm(np.diff(places, axis=0), axis=2) * 1e3
    assert 8.0 < speed.max() < 10.0


@pytest.mark.parametrize("rate", RATES)
def test_fast_feet_are_believed_at_any_rate(
    human: hs.Model, markers: MarkerSet, run: Motion, rate: float
) -> None:
    """No marker of a run is rejected, whatever the rate, with and without noise."""
    trial = synthetic_trial(
        human, markers, run, duration=2 * STRIDE, rate=rate, noise=0.003
    )
    result = solve_postures(human, trial, markers, uncertainty=False)
    assert (result.status == MarkerStatus.USED).all()
    assert result.rms < 0.006


@pytest.mark.parametrize("rate", RATES)
def test_exchanged_markers_are_rejected_at_any_rate(
    human: hs.Model, markers: MarkerSet, run: Motion, rate: float
) -> None:
    """Ankle and toe of a running foot are mistaken for each other for a quarter second.

    They alone are rejected, from the first frame to the last.
    """
    pair = ("LANK", "LTOE")
    trial = synthetic_trial(
        human, markers, run, duration=2 * STRIDE, rate=rate, noise=0.003
    )
    wrong = swapped(trial, pair, 0.5, 0.75)
    result = solve_postures(human, wrong, markers, uncertainty=False)
    rejected = result.status == MarkerStatus.REJECTED
    during = (wrong.times >= 0.5) & (wrong.times <= 0.75)
    columns = [wrong.names.index(name) for name in pair]
    assert rejected[during][:, columns].all()
    assert not rejected[~during].any()
    assert not np.delete(rejected, columns, axis=1).any()


@pytest.mark.parametrize("rate", RATES)
def test_a_marker_that_jumps_is_rejected_at_any_rate(
    human: hs.Model, markers: MarkerSet, run: Motion, rate: float
) -> None:
    """A knee marker is half a metre away for a tenth of a second."""
    trial = synthetic_trial(human, markers, run, duration=STRIDE, rate=rate)
    positions = trial.positions.copy()
    away = (trial.times >= 0.2) & (trial.times <= 0.3)
    column = trial.names.index("RKNE")
    positions[away, column, 1] += 0.5
    result = solve_postures(human, trial.moved(positions), markers, uncertainty=False)
    rejected = result.status == MarkerStatus.REJECTED
    assert rejected[away, column].all()
    assert rejected.sum() == away.sum()
