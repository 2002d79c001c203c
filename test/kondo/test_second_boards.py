# SPDX-License-Identifier: Apache-2.0
"""The driver against boards that were emulated without knowing it (second_boards)."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from patient_boards import open_patient
from second_boards import HOMES, SecondBoards
from unhurried import type_unhurried

from humans_sim.core.errors import HumansError
from humans_sim.core.resources import resource
from humans_sim.kondo.driver.board import BoardError, RobotState
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.motion.motion_file import read_motion
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.link import NoAnswerError, SerialLink

SETTINGS = load_robot()
STEP = 12.0
"""Longest step of a servo [deg]."""
HOME = {
    channel: float(home)
    for channel, home in enumerate(HOMES[0] + HOMES[1], start=1)
    if home <= 180
}
"""Home of the channels with a servo [deg]."""
GREETING = read_motion(resource("config", "motions", "greeting.csv"))
LAST = {channel: float(GREETING.poses[-1].channels[channel - 1]) for channel in HOME}
HEAD = SETTINGS.channels.channels[6]
PATIENCE = 60.0


@pytest.fixture
def boards() -> Iterator[SecondBoards]:
    """A limp robot that a hand has bent."""
    with SecondBoards() as made:
        for channel, degrees in ((3, 60), (6, 120), (14, 90), (15, 70)):
            made.bend(channel, degrees)
        yield made


def wait(condition: Callable[[], bool]) -> None:
    """Until it holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def kondo(boards: SecondBoards, *words: str) -> str:
    """Type a command; what it printed."""
    done = type_unhurried(["kondo", *words], KONDO_PORT=boards.path, COLUMNS="160")
    assert done.exit_code == 0, f"{words}: {done.output} {done.exception}"
    return str(done.output)


def is_at(boards: SecondBoards, pose: dict[int, float]) -> bool:
    """Whether every servo stands where a pose has it."""
    return all(abs(boards.angle(channel) - at) < 0.5 for channel, at in pose.items())


def lead(robot: KondoRobot, **angles: float) -> None:
    """Command joints, of a robot that may have to be energised anew [rad]."""
    with suppress(HumansError):
        if robot.state not in (RobotState.HOLDING, RobotState.FOLLOWING):
            robot.energise()
        robot.command(angles)
    time.sleep(0.01)


def swing(robot: KondoRobot, seconds: float) -> None:
    """Send joints from one end to the other and back, whatever becomes of it."""
    begun = time.monotonic()
    while (t := time.monotonic() - begun) < seconds:
        goal = 0.8 if int(t / 0.4) % 2 else -0.8
        lead(robot, head_yaw=goal, l_knee=goal + 0.8)


def turn_the_head(robot: KondoRobot, boards: SecondBoards) -> None:
    """Lead the head to 30 degrees, and wait until its servo is there."""
    goal, end = 90.0 + 30.0 * HEAD.sense, time.monotonic() + PATIENCE
    while abs(boards.angle(6) - goal) > 0.5:
        lead(robot, head_yaw=math.radians(30.0))
        assert time.monotonic() < end


