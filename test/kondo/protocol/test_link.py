# SPDX-License-Identifier: Apache-2.0
"""The serial line: against emulated boards on a real pseudo-terminal."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from humans_sim.core.errors import ParameterError
from humans_sim.kondo.emulation.emulator import Emulator, LineFaults
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.link import NoAnswerError, PortError, SerialLink

PATIENT = 10.0
"""Time-out for what does come, on any machine [s]."""


@pytest.fixture
def robot() -> Iterator[Emulator]:
    """A robot that answers."""
    with Emulator() as boards:
        yield boards


def test_an_exchange(robot: Emulator) -> None:
    """Both boards, and what the line says of itself."""
    with SerialLink(robot.port, timeout=PATIENT, adapt=False) as link:
        for board in (0, 1):
            assert link.exchange(rcb1.GetSwitches(board)) == rcb1.Switches(board, 0)
        assert link.statistics.answered == link.statistics.sent == 2
        assert all(0.0 < t < PATIENT for t in link.statistics.latencies)


def test_old_bytes_are_thrown_away(robot: Emulator) -> None:
    """An answer that came too late is not taken for the next one."""
    with SerialLink(robot.port, timeout=PATIENT) as link:
        old = rcb1.GetHome(0)
        os.write(link._port.device.fd, old.encode())
        end = time.monotonic() + PATIENT
        while link._port.device.in_waiting < old.REPLY.size():
            assert time.monotonic() < end
            time.sleep(0.01)
        assert link.exchange(rcb1.GetSwitches(1)) == rcb1.Switches(1, 0)


def test_a_silent_board(robot: Emulator) -> None:
    """Asked as often as it was said, then given up with a hint."""
    with SerialLink(robot.port, timeout=0.01, retries=2) as link:
        with pytest.raises(NoAnswerError, match=r"3 times asked.*is the board on"):
            link.exchange(rcb1.GetSwitches(9))
        assert (link.statistics.sent, link.statistics.repeated) == (3, 2)
        assert link.statistics.failed == 1


def test_a_bad_line_is_tolerated() -> None:
    """Set points arrive although bytes are lost and damaged."""
    faults = LineFaults(lost=0.01, corrupted=0.01, seed=5)
    with (
        Emulator(faults=faults) as robot,
        SerialLink(robot.port, timeout=0.1, retries=50) as link,
    ):
        for k in range(60):
            link.exchange(rcb1.SetPositions(k % 2, 0, (80 + k % 20,) * 12))
        assert link.statistics.answered == 60
        assert link.statistics.repeated > 0


def test_unplugged(tmp_path: Path) -> None:
    """The port's end is reported as such; a new link resumes."""
    name = tmp_path / "khr1"
    with Emulator(link=name) as robot:
        link = SerialLink(str(name), timeout=PATIENT, retries=0)
        link.exchange(rcb1.GetSwitches(0))
        robot.unplug()
        with pytest.raises(PortError, match="gone"):
            link.exchange(rcb1.GetSwitches(0))
        link.close()
        with pytest.raises(PortError, match="no such port"):
            SerialLink(str(name))
        robot.replug()
        with SerialLink(str(name), timeout=PATIENT) as again:
            assert again.exchange(rcb1.GetSwitches(0)) == rcb1.Switches(0, 0)


def test_ports_that_cannot_be_opened(robot: Emulator, tmp_path: Path) -> None:
    """Busy, absent, no port at all: in plain words."""
    with SerialLink(robot.port), pytest.raises(PortError, match="another program"):
        SerialLink(robot.port)
    with pytest.raises(PortError, match="no such port"):
        SerialLink(str(tmp_path / "none"))
    (tmp_path / "file").write_text("no port")
    with pytest.raises(PortError, match="is none"):
        SerialLink(str(tmp_path / "file"))
    with pytest.raises(ParameterError, match="timeout"):
        SerialLink(robot.port, timeout=0.0)
    with pytest.raises(ParameterError, match="retries"):
        SerialLink(robot.port, retries=-1)


def test_a_late_acknowledgement_is_not_the_next_ones(robot: Emulator) -> None:
    """A command that a board did not take is not done by the answer to another."""
    board, home = robot.boards[0], tuple(robot.boards[0].memory.home)
    hear, slow = board.hear, threading.Event()

    def hears_once_late(command: rcb1.Command, t: float) -> rcb1.Reply | None:
        reply = hear(command, t)
        board.hear = hears_nothing  # type: ignore[method-assign]
        slow.wait(PATIENT)
        return reply

    def hears_nothing(command: rcb1.Command, t: float) -> rcb1.Reply | None:
        board.hear = hear  # type: ignore[method-assign]
        return None

    with SerialLink(robot.port, timeout=0.05) as link:
        board.hear = hears_once_late  # type: ignore[method-assign]
        with pytest.raises(NoAnswerError):
            link.exchange(rcb1.SetPositions(0, 4, home), retries=0)
        assert any(board.driven)
        free = rcb1.SetPositions(0, 0, (0xDD,) * 12)
        threading.Timer(0.02, slow.set).start()
        link.exchange(free, within=PATIENT)
        assert not any(board.driven)


def test_bytes_without_end_do_not_keep_it() -> None:
    """A line that never falls silent is given up like a silent one."""
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    end = threading.Event()

    def flood() -> None:
        while not end.is_set():
            with contextlib.suppress(BlockingIOError):
                os.write(master, bytes(range(0x20, 0xE0)) * 4)
            with contextlib.suppress(BlockingIOError):
                os.read(master, 4096)

    writer = threading.Thread(target=flood)
    writer.start()
    try:
        with (
            SerialLink(os.ttyname(slave), retries=1) as link,
            pytest.raises(NoAnswerError, match="none of them the answer|took no bytes"),
        ):
            link.exchange(rcb1.GetSwitches(0))
    finally:
        end.set()
        writer.join()
        os.close(slave)
        os.close(master)
