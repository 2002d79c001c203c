# SPDX-License-Identifier: Apache-2.0
"""Random command lines of ``humans-sim``, with damaged files.

    python benchmarks/fuzz_commands.py [--cases N] [--processes M] [--seed S]

N lines are done in worker processes by the program's own entry point, M more as real
processes. The exit code must be 0, 1, 2 or 130; there is no traceback, no hang, and no
temporary file stays. Faults are printed with their command lines; then the exit code
is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "helpers"))

from fuzz_workers import (
    DIED,
    HANG,
    READ,
    REFUSED,
    UNTYPED,
    Tally,
    Work,
    clean_folder,
    described,
    run_cases,
)

LIMIT = 10.0
"""Processor time that a command may take [s]."""
CODES = (0, 1, 2, 130)


def make_work(seeds: str, seed: int) -> Work:
    """What does a case; called in the worker's process."""
    from fuzz_command_lines import QUICK, Lines, commands
    from typer.testing import CliRunner

    from humans_sim.cli.commands import app
    from humans_sim.core.errors import HumansError

    lines, runner = Lines(commands(app), Path(seeds)), CliRunner()
    with clean_folder() as folder, contextlib.chdir(folder):
        for name in QUICK:  # kernels compile, once
            runner.invoke(app, ["run", name, "--end", "0.01"])
        for path in (Path(seeds) / "run").iterdir():
            runner.invoke(app, ["report", str(path), "-o", "page.html"])

    def work(case: int) -> tuple[str, str]:
        chance = random.Random(f"{seed} command {case}")
        with clean_folder() as folder, contextlib.chdir(folder):
            line = lines.line(chance, folder)
            result = runner.invoke(app, line)
            shown = shlex.join(line)[:300]
            stray = _stray(folder)
            fault = result.exception
            if isinstance(fault, HumansError):
                outcome = REFUSED, ""
            elif fault is not None and not isinstance(fault, SystemExit):
                outcome = UNTYPED, f"{described(fault)} <- {shown}"
            elif result.exit_code not in CODES or "Traceback (most" in result.output:
                outcome = UNTYPED, f"exit code {result.exit_code} <- {shown}"
            else:
                outcome = (REFUSED if result.exit_code else READ), ""
            return (UNTYPED, f"left {stray[0]} <- {shown}") if stray else outcome

    return work


def _stray(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".humans-sim.*.part")]


def as_process(seeds: str, seed: int, case: int) -> tuple[str, str]:
    """One command line as a process of its own."""
    from fuzz_command_lines import Lines, commands

    from humans_sim.cli.commands import app

    lines = Lines(commands(app), Path(seeds))
    chance = random.Random(f"{seed} process {case}")
    root = str(Path(__file__).resolve().parents[1])
    with clean_folder() as folder:
        line = lines.line(chance, folder, ())
        shown = shlex.join(line)[:300]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "humans_sim", *line],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                cwd=folder,
                timeout=6 * LIMIT,
                env={**os.environ, "PYTHONPATH": root},
                check=False,
            )
        except subprocess.TimeoutExpired:
            return HANG, shown
        if done.returncode < 0:
            return DIED, f"signal {-done.returncode} <- {shown}"
        if done.returncode not in CODES or b"Traceback (most" in done.stderr:
            return UNTYPED, f"{done.stderr.decode(errors='replace')[-200:]} <- {shown}"
        if stray := _stray(folder):
            return UNTYPED, f"left {stray[0]} <- {shown}"
        return (REFUSED if done.returncode else READ), ""


def main() -> int:
    """Command line."""
    from fuzz_readers import report
    from fuzz_seeds import write_seeds

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_seeds(Path(folder))
        arguments = (folder, given.seed)
        lines = run_cases(make_work, arguments, range(given.cases), LIMIT)
        processes = Tally()
        for case in range(given.processes):
            processes.add(case, *as_process(folder, given.seed, case))
    return 0 if report({"lines": lines, "processes": processes}) else 1


if __name__ == "__main__":
    sys.exit(main())
