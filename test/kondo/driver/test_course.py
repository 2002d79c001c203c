# SPDX-License-Identifier: Apache-2.0
"""Courses that lead an emulated robot over a serial line."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest
from patient_boards import open_patient

import humans_sim as hs
from humans_sim.core.errors import ParameterError
from humans_sim.kondo import KondoMotion
from humans_sim.kondo.driver.course import (
    Leader,
    MotionCourse,
    Progress,
    joint_limits,
    way_home,
)
from humans_sim.kondo.driver.joint_trajectory import TrajectoryRules, Waypoint
from humans_sim.kondo.driver.robot import KondoRobot, RobotStateError
from humans_sim.kondo.driver.robot_health import RobotState
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.emulation.emulator import Emulator
from humans_sim.kondo.motion.motion_library import load_motion

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
        settings, emulator.port, command_timeout=0, open_boards=open_patient
    ) as driven:
        driven.energise()
        yield driven


def lead(leader: Leader) -> Progress:
    """Tick until the course is over."""
    end = time.monotonic() + PATIENCE
    while (progress := leader.tick()) is Progress.RUNNING:
        assert (now := time.monotonic()) < end
        # Once it has begun, the course has its own speed, not that of the approach.
        assert leader.time(now) is None or not leader._robot.approaching()
        time.sleep(0.01)
    return progress


def test_limits_of_a_khr1(settings: RobotSettings) -> None:
    """Ranges follow sense and zero of each channel."""
    limits = joint_limits(settings)
    assert set(limits) == set(settings.joint_names)
    knee = limits["l_knee"]
    np.testing.assert_allclose(np.degrees(knee), [-65.0, 115.0, settings.limits.speed])


def test_way_home_is_slow(settings: RobotSettings) -> None:
    """No joint turns faster than the approach."""
    present = dict.fromkeys(settings.joint_names, 0.0) | {"l_knee": 1.0}
    way = way_home(settings, present)
    most = np.radians(settings.limits.approach)
    speeds = [way.at(t).velocities for t in np.linspace(0.0, way.duration, 100)]
    assert 0.99 * most < np.abs(speeds).max() <= most * (1.0 + 1e-9)
    assert way.angles(way.duration) == pytest.approx(dict.fromkeys(way.names, 0.0))


def test_leads_along_a_trajectory(
    settings: RobotSettings, emulator: Emulator, robot: KondoRobot
) -> None:
    """A fast way is followed at once; then the robot holds its end."""
    leader = Leader(robot)
    assert leader.tick() is Progress.IDLE
    rules = TrajectoryRules(joint_limits(settings), partial=True)
    point = Waypoint(0.4, [np.radians(30.0)])
    present = robot.set_points()
    way = rules.plan(["head_yaw"], [point], present)
    leader.begin(way, "trajectory")
    assert leader.name == "trajectory"
    begun = time.monotonic()
    assert lead(leader) is Progress.ARRIVED
    assert time.monotonic() - begun >= 0.4
    leader.finish()
    assert robot.state is RobotState.HOLDING
    assert leader.name == ""
    assert robot.set_points()["head_yaw"] == pytest.approx(np.radians(30.0), abs=1e-3)
    end = time.monotonic() + PATIENCE
    while emulator.angles()[HEAD] != 120.0:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_broken_by_a_stop(settings: RobotSettings, robot: KondoRobot) -> None:
    """What stops the robot ends the course; nothing new begins."""
    leader = Leader(robot)
    robot.command({"head_yaw": 0.5})
    leader.begin(way_home(settings, robot.set_points() | {"l_knee": 1.0}), "home")
    assert leader.tick() is Progress.RUNNING
    robot.stop("by a test")
    assert leader.tick() is Progress.BROKEN
    assert leader.reason == "the robot is stopped: by a test"
    assert leader.tick() is Progress.IDLE
    with pytest.raises(RobotStateError, match="stopped"):
        leader.begin(way_home(settings, robot.set_points()), "home")


def test_motion_course(settings: RobotSettings, khr1: hs.Model) -> None:
    """A motion begins where the joints are, twice as fast where it is told so."""
    present = dict.fromkeys(settings.joint_names, 0.0) | {"head_yaw": 0.5}
    motion = load_motion("greeting")
    course = MotionCourse(khr1, settings, motion, present)
    assert course.angles(0.0)["head_yaw"] == pytest.approx(0.5, abs=np.radians(0.5))
    fast = MotionCourse(khr1, settings, motion, present, 2.0)
    assert fast.duration == pytest.approx(course.duration / 2.0)
    middle = course.duration / 3.0
    assert fast.angles(middle / 2.0) == pytest.approx(course.angles(middle))
    for wrong in ({"rate": 0.0}, {"rate": float("nan")}, {"repetitions": 0}):
        with pytest.raises(ParameterError, match="must be"):
            MotionCourse(khr1, settings, motion, present, **wrong)


def test_motions_by_name() -> None:
    """Names of the package, or paths; others are told the names."""
    assert isinstance(load_motion("greeting"), KondoMotion)
    with pytest.raises(ParameterError, match="there are: greeting"):
        load_motion("moonwalk")
