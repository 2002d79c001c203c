"""The serial line: against emulated boards on a real pseudo-terminal."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from humans_sim.errors import ParameterError
from humans_sim.kondo import link as link_module
from humans_sim.kondo import protocol as rcb1
from humans_sim.kondo.emulator import Emulator
from humans_sim.kondo.line_faults import LineFaults
from humans_sim.kondo.link import NoAnswerError, PortError, SerialLink

PATIENT = 10.0
"""Time-out for what does come, on any machine [s]."""


@pytest.fixture
def robot() -> Iterator[Emulator]:
    """A robot that answers."""
    with Emulator() as found:
        yield found


def test_an_exchange(robot: Emulator) -> None:
    """Both boards, and what the line says of itself."""
    with SerialLink(robot.port, timeout=PATIENT) as link:
        for board in (0, 1):
            assert link.exchange(rcb1.GetSwitches(board)) == rcb1.Switches(board, 0)
        assert link.statistics.answered == link.statistics.sent == 2
        assert all(0.0 < t < PATIENT for t in link.statistics.latencies)


def test_old_bytes_are_thrown_away(robot: Emulator) -> None:
    """An answer that came too late is not taken for the next one."""
    with SerialLink(robot.port, timeout=PATIENT) as link:
        old = rcb1.GetHome(0)
        os.write(link._serial.fd, old.encode())
        end = time.monotonic() + PATIENT
        while link._serial.in_waiting < old.REPLY.size():
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


def test_a_bad_line_is_borne() -> None:
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
    """The port's end is told as such; a new link goes on."""
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


def test_late_acknowledgements_are_waited_for(
    robot: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What matters is not taken for done by the answer to something else."""
    home = tuple(robot.boards[0].memory.home)
    waits: list[float] = []
    with SerialLink(robot.port, timeout=PATIENT) as link:
        # a frame whose answer nobody waits for, and a miss
        frame = rcb1.SetPositions(0, 4, home)
        os.write(link._serial.fd, frame.encode())
        link._missed = time.monotonic()

        def slept(seconds: float) -> None:
            waits.append(seconds)
            while link._serial.in_waiting < frame.REPLY.size():
                select.select([link._serial.fd], [], [], PATIENT)

        clock = SimpleNamespace(monotonic=time.monotonic, sleep=slept)
        monkeypatch.setattr(link_module, "time", clock)
        link.settle()
        assert waits == [PATIENT]
        link.exchange(rcb1.SetPositions(0, 0, (0xDD,) * 12))
        assert not any(robot.boards[0].driven)
        # nothing is owed: nothing is waited for
        link._missed = -1e9
        link.settle()
        assert waits == [PATIENT]
