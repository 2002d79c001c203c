# SPDX-License-Identifier: Apache-2.0
"""The motions to get up: the boards take them, and they do what they are for."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.actuation.robots import RobotSetup
from humans_sim.control.falls.fall_detector import Lying, lying, tilt_of
from humans_sim.control.falls.rising_walker import lying_on
from humans_sim.core.constants import SPEED_STEPS
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.kondo import PosePlayer, PoseServo
from humans_sim.kondo.driver.joint_path import check_motion
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.motion.channels import load_channels
from humans_sim.kondo.motion.motion_file import load_motion
from humans_sim.kondo.motion.player import MotionPlayer
from humans_sim.kondo.motion.pose_servo import can_get_up, get_up_motions

FILES = ("getup-front", "getup-back", "getup-left")
FALLS, RESTS = 0.4, 0.6
"""Time to come to rest before and after a motion [s]."""


@pytest.mark.parametrize("name", FILES)
def test_boards_take_them(khr1: hs.Model, name: str) -> None:
    """Ranges, joint limits and speeds are kept; the head ends where it began."""
    motion = load_motion(name)
    check_motion(khr1, load_robot("khr1"), motion)
    player = MotionPlayer(khr1, motion)
    assert (player.angles >= khr1.lower_limits - 1e-9).all()
    assert (player.angles <= khr1.upper_limits + 1e-9).all()
    assert (player.angles[[0, -1], khr1.joint_names.index("head_yaw")] == 0.0).all()
    for pose in motion.poses:
        assert SPEED_STEPS[pose.speed] >= SPEED_STEPS[4]  # not at full speed


def test_sides(khr1: hs.Model, human: hs.Model) -> None:
    """Each side has a motion with the boards' timing; right mirrors left."""
    motions = get_up_motions(khr1)
    assert set(motions) == set(Lying) - {Lying.NOT}
    player = MotionPlayer(khr1, load_motion("getup-front"))
    front = motions[Lying.FRONT]
    assert front.duration == pytest.approx(player.duration)
    for t in np.linspace(0.0, player.duration, 40):
        np.testing.assert_allclose(front.at(t), player.at(t), atol=1e-9)
    names = list(khr1.joint_names)
    swapped = [names.index({"l": "r", "r": "l"}[n[0]] + n[1:]) for n in names[1:]]
    left, right = motions[Lying.LEFT], motions[Lying.RIGHT]
    np.testing.assert_allclose(right.angles[:, 1:], left.angles[:, swapped], atol=1e-9)
    assert can_get_up(khr1) and not can_get_up(human)
    with pytest.raises(hs.errors.ParameterError):
        get_up_motions(human)


@pytest.mark.study
@pytest.mark.parametrize(
    ("side", "name", "after"),
    [
        (Lying.FRONT, "getup-front", Lying.NOT),
        (Lying.BACK, "getup-back", Lying.FRONT),
        (Lying.RIGHT, "getup-right", Lying.BACK),
    ],
    ids=str,
)
def test_played_by_the_boards(
    khr1: hs.Model, side: Lying, name: str, after: Lying
) -> None:
    """With servos that are late, as the boards' are: up, or over to the next side."""
    if name == "getup-right":
        motion = load_channels().mirrored(load_motion("getup-left"), name)
    else:
        motion = load_motion(name)
    player = MotionPlayer(khr1, motion, start=FALLS)
    simulation = RobotSetup.of_model(khr1).simulation(
        khr1, PoseServo(khr1), PosePlayer(player)
    )
    assert isinstance(simulation.system, ModelSystem)
    start = lying_on(simulation.system, side)
    end = FALLS + player.duration + RESTS
    run = simulation.run(start, t_end=end, sampling_period=0.1, progress=False)
    attitude = np.asarray(pin.Quaternion(run.q[-1, 3:7]).matrix())
    assert lying(attitude) is after
    assert run.check()
    if after is Lying.NOT:
        assert tilt_of(attitude) < 0.1
        assert np.abs(run.v[-1]).max() < 0.1
