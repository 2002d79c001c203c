# SPDX-License-Identifier: Apache-2.0
"""Curves, postures by inverse kinematics, and motions on feet that stay."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.task.task_functions import (
    CentreOfMass,
    FrameOrientation,
    FramePose,
    JointTask,
)
from humans_sim.control.task.whole_body import ControlError
from humans_sim.control.trajectories.motion import Curve, Motion, reach

FEET = ("l_sole", "r_sole")
LEGS = [
    f"{side}_{joint}"
    for side in "lr"
    for joint in ("hip_pitch", "hip_yaw", "hip_roll", "knee")
] + [f"{side}_ankle_{axis}" for side in "lr" for axis in ("pitch", "roll")]
END = 1.0


def upright(model: hs.Model) -> np.ndarray:
    """The model stands straight."""
    return model.standing(np.zeros(len(model.joint_names)))


@pytest.fixture(scope="module")
def squat(human: hs.Model) -> Motion:
    """A human crouches, leans forward and turns its thorax."""
    curves = {
        "base_x": Curve([(0.0, -0.1), (0.8, 0.02)]),
        "base_z": Curve([(0.0, 0.65), (0.9, 0.88)]),
        "base_pitch": Curve([(0.1, 0.3), (0.7, 0.0)]),
        "thorax_yaw": Curve([(0.0, 0.0), (1.0, 0.4)]),
    }
    return Motion(human, curves, FEET, upright(human), END)


def test_curve_rests_at_its_knots() -> None:
    """Through the knots, without speed and acceleration there: C2."""
    knots = [(0.5, -1.0), (1.0, 2.0), (3.0, 1.0)]
    curve, h = Curve(knots), 1e-3
    for t, x in knots:
        at = [curve.at(t + k * h) for k in (-1, 0, 1)]
        assert at[1] == x
        # The third derivative is 60 times the step over the duration cubed.
        assert abs(at[2] - x) < 1e-6 and abs(at[0] - x) < 1e-6
        assert abs(at[2] - 2 * at[1] + at[0]) / h**2 < 2.0
    assert curve.at(-5.0) == -1.0 and curve.at(9.0) == 1.0
    assert curve.at(2.0) == pytest.approx(1.5)


def test_curve_never_overshoots() -> None:
    """Monotone between knots."""
    curve = Curve([(0.0, 0.0), (1.0, 1.0), (1.5, 0.2)])
    up = [curve.at(t) for t in np.linspace(0.0, 1.0, 201)]
    down = [curve.at(t) for t in np.linspace(1.0, 1.5, 201)]
    assert (np.diff(up) >= 0).all() and (np.diff(down) <= 0).all()
    # Quintic, not cubic: speed at a quarter of the way.
    assert up[50] == pytest.approx(0.103515625)


@pytest.mark.parametrize(
    ("knots", "message"),
    [
        ([], "pairs"),
        ([(0.0, 1.0, 2.0)], "pairs"),
        ([(0.0, np.nan)], "pairs"),
        ([(0.0, 1.0), (0.0, 2.0)], "must grow"),
        ([(1.0, 1.0), (0.0, 2.0)], "must grow"),
    ],
)
def test_bad_knots(knots: list, message: str) -> None:
    """Refused, with a reason."""
    with pytest.raises(hs.errors.ParameterError, match=message):
        Curve(knots)


def test_feet_stay_and_knees_bend_forwards(human: hs.Model, squat: Motion) -> None:
    """The soles to 1e-9 in every posture; knees within their limits."""
    knees = [7 + human.joint_names.index(f"{side}_knee") for side in "lr"]
    for foot in FEET:
        place = FramePose.target(human.frame_pose(upright(human), foot))
        errors = [FramePose(human, foot).error(q, place) for q in squat.postures]
        assert np.abs(errors).max() < 1e-9
    assert (squat.postures[:, knees] < -0.1).all()
    assert squat.postures[0, knees[0]] < -1.0
    low, high = human.lower_limits - 1e-12, human.upper_limits + 1e-12
    legs = [human.joint_names.index(name) for name in LEGS]
    angles = squat.postures[:, 7:][:, legs]
    assert (angles >= low[legs]).all() and (angles <= high[legs]).all()


def test_curves_are_followed(human: hs.Model, squat: Motion) -> None:
    """Base and named joints go as their curves say; others stay at zero."""
    assert squat.times[0] == 0.0 and squat.times[-1] == END
    np.testing.assert_allclose(squat.postures[0, :3], [-0.1, 0.0, 0.65], atol=1e-12)
    np.testing.assert_allclose(squat.postures[-1, :3], [0.02, 0.0, 0.88], atol=1e-12)
    pitch = 2 * np.arctan2(squat.postures[0, 4], squat.postures[0, 6])
    assert pitch == pytest.approx(0.3)
    names = human.joint_names
    assert squat.postures[50, 7 + names.index("thorax_yaw")] == pytest.approx(0.2)
    idle = [7 + j for j, n in enumerate(names) if n not in [*LEGS, "thorax_yaw"]]
    np.testing.assert_array_equal(squat.postures[:, idle], 0.0)


@pytest.mark.parametrize("kind", ["com", "joints", "base"])
def test_targets_and_their_derivatives(
    human: hs.Model, squat: Motion, kind: str
) -> None:
    """The target is the motion; rate and acceleration are its differences."""
    task = {
        "com": CentreOfMass(human),
        "joints": JointTask(human),
        "base": FrameOrientation(human, "base_link"),
    }[kind]
    target, h = squat.target(task), 1e-4
    for k in (0, 37, 100):
        value, _, _ = target(float(squat.times[k]))
        np.testing.assert_allclose(value, task.value(squat.postures[k]), atol=1e-12)
    for t in (0.2, 0.333, 0.75):
        before, now, after = (target(t + k * h) for k in (-1, 0, 1))
        np.testing.assert_allclose(now[1], (after[0] - before[0]) / (2 * h), atol=1e-5)
        np.testing.assert_allclose(now[2], (after[1] - before[1]) / (2 * h), atol=1e-2)
    assert np.abs(target(0.4)[1]).max() > 0.1
    for t in (-0.1, END + 0.1):
        value, rate, acceleration = target(t)
        expected = task.value(squat.postures[0 if t < 0 else -1])
        np.testing.assert_allclose(value, expected, atol=1e-12)
        assert not rate.any() and not acceleration.any()


@pytest.mark.parametrize(
    ("curves", "feet", "message"),
    [
        ({"tail": Curve([(0, 0)])}, FEET, "no coordinate 'tail'"),
        ({"l_knee": Curve([(0, 0)])}, FEET, "l_knee is moved by its foot"),
        ({}, ("l_sole", "wing"), "no frame called 'wing'"),
        ({}, (), "needs one at least"),
    ],
)
def test_bad_motions(
    human: hs.Model, curves: dict, feet: tuple[str, ...], message: str
) -> None:
    """What is wrong, by its name."""
    with pytest.raises(hs.errors.ParameterError, match=message):
        Motion(human, curves, feet, upright(human), END)


def test_motion_out_of_reach(human: hs.Model) -> None:
    """A base higher than the legs are long."""
    curves = {"base_z": Curve([(0.0, 0.85), (1.0, 1.2)])}
    with pytest.raises(ControlError, match="human36 does not reach l_sole_x"):
        Motion(human, curves, FEET, upright(human), END)


def test_reach_moves_the_named_joints_alone(
    human: hs.Model, rng: np.random.Generator
) -> None:
    """A pose that some posture has is found again, within the limits."""
    task, joints = FramePose(human, "l_sole"), [n for n in LEGS if n[0] == "l"]
    places = [human.joint_names.index(name) for name in joints]
    low, high = human.lower_limits[places], human.upper_limits[places]
    for _ in range(10):
        q, there = upright(human), upright(human)
        there[7 + np.array(places)] = rng.uniform(
            0.8 * low + 0.2 * high, 0.2 * low + 0.8 * high
        )
        before = q.copy()
        reached = reach(task, q, task.value(there), joints)
        assert np.abs(task.error(reached, task.value(there))).max() < 1e-10
        angles = reached[7 + np.array(places)]
        assert (angles >= low).all() and (angles <= high).all()
        others = np.setdiff1d(np.arange(human.nq), 7 + np.array(places))
        np.testing.assert_array_equal(reached[others], before[others])
        np.testing.assert_array_equal(q, before)


def test_reach_refuses(human: hs.Model) -> None:
    """Joints that do not exist, and a knee that would have to bend backwards."""
    task, q = JointTask(human, ["l_knee"]), upright(human)
    with pytest.raises(hs.errors.ParameterError, match="no joint called 'tail'"):
        reach(task, q, np.zeros(1), ["tail"])
    with pytest.raises(ControlError, match="l_knee.*are missing"):
        reach(task, q, np.array([0.5]), ["l_knee"])
    upper = human.upper_limits[human.joint_names.index("l_knee")]
    posture = reach(task, q, np.array([upper]), ["l_knee"])
    assert task.value(posture)[0] == pytest.approx(upper, abs=1e-11)
