# SPDX-License-Identifier: Apache-2.0
"""Measuring a person: one whose sizes are known, and a real one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from strolls import walking

import humans_sim as hs
from humans_sim.core.errors import ModelFileError, ParameterError
from humans_sim.core.resources import resource
from humans_sim.observation.markers import read_markers
from humans_sim.observation.markers.marker_set import load_marker_set
from humans_sim.observation.markers.synthetic import synthetic_trial
from humans_sim.observation.posture.calibrate import (
    Calibration,
    CalibrationError,
    calibrate,
)
from humans_sim.observation.posture.calibration_prior import (
    CalibrationSettings,
    body_shape,
)
from humans_sim.observation.posture.reconstruct import solve_postures
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.observation.posture.subject import load_subject
from humans_sim.observation.posture.tree_kernels import Tree, marker_bodies

SET = "rajagopal"
LEGS = ("r_yfemur", "l_yfemur", "r_ytibia", "l_ytibia")


@pytest.fixture(scope="module")
def tall(human: hs.Model) -> hs.Model:
    """A tall person with long legs and a short arm."""
    person = human.with_height(1.88)
    lengths = person.lengths
    changed = {name: 1.05 * lengths[name] for name in LEGS}
    changed |= {f"{side}_yhumerus": 0.94 * lengths["r_yhumerus"] for side in "rl"}
    return person.with_lengths(changed)


@pytest.fixture(scope="module")
def moved(tall: hs.Model) -> dict[str, np.ndarray]:
    """Where the markers really sit: up to 2 cm from where the set has them."""
    rng = np.random.default_rng(7)
    return {
        marker.name: marker.at + rng.uniform(-0.02, 0.02, 3)
        for marker in load_marker_set(SET, tall).markers
        if not marker.calibration
    }


@pytest.fixture(scope="module")
def measured(human: hs.Model, tall: hs.Model, moved: dict) -> Calibration:
    """That person, measured from standing and walking."""
    worn = load_marker_set(SET, tall).moved(moved)
    standing = tall.neutral()
    standing[7:] = 0.03
    walk = walking(tall, 120)
    still = synthetic_trial(tall, worn, lambda t: standing, duration=0.3, noise=0.001)
    motion = synthetic_trial(
        tall,
        worn.of(moved),
        lambda t: walk[min(round(100 * t), 119)],
        duration=1.2,
        noise=0.002,
    )
    settings = CalibrationSettings(motion_noise=0.003)
    return calibrate(human, [still, motion], SET, mass=80.0, settings=settings)


@pytest.fixture(scope="module")
def walked(
    real: Calibration, shared_data: Path
) -> tuple[Reconstruction, Reconstruction]:
    """The real walk, frame by frame and smoothed."""
    trial = read_markers(shared_data / "mocap" / "walk.trc")
    model, worn = real.subject.model(), real.subject.marker_set()
    return solve_postures(model, trial, worn), solve_postures(
        model, trial, worn, mode="smooth"
    )


@pytest.fixture(scope="module")
def real(human: hs.Model, shared_data: Path) -> Calibration:
    """A real person, measured from the static trial alone."""
    trial = read_markers(shared_data / "mocap" / "static_walk.trc")
    return calibrate(human, trial, SET)


def test_shape_is_linear_in_the_sizes(tall: hs.Model) -> None:
    """Joint centres and markers follow stature and lengths exactly."""
    worn = load_marker_set(SET, tall)
    shape = body_shape(tall, worn, SET)
    lengths = {name: 1.07 * value for name, value in tall.lengths.items()}
    other = tall.with_lengths(lengths)
    sizes = np.array([tall.height, *lengths.values()])
    np.testing.assert_allclose(shape.origins(sizes), Tree.of(other).origin, atol=1e-12)
    expected = marker_bodies(other, load_marker_set(SET, other).markers)[1]
    np.testing.assert_allclose(shape.locals(sizes), expected, atol=1e-12)


def test_a_known_person_is_measured(
    tall: hs.Model, moved: dict, measured: Calibration
) -> None:
    """Leg lengths to 6 mm, the arm to 1 cm, what is left to the noise."""
    found = measured.subject.lengths
    for name in LEGS:
        assert found[name] == pytest.approx(tall.lengths[name], abs=0.006)
    assert found["r_yhumerus"] == pytest.approx(tall.lengths["r_yhumerus"], abs=0.01)
    assert measured.rms < 0.005
    assert measured.subject.mass == 80.0
    sizes = {size.name: size for size in measured.sizes}
    # The truth lies within what it says of itself.
    for name in (*LEGS, "r_yhumerus", "zhip"):
        assert abs(sizes[name].value - tall.lengths[name]) < 4 * sizes[name].spread


def test_what_was_not_seen_is_told(measured: Calibration) -> None:
    """No marker sits on head or hands."""
    assert {"yhead", "r_yhand", "l_yhand"} <= set(measured.unseen)
    assert "r_yfemur" not in measured.unseen
    assert "mass" not in measured.unseen
    assert measured.missing == () and measured.ignored == ()


def test_a_subject_is_kept(measured: Calibration, tmp_path: Path) -> None:
    """A file holds the person to a micrometre."""
    path = measured.subject.save(tmp_path / "subject.yaml")
    again = load_subject(path)
    model = again.model()
    for name, value in measured.subject.lengths.items():
        assert model.lengths[name] == pytest.approx(value, abs=1e-6)
    for one, two in zip(again.markers, measured.subject.markers, strict=True):
        assert (one.name, one.segment) == (two.name, two.segment)
        assert one.calibration == two.calibration
        np.testing.assert_allclose(one.at, two.at, atol=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("height: ", "heigth: ", "unknown key"),
        ("segment: torso", "segment: tail", "no link called 'tail'"),
        ("model: human36", "model: ape", "no model is called"),
        ("yvT10:", "yvT11:", "no length"),
        ("mass: 80.0", "mass: -80.0", "above zero"),
        ("name: S2", "name: R.ASIS", "stands twice"),
    ],
)
def test_damaged_subjects(
    measured: Calibration, tmp_path: Path, old: str, new: str, message: str
) -> None:
    """Every fault names its file."""
    path = measured.subject.save(tmp_path / "subject.yaml")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=message) as caught:
        load_subject(path)
    assert caught.value.path == path


@pytest.mark.study
def test_sizes_stay_within_bounds(human: hs.Model, tall: hs.Model) -> None:
    """A giant's markers do not make a giant where bounds forbid it."""
    giant = human.with_height(2.6)
    still = synthetic_trial(giant, SET, lambda t: giant.neutral(), duration=0.1)
    settings = CalibrationSettings(bound=1.1)
    found = calibrate(human, still, SET, settings=settings)
    assert any(size.bounded for size in found.sizes)
    assert found.sizes[0].value <= 1.1 * human.height + 1e-9
    assert "mass" in found.unseen


