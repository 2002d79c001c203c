# SPDX-License-Identifier: Apache-2.0
"""How fast batches of recordings go, and that a kill costs nothing.

Synthetic recordings of a human that sways (the 28 tags with 1 mm of noise, 100 Hz) are
reconstructed by one worker process and by two; then by two again, killed half-way
(SIGKILL) and started anew. Counted are trials whose results are there, those that were
done twice, and those done before the kill that were touched after it.
Run: python benchmarks/reconstruction_batch.py [--trials N] [--samples N]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "helpers"))

from processes import group_alive

import humans_sim as hs
from humans_sim.applications.batch.record import Ledger
from humans_sim.control.trajectories.trajectory import Sway
from humans_sim.observation.markers import MarkerTrial, write_trc

NOISE = 1e-3
WANTED = 1.8


def write_recordings(folder: Path, trials: int, samples: int) -> None:
    """Write the recordings, ten to a subject."""
    model = hs.load_model("human36")
    sway = Sway.of_model(model)
    rng = np.random.default_rng(20061023)
    times = np.arange(samples) / 100
    for k in range(trials):
        q = [model.standing(sway.at(t + k)[0]) for t in times]
        tags = np.array([model.tags(row)[:-1] for row in q])
        tags += rng.normal(0.0, NOISE, tags.shape)
        trial = MarkerTrial(model.tag_names, times, tags, np.arange(samples) + 1)
        write_trc(trial, folder / f"Subject{k // 10 + 1:02}" / f"{k + 1:03}.trc")


def command(source: Path, output: Path, workers: int) -> list[str]:
    """A batch as a person starts it."""
    line = [sys.executable, "-m", "humans_sim", "reconstruct", str(source)]
    line += ["--marker-set", "canonical", "--no-report", "--workers", str(workers)]
    return [*line, "--output", str(output)]


def done(output: Path) -> list[str]:
    """Trials that the journal says are done, each as often as it was."""
    return [e["name"] for e in Ledger(output).entries() if e["state"] == "done"]


def timed(source: Path, output: Path, workers: int) -> tuple[float, float]:
    """Wall time of a batch, and that from its first trial done to its last [s]."""
    start = time.perf_counter()
    subprocess.run(
        command(source, output, workers), check=True, stdout=subprocess.DEVNULL
    )
    wall = time.perf_counter() - start
    written = [p.stat().st_mtime for p in output.rglob("records/**/*.json")]
    return wall, max(written) - min(written)


def killed(source: Path, output: Path, half: int) -> dict[Path, int]:
    """Start a batch and kill it half-way; when its records were written."""
    line = command(source, output, 2)
    with subprocess.Popen(
        line, stdout=subprocess.DEVNULL, start_new_session=True
    ) as batch:
        while len(done(output)) < half and batch.poll() is None:
            time.sleep(0.02)
        batch.kill()
    while group_alive(batch.pid):
        time.sleep(0.02)
    return {p: p.stat().st_mtime_ns for p in output.rglob("records/**/*.json")}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--samples", type=int, default=300)
    chosen = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as name:
        folder, source = Path(name), Path(name) / "recordings"
        write_recordings(source, chosen.trials, chosen.samples)
        console.print(
            f"{chosen.trials} recordings of {chosen.samples} samples; other load of "
            f"the machine (1 minute): {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores"
        )
        timed(source / "Subject01", folder / "warm", 1)  # kernels are compiled once
        table = Table("workers", r"wall \[s]", "trials/s", "after start", "frames/s")
        rates = {}
        for workers in (1, 2):
            wall, busy = timed(source, folder / f"by{workers}", workers)
            rates[workers] = (chosen.trials / wall, (chosen.trials - 1) / busy)
            table.add_row(
                str(workers),
                f"{wall:.1f}",
                f"{rates[workers][0]:.2f}",
                f"{rates[workers][1]:.2f}",
                f"{rates[workers][1] * chosen.samples:.0f}",
            )
        console.print(table)
        ratios = [rates[2][k] / rates[1][k] for k in range(2)]
        console.print(
            f"two workers over one: {ratios[0]:.2f} in all, {ratios[1]:.2f} after the "
            f"start (wanted: {WANTED})"
        )
        output = folder / "killed"
        before = killed(source, output, chosen.trials // 2)
        subprocess.run(
            command(source, output, 2), check=True, stdout=subprocess.DEVNULL
        )
        counts = Counter(done(output))
        results = len(list(output.rglob("*.npz")))
        twice = sum(count > 1 for count in counts.values())
        touched = sum(p.stat().st_mtime_ns != when for p, when in before.items())
        same = sum(
            p.read_bytes() == (folder / "by2" / p.relative_to(output)).read_bytes()
            for p in output.rglob("RecPos*.csv")
        )
        console.print(
            f"killed by {signal.SIGKILL.name} with {len(before)} done, started anew: "
            f"{results} results, {same} equal to those without a kill, {twice} done "
            f"twice, {touched} of the first {len(before)} touched again"
        )
        good = results == same == chosen.trials and not twice and not touched
        raise SystemExit(0 if good and max(ratios) >= WANTED else 1)


if __name__ == "__main__":
    main()
