# SPDX-License-Identifier: Apache-2.0
"""Motions of a person on the KHR-1: limits, feet and balance hold by construction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.example_recordings import example_posture
from humans_sim.control.retargeting.person_motion import (
    PersonMotion,
    person_limbs,
    person_motion,
)
from humans_sim.control.retargeting.retarget import Retargeting
from humans_sim.control.walking.footsteps import Side


def captured(motion: str) -> PersonMotion:
    """A person of the examples, without markers."""
    model = hs.load_model("human36")
    t = np.arange(0.0, 4.0, 0.02)
    q = np.array([example_posture(model, motion, x) for x in t])
    return person_motion(person_limbs(model), t, q, np.ones((len(t), 2), dtype=bool))


def stepping() -> PersonMotion:
    """The same person, whose feet swing in turn, 0.4 s each."""
    person = captured("wave")
    t = person.t
    down, feet = person.down.copy(), person.feet.copy()
    for number, start in enumerate((0.5, 1.1, 1.7, 2.3)):
        foot = number % 2
        down[(t > start) & (t < start + 0.4), foot] = False
        share = np.clip((t - start) / 0.4, 0.0, 1.0)
        length = 0.3 if number == 0 else 0.6
        feet[:, foot, 0] += length * share
    return replace(person, down=down, feet=feet)


@pytest.fixture(scope="module")
def robot() -> Retargeting:
    """The KHR-1."""
    return Retargeting(hs.load_model("khr1"))


def check(motion: hs.RobotMotion) -> None:
    """Limits are kept, feet stand still and flat, and it is balanced."""
    model = motion.model
    for angles in (motion.joints, motion.commands):
        assert (angles >= model.lower_limits - 1e-9).all()
        assert (angles <= model.upper_limits + 1e-9).all()
    assert (np.abs(motion.v[:, 6:]) <= model.velocity_limits).all()
    assert (np.abs(motion.torques) <= model.effort_limits).all()
    assert motion.zmp_margin[1:-1].min() > 0.0
    assert np.isfinite(motion.q).all()
    for side, sole in ((Side.LEFT, "l_sole"), (Side.RIGHT, "r_sole")):
        for phase in motion.plan.phases:
            if phase.swing is side:
                continue
            rows = (motion.t >= phase.start) & (motion.t < phase.end)
            for q in motion.q[rows]:
                pose = model.frame_pose(q, sole)
                away = pose.translation - [*phase.feet[side][:2], 0.0]
                assert np.abs(away).max() < 1e-5
                assert pose.rotation[2, 2] == pytest.approx(1.0, abs=1e-5)


def test_squat(robot: Retargeting) -> None:
    """The robot comes down as the person does."""
    motion = robot.retarget(captured("squat"))
    check(motion)
    assert motion.plan.steps == 0 and motion.plan.slowdown == 1.0
    assert np.ptp(motion.q[:, 2]) > 0.02
    assert np.degrees(motion.median_error) < 5.0


def test_wave(robot: Retargeting) -> None:
    """The right arm goes up; the left one stays."""
    motion = robot.retarget(captured("wave"))
    check(motion)
    names = motion.model.joint_names
    assert motion.joints[:, names.index("r_shoulder_roll")].max() > 1.5
    assert np.ptp(motion.joints[:, names.index("l_shoulder_roll")]) < 0.05


@pytest.mark.study
def test_steps_are_the_persons(robot: Retargeting) -> None:
    """The same feet step in the same order, slower and shorter as it must be."""
    motion = robot.retarget(stepping())
    check(motion)
    sides = [p.swing for p in motion.plan.phases if p.swing is not None]
    assert sides[:4] == [Side.LEFT, Side.RIGHT, Side.LEFT, Side.RIGHT]
    assert motion.plan.slowdown > 1.0 and motion.plan.shortened < 1.0
    assert any("slowed" in remark for remark in motion.remarks)
    last = motion.plan.phases[-1].feet
    assert last[Side.LEFT].x == pytest.approx(last[Side.RIGHT].x)
    longest = max(p.target.x for p in motion.plan.phases if p.swing is not None)
    assert longest > 0.05


@pytest.mark.study
def test_faster_is_slowed_and_too_fast_is_refused() -> None:
    """A wave in a tenth of the time is slowed, or refused with the joint."""
    person = captured("wave")
    quick = replace(person, t=person.t * 0.1)
    model = hs.load_model("khr1")
    motion = Retargeting(model, hs.RetargetSettings(slowest=20.0)).retarget(quick)
    assert motion.plan.slowdown > 1.5
    check(motion)
    with pytest.raises(hs.errors.RetargetError) as caught:
        Retargeting(model, hs.RetargetSettings(slowest=1.01)).retarget(quick)
    error = caught.value
    assert error.joint in model.joint_names and "rad/s" in str(error)
    assert 0.0 <= error.time < 2.0


@pytest.mark.study
def test_too_heavy_is_refused() -> None:
    """A robot whose servos are too weak is told which one, and when."""
    model = hs.load_model("khr1")
    weak = hs.RetargetSettings(torque_share=0.02, slowest=2.0)
    with pytest.raises(hs.errors.RetargetError, match="N m") as caught:
        Retargeting(model, weak).retarget(captured("squat"))
    assert caught.value.joint in model.joint_names


def test_settings_are_checked() -> None:
    """Numbers without meaning are refused."""
    with pytest.raises(hs.errors.ParameterError, match="slowest"):
        hs.RetargetSettings(slowest=0.0)
    with pytest.raises(hs.errors.ParameterError, match="share"):
        hs.RetargetSettings(speed_share=1.5)


def test_nobody_stands() -> None:
    """A jump is not taken over, nor are two frames."""
    person = hs.load_model("human36")
    q = np.tile(person.neutral(), (20, 1))
    limbs = person_limbs(person)
    with pytest.raises(hs.errors.RetargetError, match="no foot stands"):
        person_motion(limbs, np.arange(20) * 0.01, q, np.zeros((20, 2), dtype=bool))
    with pytest.raises(hs.errors.RetargetError, match="frames"):
        person_motion(limbs, np.arange(2) * 0.01, q[:2], np.ones((2, 2), dtype=bool))
