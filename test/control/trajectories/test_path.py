# SPDX-License-Identifier: Apache-2.0
"""Paths by the angle of the knees: knots, targets, ends, straighter knees."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.task.task_functions import CentreOfMass, FramePose, JointTask
from humans_sim.control.task.whole_body import ControlError
from humans_sim.control.trajectories.motion import (
    Curve,
    Legs,
    Motion,
    Path,
    rising_path,
    straightened,
)

KNEES = ("l_knee", "r_knee")
SOLES = ("l_sole", "r_sole")
RISE, STRAIGHT = 0.3, -0.1


@pytest.fixture(scope="module")
def motion(human: hs.Model) -> Motion:
    """A human waits in a crouch until 0.3 s, then rises."""
    curves = {
        "base_x": Curve([(RISE, 0.0), (1.0, 0.02)]),
        "base_z": Curve([(RISE, 0.75), (1.0, 0.885)]),
        "base_pitch": Curve([(RISE, 0.4), (1.0, 0.0)]),
    }
    start = human.standing(np.zeros(len(human.joint_names)))
    return Motion(human, curves, SOLES, start, 1.0)


@pytest.fixture(scope="module")
def path(human: hs.Model, motion: Motion) -> Path:
    """The same postures by the knees' angle."""
    return Path(human, motion.postures, KNEES)


def knees(model: hs.Model, q: np.ndarray) -> np.ndarray:
    """Angles of both knees [rad]."""
    return q[..., [7 + model.joint_names.index(name) for name in KNEES]]


def test_knots(human: hs.Model, motion: Motion, path: Path) -> None:
    """From the first posture to the last, apart from each other, in order."""
    first, last = knees(human, motion.postures[[0, -1]]).mean(axis=1)
    assert path.ends == (first, last) and first < -1.0 < -0.4 < last
    assert path.angles[0] == first and path.angles[-1] == last
    assert (np.diff(path.angles)[:-1] > 0.02).all() and path.angles[-1] == last
    np.testing.assert_allclose(knees(human, path.postures).mean(axis=1), path.angles)


def test_a_path_may_go_down(human: hs.Model, motion: Motion, path: Path) -> None:
    """Backwards the ends change places; the target by the angle is the same."""
    down = Path(human, motion.postures[::-1], KNEES)
    assert down.ends == path.ends[::-1]
    assert (np.diff(down.angles) > 0).all()
    task, at = CentreOfMass(human), float(np.mean(path.ends))
    np.testing.assert_allclose(
        down.target(task)(at)[0], path.target(task)(at)[0], atol=1e-5
    )


def test_parameter_is_the_mean_of_the_knees(human: hs.Model, path: Path) -> None:
    """Angle and speed, left and right alike."""
    q, v = human.neutral(), np.zeros(human.nv)
    for name, angle, speed in zip(KNEES, (-0.2, -0.4), (1.0, 3.0), strict=True):
        joint = human.joint_names.index(name)
        q[7 + joint], v[6 + joint] = angle, speed
    assert path.parameter(q, v) == pytest.approx((-0.3, 2.0))


def test_targets_pass_the_postures(human: hs.Model, motion: Motion, path: Path) -> None:
    """At knots exactly, between them near the motion's own postures."""
    task = CentreOfMass(human)
    target = path.target(task)
    for k in (0, 3, len(path.angles) - 1):
        value = target(float(path.angles[k]))[0]
        np.testing.assert_allclose(value, task.value(path.postures[k]), atol=1e-12)
    for q in motion.postures[35:95:7]:
        at = float(knees(human, q).mean())
        np.testing.assert_allclose(target(at)[0], task.value(q), atol=1e-4)
    both = path.target(JointTask(human, KNEES))
    slope = both(float(np.mean(path.ends)))[1]
    np.testing.assert_allclose(slope, 1.0, atol=1e-6)


