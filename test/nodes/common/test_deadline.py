# SPDX-License-Identifier: Apache-2.0
"""The end of a process that comes even when the interpreter is stuck."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, sys
from humans_sim.nodes.common.process_end import deadline
with deadline(float(sys.argv[1]), int(sys.argv[2])):
    # Called with the interpreter's lock held: no other thread runs meanwhile.
    ctypes.PyDLL(None).sleep(int(sys.argv[3]))
print("left", flush=True)
ctypes.PyDLL(None).usleep(1_500_000)
"""
STUCK = 100
"""A sleep that the test does not wait for [s]."""


def run(seconds: float, code: int, sleep: int) -> subprocess.CompletedProcess[str]:
    """A process that sleeps in C, and its end."""
    words = [str(seconds), str(code), str(sleep)]
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        capture_output=True,
        text=True,
        timeout=STUCK / 2,
        check=False,
    )


@pytest.mark.parametrize("code", [0, 3])
def test_a_stuck_interpreter_ends(code: int) -> None:
    """A call that never returns the interpreter's lock ends with the given code."""
    ended = run(0.2, code, STUCK)
    assert ended.returncode == code
    assert ended.stdout == ""


def test_a_block_left_in_time_goes_on() -> None:
    """After the block the deadline counts no more."""
    ended = run(1.0, 3, 0)
    assert ended.returncode == 0
    assert ended.stdout == "left\n"
