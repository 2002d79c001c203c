# SPDX-License-Identifier: Apache-2.0
"""How well a sweep uses its workers, and that a kill costs nothing.

The KHR-1 walks for 5 s with many seeds on two workers. The sweep is killed at half
(SIGKILL) and started anew by the same command. Counted are runs in the table, those
done twice, and those done before the kill that were touched after it. Two efficiencies
are printed, both of the time between the first and the last run that is done before the
kill: the share of the workers' time in which they simulated, and the share of a
processor that they had for it; on a machine that does nothing else they are equal.
Run: python benchmarks/sweep.py [--runs N] [--workers N]
"""

from __future__ import annotations

import argparse
import csv
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "helpers"))

from processes import group_alive

from humans_sim.applications.batch.record import Ledger

WANTED = 0.85
"""Share of the workers' time in which they simulate."""


def command(runs: int, workers: int, table: Path) -> list[str]:
    """A sweep as a person starts it."""
    line = [sys.executable, "-m", "humans_sim", "sweep", "khr1-walk", "--vary", "end=5"]
    return [*line, "--seeds", str(runs), "--workers", str(workers), "-o", str(table)]


def done(folder: Path) -> list[str]:
    """Runs that the journal says are done, each as often as it was."""
    return [e["name"] for e in Ledger(folder).entries() if e["state"] == "done"]


def killed(line: list[str], folder: Path, half: int) -> dict[Path, float]:
    """Start a sweep and kill it at half; when its records were written."""
    with subprocess.Popen(line, start_new_session=True) as sweep:
        while len(done(folder)) < half and sweep.poll() is None:
            time.sleep(0.2)
        sweep.send_signal(signal.SIGKILL)
    while group_alive(sweep.pid):  # workers end with their parent
        time.sleep(0.05)
    return {p: p.stat().st_mtime for p in folder.rglob("records/**/*.json")}


def efficiency(
    table: Path, records: dict[Path, float], workers: int
) -> tuple[float, float]:
    """Shares of the workers' time in which they simulated, and were on a processor.

    Of the part before the kill, after the first run of every worker: until then they
    load libraries and kernels.
    """
    ended = sorted(records.values())[workers - 1 :]
    span = workers * (ended[-1] - ended[0])
    with table.open() as stream:
        rows = {row["seed"]: row for row in csv.DictReader(stream)}
    late = [path for path, when in records.items() if when > ended[0]]
    counted = [rows[path.stem.removeprefix("seed")] for path in late]
    return (
        sum(float(row["wall_time"]) for row in counted) / span,
        sum(float(row["cpu_time"]) for row in counted) / span,
    )


def main() -> int:
    """Run; the exit code is 1 where something is lost, done twice, or slow."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        table = Path(home) / "walks.csv"
        folder = table.with_suffix(".runs")
        line = command(given.runs, given.workers, table)
        before = killed(line, folder, given.runs // 2)
        print(f"killed with {len(before)} of {given.runs} runs done", flush=True)
        subprocess.run(line, check=True)
        counts = Counter(done(folder))
        with table.open() as stream:
            rows = list(csv.DictReader(stream))
        touched = sum(path.stat().st_mtime != when for path, when in before.items())
        busy, processor = efficiency(table, before, given.workers)
    twice = sum(count > 1 for count in counts.values())
    print(f"rows: {len(rows)}, done twice: {twice}, done again: {touched}")
    print(Counter(row["outcome"] for row in rows))
    print(f"{given.workers} workers simulate {100 * busy:.1f} % of the time, "
          f"{100 * processor:.1f} % of it on a processor")  # fmt: skip
    sound = len(rows) == len(counts) == given.runs and not twice and not touched
    return 0 if sound and busy > WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