def test_every_command_is_understood(boards: SecondBoards) -> None:
    """What is set is what is read; a board that is not there does not answer."""
    pose, trims = (*range(11), 0xE1), (0, *range(28, 39))
    kept = (
        (rcb1.WritePose(1, 39, 99, 7, pose), rcb1.ReadPose(1, 39, 99), (7, pose)),
        (rcb1.SetMotionLength(1, 39, 100), rcb1.GetMotionLength(1, 39), (100,)),
        (rcb1.SetScenario(0, 3, 199, 39), rcb1.GetScenario(0, 3, 199), (39,)),
        (rcb1.SetScenarioLength(0, 3, 200), rcb1.GetScenarioLength(0, 3), (200,)),
        (rcb1.SetSwitches(0, 2), rcb1.GetSwitches(0), (2,)),
        (rcb1.SetRemoteKeys(0, 159, 1, 2, 3), rcb1.GetRemoteKeys(0, 159), (1, 2, 3)),
        (rcb1.SetTrims(1, trims), rcb1.GetTrims(1), (trims,)),
    )
    with SerialLink(boards.path, timeout=1.0, adapt=False) as link:
        for order, question, values in kept:
            link.exchange(order)
            expected = question.REPLY(question.board, *values)
            assert link.exchange(question) == expected
        home = rcb1.Channels(0, tuple(HOMES[0]))
        assert link.exchange(rcb1.GetHome(0)) == home
        link.exchange(rcb1.SetPositions(0, 0, home.channels))
        wait(lambda: link.exchange(rcb1.GetPositions(0)) == home)
        link.exchange(rcb1.StoreHome(0))
        link.exchange(rcb1.PlayScenario(0, 0))
        link.exchange(rcb1.PlayMotion(0, 0))
        assert {link.exchange(rcb1.GetId()).board for _ in range(2)} == {0, 1}
        with pytest.raises(NoAnswerError):
            link.exchange(rcb1.GetSwitches(2), retries=0)
        link.exchange(rcb1.SetId(2))
        link.exchange(rcb1.GetSwitches(2))
    assert {heard.fate for heard in boards.log} == {"ok", "no such board"}
    assert boards.settings_wrong == 0


@pytest.mark.study
def test_jobs_of_the_command_line(boards: SecondBoards) -> None:
    """Read, lead, play from a file and from the memory, free: no servo jumps."""
    assert " 70 " in kondo(boards, "info")  # the bent knee
    kondo(boards, "pose", "head_yaw=30")
    assert boards.angle(15) == pytest.approx(70.0)
    kondo(boards, "home")
    wait(lambda: is_at(boards, HOME))
    kondo(boards, "play", "greeting")
    wait(lambda: is_at(boards, LAST))
    kondo(boards, "play", "greeting", "--store", "5")
    kondo(boards, "home")
    kondo(boards, "play", "--stored", "5")
    wait(lambda: is_at(boards, LAST))
    assert not any(boards.limp(channel) for channel in HOME)
    kondo(boards, "free")
    assert all(boards.limp(channel) for channel in HOME)
    assert 1.0 <= boards.largest_step() <= STEP
    assert {heard.fate for heard in boards.log} == {"ok"}


def test_a_motion_played_by_the_boards(boards: SecondBoards) -> None:
    """Both boards end in the last pose of the motion that they were given."""
    with KondoRobot(SETTINGS, boards.path, open_boards=open_patient) as robot:
        robot.ask(lambda made: made.memory.store(4, GREETING))
        robot.ask(lambda made: made.memory.play(4))
    wait(lambda: is_at(boards, LAST))


@pytest.mark.study
def test_a_walk(boards: SecondBoards) -> None:
    """The package's walk bends both knees in turn, and none of them jumps."""
    kondo(boards, "walk", "--steps", "2")
    for knee in (15, 21):
        angles = [degrees for _, degrees in boards.set_points(knee)]
        assert max(angles) - min(angles) > 5.0
    assert 1.0 <= boards.largest_step() <= STEP
    assert {heard.fate for heard in boards.log} == {"ok"}


FAULTS: dict[str, Callable[[SecondBoards], None]] = {
    "replies lost": lambda boards: boards.lose(4),
    "requests lost": lambda boards: boards.lose(0, requests=4),
    "replies garbled": lambda boards: boards.garble(4),
    "requests garbled": lambda boards: boards.garble(0, requests=4),
    "replies late": lambda boards: boards.delay(0.1, 3),
    "replies very late": lambda boards: boards.delay(0.6),
    "noise": lambda boards: boards.noise(bytes(range(256))),
}


