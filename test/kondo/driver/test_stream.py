# SPDX-License-Identifier: Apache-2.0
"""Paths led in real time over a real pseudo-terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest
from patient_boards import PAUSE, open_patient

import humans_sim as hs
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.driver.board import RobotState
from humans_sim.kondo.driver.joint_path import (
    MotionPath,
    Rest,
    StreamError,
    check_motion,
    energise,
    path_to,
    stream,
)
from humans_sim.kondo.driver.robot import KondoRobot, RobotStateError
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.emulation.emulator import Emulator
from humans_sim.kondo.motion.motion_file import KondoMotion, Pose, load_motion
from humans_sim.kondo.protocol import rcb1

SETTINGS = load_robot()
HEAD, HIP = 5, 12
"""Places of the head and the left hip roll among the channels."""
PATIENCE = 60.0


@pytest.fixture
def robot(emulator: Emulator) -> Iterator[KondoRobot]:
    """It, open and limp; a slow machine does not make it hold."""
    with KondoRobot(
        SETTINGS,
        emulator.port,
        command_timeout=0,
        pause_timeout=PAUSE,
        open_boards=open_patient,
    ) as driven:
        yield driven


def test_a_path_is_followed_to_its_end(robot: KondoRobot, emulator: Emulator) -> None:
    """The way takes its time, slowly, and ends where it should."""
    path = path_to(SETTINGS, energise(robot), {"head_yaw": np.radians(30.0)})
    assert path.duration == pytest.approx(1.5 * 30.0 / SETTINGS.limits.approach)
    seen: list[float] = []
    begun = time.monotonic()
    done = stream(robot, path, "look", lambda t, _: seen.append(t))
    taken = time.monotonic() - begun
    assert taken >= path.duration
    assert seen == sorted(seen) and seen[-1] <= path.duration
    assert len(seen) == done.commands <= taken / 0.02 + 2
    end = time.monotonic() + PATIENCE
    while emulator.angles()[HEAD] != 120.0:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_rest_of_a_path() -> None:
    """The beginning is left out, the end is the same."""
    zero = dict.fromkeys(SETTINGS.joint_names, 0.0)
    path = path_to(SETTINGS, zero, {"head_yaw": 0.5})
    rest = Rest(path, 0.25)
    assert rest.duration == pytest.approx(path.duration - 0.25)
    assert rest.angles(0.1) == path.angles(0.35)
    assert rest.angles(100.0)["head_yaw"] == pytest.approx(0.5)
    assert Rest(path, 100.0).duration == 0.0


def test_bent_joints_come_back_slowly(robot: KondoRobot, emulator: Emulator) -> None:
    """A joint beyond its range is led back before any path begins."""
    home = list(SETTINGS.channels.home()[12:])
    home[HIP - 12] = 115  # the range ends at 105
    emulator.boards[1].hear(rcb1.SetPositions(1, 0, tuple(home)), 0.0)
    begun = time.monotonic()
    present = energise(robot)
    assert time.monotonic() - begun > 0.5 * 10.0 / SETTINGS.limits.approach
    robot.check(present)


def test_an_interrupted_path_is_reported(robot: KondoRobot) -> None:
    """A stop, or a line that is gone, ends it with its reason."""
    path = path_to(SETTINGS, energise(robot), {"head_yaw": 1.0})
    with pytest.raises(StreamError, match="stopped"):
        stream(robot, path, "look", lambda t, _: robot.stop() if t > 0.1 else None)
    with pytest.raises(RobotStateError):
        stream(robot, path, "look")


def test_a_lost_line_is_reported(robot: KondoRobot, emulator: Emulator) -> None:
    """It does not hang."""
    path = path_to(SETTINGS, energise(robot), {"head_yaw": 1.0})

    def unplug(t: float, _: float) -> None:
        if t > 0.1 and emulator.port:
            emulator.unplug()

    with pytest.raises(StreamError, match="lost"):
        stream(robot, path, "look", unplug)
    assert robot.state == RobotState.LOST


def test_limp_servos_are_not_led(robot: KondoRobot) -> None:
    """They must be energised; and a beat must be one."""
    zero = dict.fromkeys(SETTINGS.joint_names, 0.0)
    path = path_to(SETTINGS, zero, {"head_yaw": 1.0})
    with pytest.raises(RobotStateError):
        stream(robot, path, "look")
    with pytest.raises(ParameterError, match="period"):
        stream(robot, path, "look", period=0.0)


def test_motions_are_looked_at_before() -> None:
    """Ranges and speeds; the message says what can be done."""
    model, greeting = hs.load_model("khr1"), load_motion("greeting")
    check_motion(model, SETTINGS, greeting)
    with pytest.raises(ParameterError, match=r"pose 2, r_shoulder_roll .* --rate 1.29"):
        check_motion(model, SETTINGS, greeting, rate=2.0)
    check_motion(model, SETTINGS, greeting, rate=1.29)
    far = list(SETTINGS.channels.home())
    far[HIP] = 150
    motion = KondoMotion("far", (greeting.poses[0], Pose(4, tuple(far))))
    with pytest.raises(ParameterError, match="pose 1: ch13"):
        check_motion(model, SETTINGS, motion)
    zero = dict.fromkeys(SETTINGS.joint_names, 0.0)
    assert MotionPath(model, SETTINGS, greeting, zero).duration > 0.0