def test_derivatives(human: hs.Model, path: Path) -> None:
    """Slope and curvature are differences of value and slope."""
    target, h = path.target(CentreOfMass(human)), 1e-5
    for at in np.linspace(*path.ends, 7)[1:-1]:
        before, now, after = (target(float(at) + k * h) for k in (-1, 0, 1))
        np.testing.assert_allclose(now[1], (after[0] - before[0]) / (2 * h), atol=1e-7)
        np.testing.assert_allclose(now[2], (after[1] - before[1]) / (2 * h), atol=1e-3)
    assert np.abs(target(float(np.mean(path.ends)))[1]).max() > 0.05


def test_goes_on_straight_beyond_its_ends(human: hs.Model, path: Path) -> None:
    """With the slope of the end, and no curvature."""
    target = path.target(CentreOfMass(human))
    for end, step in ((min(path.ends), -0.1), (max(path.ends), 0.1)):
        value, slope, _ = target(end)
        beyond = target(end + step)
        np.testing.assert_allclose(beyond[0], value + step * slope, atol=1e-12)
        np.testing.assert_array_equal(beyond[1], slope)
        np.testing.assert_allclose(beyond[2], 0.0, atol=1e-9)


def test_knees_must_turn_one_way(human: hs.Model, motion: Motion) -> None:
    """To and fro, not at all, or hardly: no path."""
    there = motion.postures
    for postures in (
        np.vstack([there, there[-10::-1]]),
        there[:20],
        there[:34],
        np.vstack([there[::-1], there]),
    ):
        with pytest.raises(
            hs.errors.ParameterError, match="l_knee, r_knee must turn one way"
        ):
            Path(human, postures, KNEES)


def test_straightened_keeps_feet_attitude_and_balance(
    human: hs.Model, motion: Motion
) -> None:
    """Both knees at the angle; both feet, the CoM's line and the trunk as before."""
    q, legs = motion.postures[-1], Legs.of(human)
    before = float(knees(human, q)[0])
    for angle in (-0.15, before + 0.02):
        posture = straightened(human, q, legs, angle)
        np.testing.assert_allclose(knees(human, posture), angle)
        for sole in SOLES:
            place = FramePose.target(human.frame_pose(q, sole))
            missed = FramePose(human, sole).error(posture, place)
            np.testing.assert_allclose(missed, 0.0, atol=1e-6)
        assert human.com(posture)[0] == pytest.approx(human.com(q)[0], abs=1e-6)
        np.testing.assert_array_equal(posture[3:7], q[3:7])
        assert human.com(posture)[2] > human.com(q)[2]
    np.testing.assert_allclose(straightened(human, q, legs, before), q, atol=1e-6)


def test_straightened_refuses_what_it_cannot(human: hs.Model, motion: Motion) -> None:
    """From a deep crouch the ankles would have to turn too far."""
    with pytest.raises(ControlError, match="human36 cannot straighten"):
        straightened(human, motion.postures[0], Legs.of(human), STRAIGHT)


def test_rising_path(human: hs.Model, motion: Motion) -> None:
    """From the posture at the time of rising to the straighter knees."""
    path = rising_path(motion, RISE, STRAIGHT)
    start = float(knees(human, motion.postures[0]).mean())
    assert path.ends == pytest.approx((start, STRAIGHT))
    assert path.angles[-1] > knees(human, motion.postures[-1])[0] + 0.1
    late = rising_path(motion, 0.6, STRAIGHT)
    assert late.ends[0] == knees(human, motion.postures[60]).mean() > start + 0.1
    place = FramePose.target(human.frame_pose(motion.postures[0], "r_sole"))
    for q in path.postures:
        error = FramePose(human, "r_sole").error(q, place)
        assert np.abs(error).max() < 1e-6


def test_legs_by_their_names(human: hs.Model) -> None:
    """Pitch joints and knees, left then right."""
    legs = Legs.of(human)
    assert legs.knees == KNEES and legs.hips == ("l_hip_pitch", "r_hip_pitch")
    assert legs.ankles == ("l_ankle_pitch", "r_ankle_pitch")
    assert legs.foot in SOLES
