# SPDX-License-Identifier: Apache-2.0
"""Two RCB-1 as one robot: poses, readings, memory, on a real pseudo-terminal."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator

import pytest
from patient_boards import open_patient

from humans_sim.actuation.servo import SPEED_STEPS
from humans_sim.kondo.driver.board import BoardError
from humans_sim.kondo.driver.rcb1_boards import Rcb1Boards
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.emulation.emulator import Emulator, LineFaults
from humans_sim.kondo.motion.motion_file import KondoMotion, Pose
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.link import SerialLink
from humans_sim.kondo.protocol.rcb1 import LOW, ProtocolError

SETTINGS = load_robot()
PATIENCE = 60.0
"""Longest wait for what does come, on any machine [s]."""
HOME = SETTINGS.channels.home()


@pytest.fixture
def heard() -> list[rcb1.Command]:
    """What the boards took."""
    return []


@pytest.fixture
def boards(heard: list[rcb1.Command]) -> Iterator[tuple[Emulator, Rcb1Boards]]:
    """Emulated boards, and the other end of the line."""
    with Emulator(watch=lambda _, command: heard.append(command)) as emulator:
        opened = open_patient(emulator.port, SETTINGS)
        yield emulator, opened
        opened.close()


def test_frames_of_a_pose(
    boards: tuple[Emulator, Rcb1Boards], heard: list[rcb1.Command]
) -> None:
    """Whole degrees, the unused byte, the slowest speed that is in time."""
    _, robot = boards
    values = [None if v > 180 else float(v) for v in HOME]
    assert robot.move(1, values, 0.01)
    values[15 - 1] = 117.4
    assert robot.move(1, values, 0.01)  # 2 degrees in 10 ms: 0.0038 s/deg is enough
    values[15 - 1] = 90.0
    assert robot.move(1, values, 0.01)  # nothing is enough
    first, second, third = heard
    assert first.encode() == rcb1.SetPositions(1, 7, HOME[12:]).encode()
    assert isinstance(second, rcb1.SetPositions)
    assert isinstance(third, rcb1.SetPositions)
    assert (second.speed, second.channels[2]) == (5, 117)
    assert 2 * SPEED_STEPS[5] <= 0.01 < 2 * SPEED_STEPS[6]
    assert (third.speed, third.channels[2]) == (0, 90)


def test_reading(boards: tuple[Emulator, Rcb1Boards]) -> None:
    """Angles where there is a servo; a servo that reports none is named."""
    emulator, robot = boards
    expected = tuple(None if v > 180 else v for v in HOME)
    assert robot.read(sure=True) == robot.read() == expected
    board = emulator.boards[1]
    board._unused = (True, *board._unused[1:])
    with pytest.raises(BoardError, match="board 1 reports no angle of channel 13"):
        robot.read()


def test_two_readings_must_agree(
    boards: tuple[Emulator, Rcb1Boards], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged reading whose sum is right is not begun from."""
    emulator, robot = boards
    sound = robot._link.exchange
    flips = iter([0x80, 0, 0x80, 0, 0])

    def flipped(command: rcb1.Command, **options: float | None) -> rcb1.Reply:
        reply = sound(command, **options)
        if not isinstance(reply, rcb1.Channels) or reply.board == 0:
            return reply
        first, *others = reply.channels
        return rcb1.Channels(
            reply.board, (first, others[0] ^ next(flips, 0), *others[1:])
        )

    bent = (HOME[12], 20, *HOME[14:])
    sound(rcb1.SetPositions(1, 0, bent))
    end = time.monotonic() + PATIENCE
    while emulator.angles()[13] != 20.0:
        assert time.monotonic() < end
        time.sleep(0.01)
    monkeypatch.setattr(robot._link, "exchange", flipped)
    assert robot.read()[13] == 20 ^ 0x80
    assert robot.read(sure=True)[13] == 20
    flips = itertools.cycle([0x80, 0])
    with pytest.raises(BoardError, match="other angles at every reading"):
        robot.read(sure=True)


@pytest.mark.study
def test_memory_is_right_on_a_bad_line() -> None:
    """Every pose is read back: what the sum does not see is found, too."""
    faults = LineFaults(lost=0.01, corrupted=0.02, seed=8)
    poses = tuple(
        Pose(
            k % 8,
            tuple(v if v > 180 else round(90 + 80 * math.sin(k + v)) for v in HOME),
        )
        for k in range(12)
    )
    motion = KondoMotion("wild", poses)
    with Emulator(faults=faults) as emulator:
        link = SerialLink(emulator.port, timeout=0.1, retries=100, adapt=False)
        robot = Rcb1Boards(link, SETTINGS)
        robot.memory.store(7, motion)
        trims = [(-1) ** k * (k % 19) for k in range(24)]
        robot.memory.set_trims(trims)
        for k, board in enumerate(emulator.boards):
            kept = board.memory
            assert kept.lengths[7] == len(poses)
            for place, pose in enumerate(poses):
                part = pose.channels[12 * k : 12 * k + 12]
                assert kept.poses[7, place] == (pose.speed, part)
            assert [t - 20 for t in kept.trims] == trims[12 * k : 12 * k + 12]
        robot.close()


def test_motions_come_back_and_play(
    boards: tuple[Emulator, Rcb1Boards], heard: list[rcb1.Command]
) -> None:
    """What was stored is read as a motion; playing switches motions on."""
    emulator, robot = boards
    assert robot.memory.stored(3) is None
    nod = tuple(v if k != 5 else 60 for k, v in enumerate(HOME))
    robot.memory.store(3, KondoMotion("nod", (Pose(2, nod), Pose(4, HOME))))
    read_motion = robot.memory.stored(3)
    assert read_motion == KondoMotion("motion_3", (Pose(2, nod), Pose(4, HOME)))
    robot.memory.play(3)
    assert heard[-2:] == [rcb1.PlayMotion(0, 3), rcb1.PlayMotion(1, 3)]
    assert emulator.boards[0].memory.switches & 0b10
    with pytest.raises(ProtocolError, match="motion must be 0 to 39"):
        robot.memory.store(40, read_motion)
    with pytest.raises(ProtocolError, match="trim"):
        robot.memory.set_trims([30] * 24)
    emulator.boards[0].memory.lengths[3] = 1
    with pytest.raises(BoardError, match="different lengths"):
        robot.memory.stored(3)
    assert LOW == SETTINGS.unused