def test_bad_calibrations(human: hs.Model) -> None:
    """Too few markers, unknown sets, senseless settings."""
    strange = synthetic_trial(human, "canonical", duration=0.1)
    with pytest.raises(CalibrationError, match="only 0 of the markers"):
        calibrate(human, strange, SET)
    with pytest.raises(ParameterError, match="no marker set is called 'foo'"):
        calibrate(human, strange, "foo")
    with pytest.raises(ParameterError, match="bound"):
        CalibrationSettings(bound=0.5)


def test_a_real_walk(walked: tuple[Reconstruction, Reconstruction]) -> None:
    """RMS below 20 mm, no marker's mean above 40 mm, static and smooth.

    The plate on the left thigh is another matter: its markers keep their distances to
    a millimetre, but between the trials it came 15 mm nearer the knee and turned.
    """
    for result in walked:
        assert result.rms < 0.020
        means = dict(zip(result.trial.names, result.marker_means, strict=True))
        plate = [means.pop(f"L.TH{k}") for k in (1, 2, 3, 4)]
        assert max(means.values()) < 0.040
        assert 0.02 < min(plate) and max(plate) < 0.070
        assert result.converged.all()
        assert not result.occluded.any()


def test_a_real_gait(walked: tuple[Reconstruction, Reconstruction]) -> None:
    """Knees and hips move as people's do, left as right."""
    result = walked[1]
    degrees = {
        name: np.degrees(result.joint(name)) for name in result.model.joint_names
    }
    for side in "rl":
        knee, hip = degrees[f"{side}_knee"], degrees[f"{side}_hip_pitch"]
        assert -80 < knee.min() < -55 and -5 < knee.max() < 6
        assert -35 < hip.min() < -5 and 10 < hip.max() < 45
        assert 30 < np.ptp(hip) < 60
        ankle = degrees[f"{side}_ankle_pitch"]
        assert 20 < np.ptp(ankle) < 55
    for name, most in (("knee", 8.0), ("hip_pitch", 8.0), ("ankle_pitch", 8.0)):
        right, left = (np.sort(degrees[f"{side}_{name}"]) for side in "rl")
        assert abs(np.ptp(right) - np.ptp(left)) < most


