# SPDX-License-Identifier: Apache-2.0
"""A line that loses is not treated as one that is slow: in a time of its own."""

from __future__ import annotations

import math

import pytest
from virtual_line import VirtualRobot, virtual_robot

from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.emulation.emulator import LineFaults
from humans_sim.kondo.protocol import rcb1

SETTINGS = load_robot()
STEP = SETTINGS.limits.step
PERIOD = 0.02
LOSES = LineFaults(lost=0.01, corrupted=0.01, seed=1)


def swing(robot: VirtualRobot, seconds: float, rate: float, size: float) -> int:
    """Swing two joints, a command every 20 ms; how many were given.

    Args:
        robot: holds.
        seconds: how long.
        rate: of the swing [Hz].
        size: of the swing [rad].
    """
    line, given = robot.line, 0
    begin = line.now

    def command() -> None:
        nonlocal given
        t = line.now - begin
        angle = size * math.sin(2.0 * math.pi * rate * t)
        robot.robot.command({"head_yaw": angle, "l_hip_roll": 0.2 * angle})
        given += 1
        if t < seconds - 1.5 * PERIOD:
            line.at(line.now + PERIOD, command)

    line.at(begin, command)
    robot.run(begin + seconds)
    return given


def test_a_line_without_faults() -> None:
    """Every set point is acknowledged before the next one."""
    with virtual_robot(LineFaults()) as robot:
        given = swing(robot, 4.0, 0.5, 0.3)
        assert robot.robot.health().delivered == given
        assert max(robot.line.steps) <= 2


@pytest.mark.parametrize("rate", [0.5, 1.5])
def test_a_line_that_loses(rate: float) -> None:
    """Nearly all set points are acknowledged in time, and no step is too long."""
    with virtual_robot(LOSES) as robot:
        given = swing(robot, 6.0, rate, 0.5)
        health = robot.robot.health()
        assert health.delivered > 0.9 * given
        assert (health.held, health.reconnections) == (0, 0)
        assert max(robot.line.steps) <= STEP


def test_a_line_that_loses_more() -> None:
    """Half of all frames are lost: most set points arrive, none waits for long."""
    faults = LineFaults(lost=0.02, corrupted=0.02, seed=2)
    with virtual_robot(faults) as robot:
        given = swing(robot, 6.0, 0.5, 0.3)
        assert robot.robot.health().delivered > 0.4 * given
        assert robot.robot.health().reconnections == 0
        assert max(robot.line.steps) <= STEP


@pytest.mark.parametrize("delay", [0.05, 0.2])
def test_a_slow_line_is_not_flooded(delay: float) -> None:
    """Answers that come late let the next request wait: few are open at any time."""
    with virtual_robot(LineFaults(late=0.3, delay=delay, seed=3)) as robot:
        swing(robot, 6.0, 0.5, 0.3)
        line = robot.line
        assert line.most_open < 20
        assert line.latest < 1.0
        assert max(line.steps) <= STEP


def test_a_set_point_does_not_wait_for_a_question() -> None:
    """An open acknowledgement alone is no reason to ask before the next set point."""
    with virtual_robot(LineFaults()) as robot:
        boards, line = robot.robot._boards, robot.line
        assert boards is not None
        values = [None if v > 180 else float(v) for v in SETTINGS.channels.home()]
        line.deaf = True
        assert not boards.move(0, values, 0.01)
        line.deaf = False
        line.sent.clear()
        values[5] = 91.0
        assert boards.move(0, values, 0.01)  # acknowledged, perhaps the one before
        assert not boards.certain(0, values)
        assert [type(c) for c in line.sent] == [rcb1.SetPositions]
        boards.settle(0)
        assert type(line.sent[-1]) is rcb1.GetSwitches
        assert boards.move(0, values, 0.01)
        assert boards.certain(0, values)
        line.deaf = True
        assert not boards.move(0, values, 0.01)
        line.deaf = False
        line.sent.clear()
        values[5] = 91.0 + 0.75 * STEP  # far from what may be in force
        assert boards.move(0, values, 0.01)
        assert [type(c) for c in line.sent] == [rcb1.GetSwitches, rcb1.SetPositions]
        assert boards.certain(0, values)


def test_an_answer_that_comes_too_soon_is_an_earlier_ones() -> None:
    """Bytes that are still on the line cannot have been answered."""
    with virtual_robot(LineFaults()) as robot:
        boards, line = robot.robot._boards, robot.line
        assert boards is not None
        values = [None if v > 180 else float(v) for v in SETTINGS.channels.home()]
        line.deaf = True
        assert not boards.move(0, values, 0.01)
        values[5] = 91.0
        line.answers_in(0.0005, rcb1.Acknowledged(0))
        assert not boards.move(0, values, 0.01)
        line.answers_in(0.002, rcb1.Acknowledged(0))
        assert boards.move(0, values, 0.01)
