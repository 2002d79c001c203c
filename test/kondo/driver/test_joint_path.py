# SPDX-License-Identifier: Apache-2.0
"""Paths that lead an emulated robot over a serial line."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest
from patient_boards import PAUSE, open_patient

import humans_sim as hs
from humans_sim.control.trajectories.joint_trajectory import TrajectoryRules, Waypoint
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.driver.board import RobotState
from humans_sim.kondo.driver.joint_path import (
    MotionPath,
    PathFollower,
    Progress,
    joint_limits,
    path_home,
)
from humans_sim.kondo.driver.robot import KondoRobot, RobotStateError
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.emulation.emulator import Emulator
from humans_sim.kondo.motion.motion_file import KondoMotion, load_motion

PATIENCE = 60.0
HEAD = 5
"""Place of the head among the channels."""


@pytest.fixture(scope="module")
def settings() -> RobotSettings:
    """A KHR-1."""
    return load_robot()


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """Its boards."""
    with Emulator() as boards:
        yield boards


@pytest.fixture
def robot(settings: RobotSettings, emulator: Emulator) -> Iterator[KondoRobot]:
    """It, energised."""
    with KondoRobot(
        settings,
        emulator.port,
        command_timeout=0,
        pause_timeout=PAUSE,
        open_boards=open_patient,
    ) as driven:
        driven.energise()
        yield driven


def lead(follower: PathFollower) -> Progress:
    """Tick until the path is over."""
    end = time.monotonic() + PATIENCE
    while (progress := follower.tick()) is Progress.RUNNING:
        assert (now := time.monotonic()) < end
        # Once it has begun, the path has its own speed, not that of the approach.
        assert follower.time(now) is None or not follower._robot.approaching()
        time.sleep(0.01)
    return progress


def test_limits_of_a_khr1(settings: RobotSettings) -> None:
    """Ranges follow sense and zero of each channel."""
    limits = joint_limits(settings)
    assert set(limits) == set(settings.joint_names)
    knee = limits["l_knee"]
    np.testing.assert_allclose(np.degrees(knee), [-65.0, 115.0, settings.limits.speed])


def test_path_home_is_slow(settings: RobotSettings) -> None:
    """No joint turns faster than the approach."""
    present = dict.fromkeys(settings.joint_names, 0.0) | {"l_knee": 1.0}
    path = path_home(settings, present)
    most = np.radians(settings.limits.approach)
    speeds = [path.at(t).velocities for t in np.linspace(0.0, path.duration, 100)]
    assert 0.99 * most < np.abs(speeds).max() <= most * (1.0 + 1e-9)
    assert path.angles(path.duration) == pytest.approx(dict.fromkeys(path.names, 0.0))


def test_leads_along_a_trajectory(
    settings: RobotSettings, emulator: Emulator, robot: KondoRobot
) -> None:
    """A fast path is followed at once; then the robot holds its end."""
    follower = PathFollower(robot)
    assert follower.tick() is Progress.IDLE
    rules = TrajectoryRules(joint_limits(settings), partial=True)
    point = Waypoint(0.4, [np.radians(30.0)])
    present = robot.set_points()
    path = rules.plan(["head_yaw"], [point], present)
    follower.begin(path, "trajectory")
    assert follower.name == "trajectory"
    begun = time.monotonic()
    assert lead(follower) is Progress.ARRIVED
    assert time.monotonic() - begun >= 0.4
    follower.finish()
    assert robot.state is RobotState.HOLDING
    assert follower.name == ""
    assert robot.set_points()["head_yaw"] == pytest.approx(np.radians(30.0), abs=1e-3)
    end = time.monotonic() + PATIENCE
    while emulator.angles()[HEAD] != 120.0:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_broken_by_a_stop(settings: RobotSettings, robot: KondoRobot) -> None:
    """What stops the robot ends the path; nothing new begins."""
    follower = PathFollower(robot)
    robot.command({"head_yaw": 0.5})
    follower.begin(path_home(settings, robot.set_points() | {"l_knee": 1.0}), "home")
    assert follower.tick() is Progress.RUNNING
    robot.stop("by a test")
    assert follower.tick() is Progress.BROKEN
    assert follower.reason == "the robot is stopped: by a test"
    assert follower.tick() is Progress.IDLE
    with pytest.raises(RobotStateError, match="stopped"):
        follower.begin(path_home(settings, robot.set_points()), "home")


def test_motion_path(settings: RobotSettings, khr1: hs.Model) -> None:
    """A motion begins where the joints are, twice as fast where that is asked for."""
    present = dict.fromkeys(settings.joint_names, 0.0) | {"head_yaw": 0.5}
    motion = load_motion("greeting")
    path = MotionPath(khr1, settings, motion, present)
    assert path.angles(0.0)["head_yaw"] == pytest.approx(0.5, abs=np.radians(0.5))
    fast = MotionPath(khr1, settings, motion, present, 2.0)
    assert fast.duration == pytest.approx(path.duration / 2.0)
    middle = path.duration / 3.0
    assert fast.angles(middle / 2.0) == pytest.approx(path.angles(middle))
    for wrong in ({"rate": 0.0}, {"rate": float("nan")}, {"repetitions": 0}):
        with pytest.raises(ParameterError, match="must be"):
            MotionPath(khr1, settings, motion, present, **wrong)


def test_motions_by_name() -> None:
    """Names of the package, or paths; errors of others list the names."""
    assert isinstance(load_motion("greeting"), KondoMotion)
    with pytest.raises(ParameterError, match="there are: .*greeting"):
        load_motion("moonwalk")
