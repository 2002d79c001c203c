# SPDX-License-Identifier: Apache-2.0
"""What a first run costs before anything moves, and a second one.

    python benchmarks/cold_start.py [--compile] [COMMAND ...]

Each command of ``humans-sim`` (drop, khr1-walk and a reconstruction unless others are
given) runs in fresh processes: cold, with an empty folder for its kernels, and warm,
with those that the cold one left. ``--compile``: ``humans-sim compile`` fills one
folder for all of them first, and the exit code is 1 where a command compiles after
that. Columns: processor time [s] and peak of the resident memory [MB] of a process,
kernels it compiled and the time that took [s], files of machine code and their size
[MB]. Compiling is what numba reports, its own functions included.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

COMMANDS = ("run drop", "run khr1-walk", "reconstruct --example")
MEASURED = """
import atexit, json, resource, sys, time
from pathlib import Path
from humans_sim.core.kernel_compilation import Compilation, report_compilation
numbers_file = Path(sys.argv.pop(1))
compiled = [Compilation("", 0, 0.0)]
reports = report_compilation(compiled.append)
reports.__enter__()
def write():
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    numbers = time.process_time(), peak / 1024.0, compiled[-1].count
    numbers_file.write_text(json.dumps([*numbers, compiled[-1].seconds]))
atexit.register(write)
from humans_sim.cli.main import main
main()
"""


class Measured(NamedTuple):
    """What one process cost."""

    processor: float
    memory: float
    compiled: int
    compiling: float


def measure(command: str, kernels: Path) -> Measured:
    """Run a command in a fresh process.

    Args:
        command: without ``humans-sim``.
        kernels: folder of machine code.
    """
    with tempfile.TemporaryDirectory() as folder:
        numbers = Path(folder) / "numbers.json"
        words = shlex.split(command)
        if words[0] == "reconstruct":
            words += ["--output", str(Path(folder) / "results")]
        subprocess.run(
            [sys.executable, "-c", MEASURED, str(numbers), *words],
            env={**os.environ, "NUMBA_CACHE_DIR": str(kernels)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        return Measured(*json.loads(numbers.read_text()))


def row(name: str, measured: Measured, kernels: Path) -> str:
    """A line of the table."""
    sizes = [path.stat().st_size for path in kernels.rglob("*.nbc")]
    return (
        f"{name:32} {measured.processor:8.1f} {measured.memory:8.0f} "
        f"{measured.compiled:8d} {measured.compiling:8.1f} "
        f"{len(sizes):6d} {sum(sizes) / 1e6:6.1f}"
    )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="*", default=COMMANDS)
    parser.add_argument("--compile", action="store_true", help="as set-up does")
    given = parser.parse_args()
    print(f"{'':32} {'cpu':>8} {'memory':>8} {'compiled':>8} {'in':>8} files   size")
    late = 0
    with tempfile.TemporaryDirectory() as folder:
        if given.compile:
            place = Path(folder) / "kernels"
            print(row("compile", measure("compile", place), place), flush=True)
        for number, command in enumerate(given.commands):
            if not given.compile:
                place = Path(folder) / str(number)
                print(row(f"{command}, cold", measure(command, place), place))
            warm = measure(command, place)
            late += warm.compiled
            print(row(f"{command}, warm", warm, place), flush=True)
    return int(late > 0)


if __name__ == "__main__":
    sys.exit(main())
