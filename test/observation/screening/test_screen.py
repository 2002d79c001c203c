# SPDX-License-Identifier: Apache-2.0
"""A look at recordings of known motions: what is right raises no doubt."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.observation.markers.marker_set import MarkerSet, marker_set_names
from humans_sim.observation.markers.synthetic import synthetic_trial
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.screening.arrangement import ExpectedMarkers, Tetrahedra
from humans_sim.observation.screening.screen import (
    FACTORS,
    AxesKnown,
    Severity,
    Topic,
    match_sets,
    screen,
    screen_scale,
)

Motion = Callable[[float], np.ndarray]
POSTURES: dict[str, dict[str, float]] = {
    "sits": {"hip_pitch": 90, "knee": -90},
    "squats": {"hip_pitch": 110, "knee": -130, "ankle_pitch": 30},
    "bends over": {"hip_pitch": 70, "thorax_pitch": -60, "knee": -10},
    "sits on the floor": {"hip_pitch": 85},
    "walks north": {},
    "lies on the back": {},
    "lies on the front": {},
    "lies on the side": {"hip_pitch": 40, "knee": -60},
}
LYING = {
    "lies on the back": ("y", -90, 0.15),
    "lies on the front": ("y", 90, 0.15),
    "lies on the side": ("x", 90, 0.25),
    "stands on the hands": ("y", 180, 1.2),
}
"""How the base is turned: axis, angle [deg] and height [m]."""


def motion(human: hs.Model, name: str) -> Motion:
    """Somebody who sways a little in a posture, or travels."""
    joints = np.zeros(len(human.joint_names))
    for word, angle in POSTURES.get(name, {"shoulder_pitch": 170}).items():
        for k, joint in enumerate(human.joint_names):
            if joint in (word, f"l_{word}", f"r_{word}"):
                joints[k] = math.radians(angle)

    def at(t: float) -> np.ndarray:
        swaying = joints + 0.03 * np.sin(3.0 * t + np.arange(len(joints)))
        swaying = np.clip(swaying, human.lower_limits, human.upper_limits)
        q = human.standing(swaying)
        if name in LYING:
            axis, angle, q[2] = LYING[name]
            q[3:7] = Rotation.from_euler(axis, angle, degrees=True).as_quat()
        elif name == "walks north":
            q[1] += 1.4 * t
            q[3:7] = Rotation.from_euler("z", 90, degrees=True).as_quat()
        return q

    return at


@pytest.fixture(scope="module", params=marker_set_names())
def markers(request: pytest.FixtureRequest, human: hs.Model) -> MarkerSet:
    """Each set of the package, as worn on motions."""
    return hs.load_marker_set(request.param, human).moving


def recorded(
    human: hs.Model, markers: MarkerSet, name: str, seconds: float = 1.0
) -> MarkerTrial:
    """A recording of a motion to 2 mm."""
    return synthetic_trial(
        human, markers, motion(human, name), duration=seconds, noise=0.002
    )


@pytest.mark.parametrize("name", POSTURES)
def test_no_false_alarms(human: hs.Model, markers: MarkerSet, name: str) -> None:
    """Who sits, lies, bends over or walks anywhere is left alone."""
    look = screen(human, recorded(human, markers, name), markers)
    assert look.findings == () and (look.factor, look.up) == (1.0, "z")
    assert look.scale == pytest.approx(1.0, abs=0.01)


def test_any_posture(human: hs.Model, markers: MarkerSet) -> None:
    """Postures anywhere within the limits are those of this person."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        q = human.standing(rng.uniform(human.lower_limits, human.upper_limits))
        trial = synthetic_trial(
            human, markers, lambda t, q=q: q, duration=0.05, noise=0.003
        )
        assert screen(human, trial, markers).findings == ()


def test_on_the_hands(human: hs.Model, markers: MarkerSet) -> None:
    """Somebody upside down is refused: it may be the file."""
    look = screen(human, recorded(human, markers, "stands on the hands"), markers)
    assert [f.topic for f in look.findings] == [Topic.UP] and look.refused
    with pytest.raises(hs.errors.ScreeningError, match="feet are above the head"):
        look.check("file.trc")


def test_mirrored(human: hs.Model, markers: MarkerSet) -> None:
    """A mirror shows in every set."""
    trial = recorded(human, markers, "walks north")
    mirrored = trial.moved(trial.positions * [1.0, -1.0, 1.0])
    look = screen(human, mirrored, markers)
    assert Topic.SIDES in [f.topic for f in look.findings] and look.refused