def test_a_real_person(real: Calibration) -> None:
    """An adult's lengths; shoes; nothing on a bound."""
    assert 1.5 < real.subject.height < 2.0
    sizes = {size.name: size for size in real.sizes}
    for name in LEGS:
        assert 0.35 < sizes[name].value < 0.5 and sizes[name].seen
    assert not any(size.bounded for size in real.sizes)
    assert real.rms < 0.005
    assert "MidASIS" in real.ignored


@pytest.mark.study
def test_skin_that_slides_does_not_turn_the_joints(
    human: hs.Model, tall: hs.Model, moved: dict
) -> None:
    """Markers that sit elsewhere in the motion leave the standing posture alone."""
    rng = np.random.default_rng(11)
    slid = {name: at + rng.normal(0.0, 0.01, 3) for name, at in moved.items()}
    standing, walk = tall.neutral(), walking(tall, 120)
    worn = load_marker_set(SET, tall)
    still = synthetic_trial(
        tall, worn.moved(moved), lambda t: standing, duration=0.3, noise=0.001
    )
    motion = synthetic_trial(
        tall,
        worn.moved(slid).of(slid),
        lambda t: walk[min(round(100 * t), 119)],
        duration=1.2,
        noise=0.002,
    )
    found = calibrate(human, [still, motion], SET)
    assert set(found.standing) == {n for n in tall.joint_names if _of_a_leg(n)}
    assert max(np.degrees(np.abs(list(found.standing.values())))) < 5.0
    assert found.unusual == ()
    for name in LEGS:
        assert found.subject.lengths[name] == pytest.approx(
            tall.lengths[name], abs=0.02
        )


def _of_a_leg(joint: str) -> bool:
    return any(part in joint for part in ("hip", "knee", "ankle"))


def test_spreads_are_on_the_axes_of_their_set(
    human: hs.Model, tall: hs.Model, tmp_path: Path
) -> None:
    """A marker that is sure upwards moves sideways: y is up in marker sets."""
    lines = (
        resource("config", "marker_sets", "plug-in-gait.yaml").read_text().splitlines()
    )
    entry = next(line for line in lines if 'name: "{side}HEE"' in line)
    assert "spread: 0.03" in entry
    sure = entry.replace("spread: 0.03", "spread: [0.03, 0.0002, 0.03]")
    path = tmp_path / "sure.yaml"
    path.write_text("\n".join(sure if line == entry else line for line in lines))
    places = {name: load_marker_set(path, tall)[name].at for name in ("RHEE", "LHEE")}
    moved = {name: at + [0.01, 0.01, 0.01] for name, at in places.items()}
    worn = load_marker_set(path, tall).moved(moved)
    still = synthetic_trial(tall, worn, lambda t: tall.neutral(), duration=0.1)
    subject = calibrate(human, still, path, height=tall.height).subject
    nominal = load_marker_set(path, subject.model())
    for marker in subject.markers:
        if marker.name in moved:
            shift = np.abs(marker.at - nominal[marker.name].at)
            assert shift[1] < 0.001 and shift[2] > 0.002
