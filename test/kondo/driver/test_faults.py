# SPDX-License-Identifier: Apache-2.0
"""A fault stops the robot, whatever commands it, until it is energised on purpose."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from patient_boards import PAUSE, open_patient

from humans_sim.kondo.driver.board import OnFault, RobotState
from humans_sim.kondo.driver.robot import KondoRobot, RobotStateError
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.emulation.emulator import Emulator
from humans_sim.kondo.emulation.virtual_board import VirtualBoard
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import CHANNELS, DEGREES

SETTINGS = load_robot()
HOME = SETTINGS.channels.home()
BENT = 35
"""How far a hand bends the left knee [deg]."""
KNEE = 15 - 1 - CHANNELS
PATIENCE = 60.0
"""Longest wait for what does come, on any machine [s]."""
Log = list[tuple[float, rcb1.SetPositions]]


def wait(condition: Callable[[], bool], what: str) -> None:
    """Until it holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE:g} s for {what}"
        time.sleep(0.005)


@pytest.fixture
def log() -> Log:
    """Set points that the boards took: angles, not what makes servos limp."""
    return []


@pytest.fixture
def boards(log: Log, tmp_path: Path) -> Iterator[Emulator]:
    """Boards at home, under one name."""

    def watch(t: float, command: rcb1.Command) -> None:
        if isinstance(command, rcb1.SetPositions):
            if min(command.channels) <= DEGREES:
                log.append((t, command))

    with Emulator(link=tmp_path / "port", watch=watch) as made:
        yield made


@contextmanager
def driven(
    boards: Emulator, on_fault: OnFault = OnFault.KEEP, free_timeout: float = 0.0
) -> Iterator[KondoRobot]:
    """A robot that something commands all the time."""
    end = threading.Event()
    with KondoRobot(
        SETTINGS,
        boards.port,
        command_timeout=0.0,
        free_timeout=free_timeout,
        pause_timeout=PAUSE,
        on_fault=on_fault,
        open_boards=open_patient,
    ) as robot:
        robot.energise()

        def command() -> None:
            while not end.wait(0.02):
                with suppress(RobotStateError):
                    robot.command(dict.fromkeys(robot.joint_names, 0.0))

        thread = threading.Thread(target=command, daemon=True)
        thread.start()
        wait(lambda: robot.state == RobotState.FOLLOWING, "a command")
        try:
            yield robot
        finally:
            end.set()
            thread.join()


def bend(boards: Emulator, robot: KondoRobot, log: Log) -> None:
    """Unplug the robot, switch it off, bend its knee, switch it on, plug it in."""
    boards.unplug()
    wait(lambda: robot.state == RobotState.LOST, "loss")
    log.clear()
    legs = list(HOME[CHANNELS:])
    legs[KNEE] -= BENT
    boards.boards = (VirtualBoard(0, HOME[:CHANNELS]), VirtualBoard(1, legs))
    boards.replug()


def test_bent_and_plugged_in_again(boards: Emulator, log: Log) -> None:
    """No set point before it is energised; then a slow approach from where it is."""
    with driven(boards) as robot:
        for _ in range(3):
            bend(boards, robot, log)
            wait(lambda: robot.state == RobotState.STOPPED, "return")
            refused = robot.health().refused
            wait(lambda refused=refused: robot.health().refused > refused + 5, "more")
            assert not log
            assert not any(flag for b in boards.boards for flag in b.driven)
            move = robot.preview()
            assert (move.joint, move.commanded) == ("l_knee", True)
            assert math.degrees(move.distance) == pytest.approx(-BENT)
            assert move.duration == pytest.approx(BENT / SETTINGS.limits.approach)
            assert "l_knee moves by 35 degrees" in str(move)
            assert not log
            robot.energise()
            wait(lambda: robot.state == RobotState.FOLLOWING, "commands")
            wait(lambda: not robot.approaching(), "the approach")
            knees = [(t, c.channels[KNEE]) for t, c in log if c.board == 1]
            bent, first = HOME[CHANNELS + KNEE] - BENT, knees[0][0]
            for t, knee in knees:
                # A step makes up for the time since the pose was read, 0.1 s at most.
                passed = (t - first + 0.1) * SETTINGS.limits.approach
                assert abs(knee - bent) <= passed + 1.0


@pytest.mark.parametrize("choice", OnFault)
def test_the_servos_do_what_the_user_chose(
    boards: Emulator, log: Log, choice: OnFault
) -> None:
    """They are left alone, hold the pose that was read, or are limp."""
    with driven(boards, choice) as robot:
        bend(boards, robot, log)
        stiff = choice is OnFault.HOLD
        ended = RobotState.LIMP if choice is OnFault.FREE else RobotState.STOPPED
        wait(lambda: robot.state == ended and bool(robot.set_points()) == stiff, "end")
        assert "the line was lost" in robot.health().reason
        if stiff:
            wait(lambda: len(log) > 4, "set points")
            assert {c.channels[KNEE] for _, c in log if c.board == 1} == {
                HOME[CHANNELS + KNEE] - BENT
            }
            assert robot.unacknowledged(PATIENCE) == ()
        assert stiff == any(flag for b in boards.boards for flag in b.driven)
        with pytest.raises(RobotStateError, match="energise it on purpose"):
            robot.command({"head_yaw": 0.0})
        assert stiff or not log


def test_a_fault_that_others_noticed(boards: Emulator, log: Log) -> None:
    """It stops a robot that is led; nothing more is sent, and a stop works still."""
    with driven(boards) as robot:
        robot.fault("the battery has 9.1 V")
        assert robot.state == RobotState.STOPPED
        assert robot.health().faults == 1
        robot.read_back()  # what was on the line is over
        log.clear()
        robot.stop("by hand")
        robot.read_back()
        assert not log and robot.health().reason == "by hand"
        assert robot.unacknowledged() == ()
        robot.free()
        robot.fault("again")  # limp servos stay limp
        assert robot.state == RobotState.LIMP


def test_a_stop_while_it_is_energised(
    boards: Emulator, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes while the pose is read: the servos are not energised."""
    with KondoRobot(SETTINGS, boards.port, open_boards=open_patient) as robot:
        assert robot._boards is not None
        read = robot._boards.read

        def stopped(sure: bool = False) -> tuple[float | None, ...]:
            robot.stop()
            return read(sure)

        monkeypatch.setattr(robot._boards, "read", stopped)
        with pytest.raises(RobotStateError, match="stopped meanwhile"):
            robot.energise()
        assert robot.state == RobotState.LIMP and not log


def test_a_stopped_robot_goes_limp(boards: Emulator, log: Log) -> None:
    """After its time, as any robot at rest; the reason stays."""
    with driven(boards, free_timeout=0.3) as robot:
        bend(boards, robot, log)
        wait(lambda: robot.state == RobotState.LIMP, "limp servos")
        assert "stopped for 0.3 s (the line was lost" in robot.health().reason
        assert not log


def test_what_moves_without_commands(boards: Emulator) -> None:
    """Nothing, but a joint that was bent out of its range."""
    with KondoRobot(SETTINGS, boards.port, open_boards=open_patient) as robot:
        assert str(robot.preview()).startswith("nothing moves")
        legs = list(HOME[CHANNELS:])
        legs[0] = 115  # the left hip goes to 105
        boards.boards = (boards.boards[0], VirtualBoard(1, legs))
        move = robot.preview()
        assert move.joint == "l_hip_roll" and not move.commanded
        assert math.degrees(abs(move.distance)) == pytest.approx(10.0)
        assert "out of its range" in str(move)
