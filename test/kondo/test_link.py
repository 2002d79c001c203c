"""The serial line: against emulated boards on a real pseudo-terminal."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from humans_sim.errors import ParameterError
from humans_sim.kondo import protocol as rcb1
from humans_sim.kondo.emulator import Emulator
from humans_sim.kondo.line_faults import LineFaults
from humans_sim.kondo.link import NoAnswerError, PortError, SerialLink

PATIENT = 0.5
"""Time-out on a busy machine [s]."""


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
        os.write(link._serial.fd, rcb1.GetHome(0).encode())
        time.sleep(0.1)
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
    with Emulator(faults=faults) as robot, SerialLink(robot.port, timeout=0.1) as link:
        done = 0
        for k in range(60):
            try:
                link.exchange(rcb1.SetPositions(k % 2, 0, (80 + k % 20,) * 12))
                done += 1
            except NoAnswerError:
                pass
        assert done >= 59
        assert link.statistics.repeated > 0
        assert np.median(link.statistics.latencies) < 0.05


def test_unplugged(tmp_path: Path) -> None:
    """The port's end is told as such; a new link goes on."""
    name = tmp_path / "khr1"
    with Emulator(link=name) as robot:
        link = SerialLink(str(name), timeout=0.05, retries=0)
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


def test_late_acknowledgements_are_waited_for(robot: Emulator) -> None:
    """What matters is not taken for done by the answer to something else."""
    home = tuple(robot.boards[0].memory.home)
    with SerialLink(robot.port, timeout=PATIENT) as link:
        # a frame whose answer nobody waits for, and a miss
        os.write(link._serial.fd, rcb1.SetPositions(0, 4, home).encode())
        link._missed = time.monotonic()
        begun = time.monotonic()
        link.settle()
        assert time.monotonic() - begun >= 0.9 * PATIENT
        link.exchange(rcb1.SetPositions(0, 0, (0xDD,) * 12))
        assert not any(robot.boards[0].driven)
        link._missed = -1e9
        begun = time.monotonic()
        link.settle()
        assert time.monotonic() - begun < 0.1
