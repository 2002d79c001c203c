# SPDX-License-Identifier: Apache-2.0
"""A bad line: what is counted of it, and a short trial over a pseudo-terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.emulation.emulator import LineFaults
from humans_sim.kondo.protocol import rcb1

# Last: benchmarks and folders of tests share names. The boards' process has it too.
sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from line_trial import Said, _arrived, _astray, try_line

SECONDS = 2.0
PERIOD = 0.02
HOME = load_robot().channels.home()
USED = [number - 1 for number in load_robot().channels.channels]


def sent(t: float, board: int, angle: int = 0) -> Said:
    """A set point of a board, its second channel turned by an angle [deg]."""
    values = list(HOME[12 * board : 12 * board + 12])
    values[1] += angle
    return Said(t, rcb1.SetPositions(board, 0, tuple(values)))


def test_what_has_arrived() -> None:
    """A set point has arrived when every board took one before the next was given."""
    given = [0.0, 0.02, 0.04, 0.06]
    taken = [
        sent(-0.001, 0),  # before the first: of none
        sent(0.005, 0),
        sent(0.010, 1),  # both: the first one arrived
        sent(0.025, 1),
        sent(0.030, 1),  # one board twice: the second did not
        sent(0.045, 0),
        sent(0.061, 1),  # too late for the third
        sent(0.070, 0),  # and so both took the fourth
    ]
    assert _arrived(taken, given, (0, 1)) == 2
    assert _arrived([], given, (0, 1)) == 0


def test_what_was_led_astray() -> None:
    """A frame that nobody said is counted, with the angle and the time it cost."""
    given = [k * PERIOD for k in range(51)]
    said = [sent(t, 0, 5) for t in given]
    assert _astray(said, said, given, USED) == (0, 0.0, 0.0)
    # The eleventh is damaged on the line, the twelfth is lost, the others set it right.
    taken = [*said[:10], sent(given[10], 0, 25), *said[12:]]
    wrong, angle, time = _astray(said, taken, given, USED)
    assert wrong == 1
    assert 1.0 < angle <= 20.0
    assert PERIOD < time < 1.0


@pytest.mark.study
def test_a_bad_line_delivers() -> None:
    """Bytes are lost and corrupted: set points still arrive, and all is counted.

    How many in time is a matter of the machine: benchmarks/kondo_line.py measures it.
    """
    trial = try_line(SECONDS, LineFaults(lost=0.01, corrupted=0.01, seed=4))
    assert trial.given == pytest.approx(SECONDS / PERIOD)
    assert 0 < trial.delivered <= trial.given
    assert 0 < trial.taken <= trial.given
    assert len(trial.latencies) == trial.delivered
    assert (trial.latencies > 0.0).all()
    assert trial.repeated > 0
    assert 0 <= trial.wrong < trial.frames
