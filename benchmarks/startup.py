# SPDX-License-Identifier: Apache-2.0
"""Time from typing a command to what it first says, beside that of bare imports.

Run it twice: the first call may compile kernels, which are kept.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

BARE = [sys.executable, "-c", "import numpy, pinocchio; print()"]
COMMANDS = ("--version", "models", "run drop", "run khr1-walk --end 0.1")
REPEATS = 5


def first_line(command: list[str]) -> tuple[float, float]:
    """Times to the first line of output, and to the end [s]."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    first = time.perf_counter() - start
    process.communicate()
    return first, time.perf_counter() - start


def median(command: list[str], count: int) -> tuple[float, float]:
    """Medians over the repetitions; the first one warms caches and is left out."""
    times = [first_line(command) for _ in range(count + 1)][1:]
    first, whole = zip(*times, strict=True)
    return statistics.median(first), statistics.median(whole)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="*", default=COMMANDS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    given = parser.parse_args()
    bare = median(BARE, given.repeats)[1]
    print(f"import numpy, pinocchio: {bare:.2f} s")
    for words in given.commands:
        command = [sys.executable, "-m", "humans_sim", *words.split()]
        first, whole = median(command, given.repeats)
        print(
            f"humans-sim {words}: first line {first:.2f} s ({first / bare:.1f} x), "
            f"end {whole:.2f} s ({whole / bare:.1f} x)"
        )