@pytest.mark.study
@pytest.mark.parametrize("counts_bytes", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_makes_a_servo_jump(fault: str, counts_bytes: bool) -> None:
    """Joints that are sent from end to end move by steps, and get there after all."""
    with (
        SecondBoards(counts_bytes=counts_bytes) as boards,
        KondoRobot(SETTINGS, boards.path, command_timeout=0) as robot,
    ):
        for _ in range(4):
            FAULTS[fault](boards)
            swing(robot, 0.3)
        turn_the_head(robot, boards)
        assert 1.0 <= boards.largest_step() <= STEP


@pytest.mark.parametrize("kind", ["reads_command", "homes_at_power"])
def test_boards_of_another_kind(kind: str) -> None:
    """They repeat what they were sent, or drive home at once: they can be led, too."""
    with (
        SecondBoards(**{kind: True}) as boards,
        KondoRobot(
            SETTINGS, boards.path, command_timeout=0, open_boards=open_patient
        ) as robot,
    ):
        turn_the_head(robot, boards)
        assert 1.0 <= boards.largest_step() <= STEP


def start(boards: SecondBoards) -> subprocess.Popen[bytes]:
    """A driver in a process of its own, once it plays."""
    words = "-m humans_sim kondo play greeting --repeat 50 --port".split()
    process = subprocess.Popen(
        [sys.executable, *words, boards.path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    frames = len(boards.heard(0xFD))
    wait(lambda: len(boards.heard(0xFD)) > frames + 100)
    return process


@pytest.mark.study
@pytest.mark.parametrize("pause", [0.2, 1.0])
def test_a_paused_driver(boards: SecondBoards, pause: float) -> None:
    """It goes on, or after a long pause ends: the servos hold meanwhile; none jumps."""
    process = start(boards)
    try:
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.2)  # what it had sent is heard
        frames = len(boards.log)
        time.sleep(pause)
        assert len(boards.log) == frames
        assert not any(boards.limp(channel) for channel in HOME)
        os.kill(process.pid, signal.SIGCONT)
        wait(lambda: len(boards.log) > frames)  # set points, or servos made limp
    finally:
        process.kill()
        process.wait()
    kondo(boards, "home")
    assert 1.0 <= boards.largest_step() <= STEP


@pytest.mark.study
def test_a_killed_driver(boards: SecondBoards) -> None:
    """The servos hold its last set point; the next driver begins there."""
    process = start(boards)
    process.kill()
    process.wait()
    time.sleep(0.2)
    assert not any(boards.limp(channel) for channel in HOME)
    last = {channel: boards.set_points(channel)[-1][1] for channel in HOME}
    wait(lambda: is_at(boards, last))
    kondo(boards, "home")
    wait(lambda: is_at(boards, HOME))
    assert 1.0 <= boards.largest_step() <= STEP


@pytest.mark.parametrize("switched_off", [False, True])
def test_a_line_that_was_gone(boards: SecondBoards, switched_off: bool) -> None:
    """Its adapter was pulled; a limb may be bent meanwhile: none is pulled back."""
    with KondoRobot(
        SETTINGS, boards.path, command_timeout=0, open_boards=open_patient
    ) as robot:
        robot.energise()
        wait(lambda: not boards.limp(15))
        boards.unplug()
        if switched_off:
            boards.power(False)
            boards.bend(15, 30)
        wait(lambda: robot.state == RobotState.LOST)
        if switched_off:
            boards.power(True)
        boards.replug()
        wait(lambda: robot.state != RobotState.LOST)
        robot.energise()
        wait(lambda: not boards.limp(15))
        assert boards.angle(15) == (30.0 if switched_off else 70.0)
    assert boards.largest_step() <= STEP


def test_boards_that_are_off_or_asleep(boards: SecondBoards) -> None:
    """They are not driven, and the error says why."""
    boards.power(False)
    with pytest.raises(NoAnswerError, match="is the board on"):
        KondoRobot(SETTINGS, boards.path).open()
    boards.power(True)
    with SerialLink(boards.path, timeout=1.0, adapt=False) as link:
        link.exchange(rcb1.SetSwitches(1, 1))
    with KondoRobot(SETTINGS, boards.path, open_boards=open_patient) as robot:
        with pytest.raises(BoardError, match="board 1 sleeps"):
            robot.energise()
        assert robot.state == RobotState.LIMP
    assert not boards.heard(0xFD)