def test_handedness_is_a_law(human: hs.Model, markers: MarkerSet) -> None:
    """Turning, moving and scaling leave it; a mirror negates it."""
    expected = ExpectedMarkers.of(human, markers.markers)
    tetrahedra = Tetrahedra.of(expected)
    positions = expected.samples[:3]
    here = tetrahedra.agreement(positions)
    assert len(here) >= 4
    turn = Rotation.random(rng=np.random.default_rng(0)).as_matrix()
    moved = 2.0 * positions @ turn.T + [3.0, -1.0, 2.0]
    np.testing.assert_array_equal(tetrahedra.agreement(moved), here)
    np.testing.assert_array_equal(tetrahedra.agreement(-positions), -here)


@pytest.mark.parametrize("factor", FACTORS)
def test_units(factor: float) -> None:
    """Every wrong unit is corrected, also of somebody a tenth larger or smaller."""
    for size in (0.9, 1.0, 1.1):
        correction, (finding,) = screen_scale(size / factor, False, 1.75)
        assert correction == factor and finding.severity is Severity.CORRECTED
        kept, (finding,) = screen_scale(size / factor, True, 1.75)
        assert kept == 1.0 and finding.severity is Severity.REFUSAL


@pytest.mark.parametrize(
    ("scale", "severity"),
    [(1.0, None), (1.18, Severity.DOUBT), (0.7, Severity.REFUSAL)],
)
def test_sizes(scale: float, severity: Severity | None) -> None:
    """Somebody else than the model is doubtful, then refused; the stature is named."""
    _, findings = screen_scale(scale, False, 1.80)
    assert [f.severity for f in findings] == ([severity] if severity else [])
    assert all(f"--height {1.8 * scale:.2f}" in f.text for f in findings)


def test_what_the_user_gives_is_kept(human: hs.Model) -> None:
    """A unit or an axis that was given is refused, not changed."""
    markers = hs.load_marker_set("cmu", human).moving
    trial = recorded(human, markers, "walks north")
    large = trial.moved(1000.0 * to_y_up(trial.positions))
    look = screen(human, large, markers)
    assert not look.refused and (look.factor, look.up) == (0.001, "y")
    positions = look.corrected(large).positions
    np.testing.assert_allclose(positions, trial.positions, atol=1e-12)
    look = screen(human, large, markers, AxesKnown(units=True, up=True))
    assert look.refused and (look.factor, look.up) == (1.0, "z")


def to_y_up(positions: np.ndarray) -> np.ndarray:
    """Positions on axes with y up."""
    turned: np.ndarray = positions[..., [0, 2, 1]] * [1, 1, -1]
    return turned


def test_markers_of_some_joints_are_missing(human: hs.Model) -> None:
    """Joints that the set sees and the recording does not are named."""
    markers = hs.load_marker_set("plug-in-gait", human).moving
    trial = recorded(human, markers, "sits", 0.2)
    no_hands = [name for name in trial.names if "FIN" not in name]
    look = screen(human, trial.select(no_hands), markers)
    assert [f.topic for f in look.findings] == [Topic.SIGHT] and not look.refused
    assert look.doubts[0].endswith(
        "joints: l_wrist_pitch, l_wrist_roll, r_wrist_pitch, r_wrist_roll"
    )


def test_sets_are_ranked_by_labels(human: hs.Model) -> None:
    """The set that was worn comes first."""
    trial = recorded(human, hs.load_marker_set("cmu", human), "sits", 0.1)
    best = match_sets(trial, human)[0]
    assert (best.name, best.matched, best.markers) == ("cmu", 41, 41)


def test_forced(human: hs.Model) -> None:
    """What is refused is reconstructed by force, and doubtful."""
    trial = recorded(human, hs.load_marker_set("cmu", human), "walks north", 0.2)
    mirrored = trial.moved(trial.positions * [-1.0, 1.0, 1.0])
    with pytest.raises(hs.errors.ScreeningError, match="mirrored") as refusal:
        hs.reconstruct(human, mirrored, "cmu")
    assert [f.topic for f in refusal.value.findings] == [Topic.SIDES]
    result = hs.reconstruct(human, mirrored, "cmu", force=True)
    assert not result.verdict.good and set(result.doubts) < set(result.verdict.reasons)


@pytest.mark.parametrize("rate", [30.0, 100.0, 1000.0])
def test_frames_in_their_order(human: hs.Model, rate: float) -> None:
    """A quick motion at any rate is in order; shuffled it is not."""
    markers = hs.load_marker_set("cmu", human).moving

    def swinging(t: float) -> np.ndarray:
        joints = 0.5 * np.sin(9.0 * t) * np.ones(len(human.joint_names))
        return human.standing(np.clip(joints, human.lower_limits, human.upper_limits))

    trial = synthetic_trial(human, markers, swinging, duration=2.0, rate=rate)
    assert screen(human, trial, markers).findings == ()
    order = np.random.default_rng(0).permutation(len(trial))
    look = screen(human, trial.moved(trial.positions[order]), markers)
    assert [f.topic for f in look.findings if f.severity is Severity.REFUSAL] == [
        Topic.MOTION
    ]
