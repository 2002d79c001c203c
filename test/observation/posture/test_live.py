# SPDX-License-Identifier: Apache-2.0
"""Postures from frames that come one after another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from strolls import walking

import humans_sim as hs
from humans_sim.observation.markers import MarkerTrial
from humans_sim.observation.markers.marker_set import MarkerSet, load_marker_set
from humans_sim.observation.markers.synthetic import swapped, swaying, synthetic_trial
from humans_sim.observation.posture.live import LivePostures
from humans_sim.observation.posture.result import MarkerStatus


@pytest.fixture(scope="module")
def human() -> hs.Model:
    """The person."""
    return hs.load_model("human36")


@pytest.fixture(scope="module")
def markers(human: hs.Model) -> MarkerSet:
    """Its canonical set."""
    return load_marker_set("canonical", human)


@pytest.fixture(scope="module")
def trial(human: hs.Model) -> MarkerTrial:
    """A motion without noise."""
    return synthetic_trial(human, duration=0.6)


def test_postures_and_velocities_of_a_motion(
    human: hs.Model, markers: MarkerSet, trial: MarkerTrial
) -> None:
    """Joints that markers see are found, with their speeds; the others are named."""
    live = LivePostures(human, markers)
    motion = swaying(human)
    for row, positions in enumerate(trial.positions):
        frame = live.push(trial.times[row], trial.names, positions)
    assert frame.rms < 1e-5
    assert (frame.status == MarkerStatus.USED).all()
    assert not frame.begins
    assert live.beginnings == 1
    unseen = live.unobservable(frame)
    seen = [k for k, n in enumerate(human.joint_names) if n not in unseen]
    assert len(seen) > 30
    truth = motion(frame.t)
    before = motion(trial.times[-2])
    # Arms have few markers: what they see badly trails a little.
    sharp = [k for k in seen if human.joint_names[k][2:5] in ("hip", "kne", "ank")]
    assert len(sharp) == 12
    np.testing.assert_allclose(frame.q[7:][seen], truth[7:][seen], atol=0.05)
    np.testing.assert_allclose(frame.q[7:][sharp], truth[7:][sharp], atol=1e-4)
    speeds = (truth - before)[7:] * 100.0
    np.testing.assert_allclose(frame.v[6:][sharp], speeds[sharp], atol=0.01)


def test_other_labels_and_markers_nobody_knows(
    human: hs.Model, markers: MarkerSet, trial: MarkerTrial
) -> None:
    """Labels are identified as in files; others are unknown, whatever they are."""
    live = LivePostures(human, markers)
    names = ["", *(f"Jo:{name.upper()}" for name in reversed(trial.names)), "", "ghost"]
    strange = np.ones((1, 3))
    positions = np.vstack(
        [strange, trial.positions[0, ::-1], np.full((1, 3), np.nan), strange]
    )
    frame = live.push(0.0, names, positions)
    status = MarkerStatus
    assert frame.status[[0, -2, -1]].tolist() == [
        status.UNKNOWN,
        status.OCCLUDED,
        status.UNKNOWN,
    ]
    assert (frame.status[1:-2] == status.USED).all()
    assert np.isnan(frame.markers[[0, -2, -1]]).all()
    np.testing.assert_allclose(frame.markers[1:-2], positions[1:-2], atol=1e-4)


def test_occluded_and_swapped_markers_are_told(
    human: hs.Model, markers: MarkerSet, trial: MarkerTrial
) -> None:
    """Two swapped markers are rejected, the posture stays."""
    pair = (trial.names[2], trial.names[-3])
    wrong = swapped(trial, pair, 0.2, 0.4)
    hidden = trial.names[5]
    positions = wrong.positions.copy()
    positions[30:, 5] = np.nan
    live, columns = LivePostures(human, markers), [trial.names.index(n) for n in pair]
    distance = np.linalg.norm(
        trial.positions[30, columns[0]] - trial.positions[30, columns[1]]
    )
    assert distance > 0.3
    for row in range(31):
        frame = live.push(trial.times[row], trial.names, positions[row])
    assert (frame.status[columns] == MarkerStatus.REJECTED).all()
    assert frame.status[5] == MarkerStatus.OCCLUDED
    assert np.isfinite(frame.markers[5]).all()
    assert np.isnan(frame.differences[5]).all()
    assert hidden not in pair
    assert frame.rms < 2e-3


def test_time_that_goes_back_and_silence_begin_anew(
    human: hs.Model, markers: MarkerSet, trial: MarkerTrial
) -> None:
    """Then labels may change; at other times they may not."""
    live = LivePostures(human, markers)
    names, first = trial.names, trial.positions[0]
    assert live.push(10.0, names, first).begins
    assert not live.push(10.01, names, first).begins
    fewer = names[:-1]
    with pytest.raises(
        hs.errors.ConfigurationError, match="labels changed.*28 are now 27"
    ):
        live.push(10.02, fewer, first[:-1])
    with pytest.raises(hs.errors.ConfigurationError, match="time of the one before"):
        live.push(10.01, names, first)
    assert not live.push(10.02, names, first).begins
    assert live.push(9.0, fewer, first[:-1]).begins
    assert live.push(10.5, names, first).begins
    assert live.push(11.6, fewer, first[:-1]).begins
    with pytest.raises(hs.errors.ConfigurationError, match="no markers"):
        live.push(11.61, (), np.zeros((0, 3)), anew=True)
    assert not live.push(11.61, fewer, first[:-1]).begins
    assert live.push(11.62, names, first, anew=True).begins
    assert live.beginnings == 5


def test_the_filter_begins_when_the_rate_is_known(
    human: hs.Model, markers: MarkerSet
) -> None:
    """Noise of the base grows less; a cut-off that cannot be is told once."""
    still = human.neutral()
    noisy = synthetic_trial(human, motion=lambda t: still, duration=1.0, noise=0.005)
    plain = LivePostures(human, markers)
    smooth = LivePostures(human, markers, cutoff=4.0)
    spread = []
    for live in (plain, smooth):
        rows = [
            live.push(t, noisy.names, y).q[:3]
            for t, y in zip(noisy.times, noisy.positions, strict=True)
        ]
        spread.append(np.diff(rows[40:], axis=0).std())
    assert spread[1] < 0.3 * spread[0]
    assert smooth.note == ""
    high = LivePostures(human, markers, cutoff=60.0)
    for t, y in zip(noisy.times[:20], noisy.positions, strict=False):
        high.push(t, noisy.names, y)
    assert "not filtered" in high.note


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("t", "names", "positions", "message"),
    [
        (NAN, ("a", "b", "c"), np.zeros((3, 3)), "time"),
        (0.0, (), np.zeros((0, 3)), "no markers"),
        (0.0, ("a", "b", "c"), np.zeros((2, 3)), "3 labels"),
        (0.0, ("a", "b", "c"), np.zeros((3, 2)), "3 labels"),
        (0.0, ("a", "b", "a"), np.zeros((3, 3)), "two markers are called 'a'"),
        (0.0, ("a", "b", "c"), np.full((3, 3), INF), "metres"),
        (0.0, ("a", "b", "c"), np.full((3, 3), -1700.0), "metres"),
        (0.0, ("", "", ""), np.zeros((3, 3)), "no marker has a label"),
    ],
)
def test_frames_that_are_refused(
    human: hs.Model,
    markers: MarkerSet,
    trial: MarkerTrial,
    t: float,
    names: tuple[str, ...],
    positions: np.ndarray,
    message: str,
) -> None:
    """The error says why, and the next sound frame goes on as if nothing was."""
    live = LivePostures(human, markers)
    with pytest.raises(hs.errors.ConfigurationError, match=message):
        live.push(t, names, positions)
    live.push(10.0, trial.names, trial.positions[0])
    with pytest.raises(hs.errors.ConfigurationError):
        live.push(t, names, positions)
    assert not live.push(10.01, trial.names, trial.positions[1]).begins


def test_labels_of_another_set(human: hs.Model, markers: MarkerSet) -> None:
    """Too few that are known: the error says what to do."""
    live = LivePostures(human, markers)
    with pytest.raises(hs.errors.ParameterError, match="correspondence"):
        live.push(0.0, ("a", "b", "c"), np.zeros((3, 3)))


def test_a_correspondence_file(
    human: hs.Model, markers: MarkerSet, trial: MarkerTrial, tmp_path: Path
) -> None:
    """Labels of a laboratory by a file."""
    file = tmp_path / "labels.yaml"
    file.write_text(
        "".join(f"{name}: m{k}\n" for k, name in enumerate(trial.names)), "utf-8"
    )
    live = LivePostures(human, markers, correspondence=file)
    names = [f"m{k}" for k in range(len(trial.names))]
    frame = live.push(0.0, names, trial.positions[0])
    assert (frame.status == MarkerStatus.USED).all()


def test_a_frame_without_any_marker_seen(
    human: hs.Model, markers: MarkerSet, trial: MarkerTrial
) -> None:
    """The body goes on as it did, and nothing is said to converge."""
    live = LivePostures(human, markers)
    live.push(0.0, trial.names, trial.positions[0])
    frame = live.push(0.01, trial.names, np.full_like(trial.positions[0], np.nan))
    assert np.isfinite(frame.q).all()
    assert not frame.converged
    assert (frame.status == MarkerStatus.OCCLUDED).all()
    assert np.isnan(frame.rms)
    assert len(live.unobservable(frame)) == len(human.joint_names)


def test_settings_out_of_range(human: hs.Model, markers: MarkerSet) -> None:
    """The error says which."""
    with pytest.raises(hs.errors.ParameterError, match="cut-off"):
        LivePostures(human, markers, cutoff=NAN)
    with pytest.raises(hs.errors.ParameterError, match="longest_gap"):
        LivePostures(human, markers, longest_gap=0.0)


def test_live_intervals_cover_the_truth(human: hs.Model) -> None:
    """With noise that nobody named, and a marker set that sees every joint."""
    whole = load_marker_set("plug-in-gait", human)
    markers = whole.of(m.name for m in whole.markers if not m.calibration)
    q = walking(human, 150)
    trial = synthetic_trial(
        human, markers, lambda t: q[round(100 * t)], duration=1.5, noise=0.003
    )
    live = LivePostures(human, markers)
    frames = [
        live.push(t, trial.names, positions)
        for t, positions in zip(trial.times, trial.positions, strict=True)
    ]
    assert frames[-1].noise == pytest.approx(0.003, rel=0.1)
    error = np.abs(np.array([frame.q for frame in frames]) - q)[20:, 7:]
    std = np.array([frame.std[6:] for frame in frames])[20:]
    assert 0.92 <= (error < 1.96 * std).mean() <= 0.985
    assert not any(frame.hidden.any() for frame in frames[20:])


def test_a_joint_that_live_markers_hide_is_held_less_and_less_surely(
    human: hs.Model,
) -> None:
    """A leg without markers for half a second: its knee stays, its spread grows."""
    whole = load_marker_set("plug-in-gait", human)
    markers = whole.of(m.name for m in whole.markers if not m.calibration)
    q = walking(human, 150)
    trial = synthetic_trial(
        human, markers, lambda t: q[round(100 * t)], duration=1.5, noise=0.003
    )
    positions = trial.positions.copy()
    leg = [
        k
        for k, m in enumerate(markers.markers)
        if m.segment in ("l_thigh", "l_shank", "l_foot")
    ]
    positions[80:130, leg] = np.nan
    live = LivePostures(human, markers)
    frames = [
        live.push(t, trial.names, row)
        for t, row in zip(trial.times, positions, strict=True)
    ]
    knee = human.joint_names.index("l_knee")
    hidden = np.array([frame.hidden[knee] for frame in frames])
    assert hidden[81:129].all() and not hidden[:80].any() and not hidden[132:].any()
    std = np.array([frame.std[6 + knee] for frame in frames])
    assert std[85] < std[100] < std[125] and std[125] > 10 * std[70]
    error = np.abs(np.array([frame.q for frame in frames]) - q)[:, 7 + knee]
    assert (error[80:130] < 3 * std[80:130]).all()
    assert error[135:].max() < 0.1
