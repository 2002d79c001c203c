# SPDX-License-Identifier: Apache-2.0
"""Emulated boards on a real pseudo-terminal, spoken to through its port."""

from __future__ import annotations

import os
import select
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from humans_sim.core.errors import ParameterError
from humans_sim.kondo.emulation.emulator import Emulator, FaultyLine, LineFaults
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import BYTE

TIMEOUT = 30.0
"""Longest wait for what does come, on any machine [s]."""


class Port:
    """A port opened as a program would."""

    def __init__(self, name: str) -> None:
        """Open it, raw."""
        self._descriptor = os.open(name, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self._descriptor)

    def ask(self, data: bytes, size: int, timeout: float = TIMEOUT) -> bytes:
        """Send bytes; up to ``size`` bytes that come back."""
        os.write(self._descriptor, data)
        answer, end = b"", time.monotonic() + timeout
        while len(answer) < size and (left := end - time.monotonic()) > 0:
            if select.select([self._descriptor], [], [], left)[0]:
                answer += os.read(self._descriptor, size - len(answer))
        return answer

    def exchange(self, command: rcb1.Command) -> rcb1.Reply:
        """Send a command and read its answer."""
        return command.read_reply(self.ask(command.encode(), command.REPLY.size()))

    def close(self) -> None:
        """Close it."""
        os.close(self._descriptor)


def wait(condition: Callable[[], bool]) -> None:
    """Until it holds."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def robot() -> Iterator[Emulator]:
    """A robot that answers."""
    with Emulator() as boards:
        yield boards


def test_an_id_is_for_every_board(robot: Emulator) -> None:
    """The command names no board: all that are on the line take the id."""
    port = Port(robot.port)
    assert port.exchange(rcb1.SetId(5)) == rcb1.Acknowledged(5)
    assert [board.board for board in robot.boards] == [5, 5]
    port.close()


def test_both_boards_answer(robot: Emulator) -> None:
    """Positions are set, reached and read on either board."""
    port = Port(robot.port)
    for board in (0, 1):
        home = port.exchange(rcb1.GetHome(board))
        assert isinstance(home, rcb1.Channels)
        there = (home.channels[0] + 6, *home.channels[1:])
        port.exchange(rcb1.SetPositions(board, 0, there))
        wait(lambda k=12 * board, angle=there[0]: robot.angles()[k] == angle)
        assert port.exchange(rcb1.GetPositions(board)) == rcb1.Channels(board, there)
    assert robot.heard == 6 and robot.lost == 0
    port.close()


def test_answers_are_not_faster_than_the_line(robot: Emulator) -> None:
    """Sixteen bytes there, two back."""
    port = Port(robot.port)
    command = rcb1.SetPositions(0, 0, (90,) * 12)
    port.exchange(command)
    begun = time.monotonic()
    for _ in range(20):
        port.exchange(command)
    assert time.monotonic() - begun >= 20 * 18 * BYTE
    port.close()


def test_nonsense_and_strangers_get_no_answer(robot: Emulator) -> None:
    """Noise is left out, a third board is silent, the next command is heard."""
    port = Port(robot.port)
    assert port.ask(b"\x00\x7f\xfd\x01", 1, 0.1) == b""
    assert port.ask(rcb1.GetPositions(7).encode(), 1, 0.1) == b""
    damaged = bytearray(rcb1.GetPositions(1).encode())
    damaged[-1] ^= 1
    assert port.ask(bytes(damaged), 1, 0.1) == b""
    assert port.exchange(rcb1.GetSwitches(1)) == rcb1.Switches(1, 0)
    port.close()


def test_unplugged_and_plugged_in_again(tmp_path: Path) -> None:
    """The open port fails; a link finds the new one."""
    link = tmp_path / "khr1"
    with Emulator(link=link) as robot:
        port = Port(robot.port)
        port.exchange(rcb1.GetSwitches(0))
        robot.unplug()
        assert robot.port == "" and not link.exists()
        with pytest.raises(OSError):
            for _ in range(3):
                port.ask(rcb1.GetSwitches(0).encode(), 1, 0.2)
                time.sleep(0.05)
        port.close()
        robot.replug()
        port = Port(str(link))
        assert port.exchange(rcb1.GetSwitches(0)) == rcb1.Switches(0, 0)
        port.close()
    assert not link.exists()


def test_faults_are_injected_and_repeat(robot: Emulator) -> None:
    """Shares as asked, the same by the same seed."""
    faults = LineFaults(lost=0.1, corrupted=0.05, doubled=0.02, seed=3)
    data = bytes(10_000)
    once, twice = (FaultyLine(faults).carry(data) for _ in range(2))
    assert once == twice
    assert len(once) == pytest.approx(10_000 * 0.9 * 1.02, rel=0.02)
    assert sum(byte != 0 for byte in once) == pytest.approx(0.05 * len(once), rel=0.2)
    assert FaultyLine(LineFaults()).carry(data) == data


def test_a_line_that_loses_bytes(tmp_path: Path) -> None:
    """Some commands go through, some do not; the boards stay awake."""
    taken = []
    with Emulator(
        faults=LineFaults(lost=0.03, corrupted=0.03),
        watch=lambda t, command: taken.append(command),
    ) as robot:
        port, command = Port(robot.port), rcb1.GetSwitches(1)
        sound, outcomes = rcb1.Switches(1, 0).encode(), [0, 0]

        def both() -> bool:
            answer = port.ask(command.encode(), command.REPLY.size(), 0.03)
            outcomes[answer == sound] += 1
            return min(outcomes) > 5

        wait(both)
        port.close()
    assert len(taken) >= outcomes[True]


def test_a_program_that_does_not_read(robot: Emulator) -> None:
    """Answers that nobody takes are lost; the boards continue, and end."""
    port = Port(robot.port)
    for _ in range(400):
        port.ask(rcb1.GetPositions(0).encode() * 10, 0, 0.0)
    wait(lambda: robot.heard >= 1000)
    port.close()
    robot.close()


def test_bad_faults() -> None:
    """Shares are shares."""
    with pytest.raises(ParameterError, match="lost"):
        LineFaults(lost=1.5)
    with pytest.raises(ParameterError, match="delay"):
        LineFaults(delay=-1.0)


def test_a_file_is_not_taken_for_a_port(tmp_path: Path) -> None:
    """What has the name of the link already is left alone."""
    mine = tmp_path / "mine.csv"
    mine.write_text("kept")
    with pytest.raises(ParameterError, match="is no link"):
        Emulator(link=mine)
    assert mine.read_text() == "kept"
