# SPDX-License-Identifier: Apache-2.0
"""Does a long recording stay out of memory?

    python benchmarks/reconstruction_memory.py [--frames N] [library] [command]

A person with 41 markers sways for N frames (100 000) at 100 Hz, with noise and gaps.
Each way in a process of its own:

``library``: ``reconstruct`` of the trial's file, mode static, saved as ``.npz``.
``command``: ``humans-sim reconstruct`` of the file, all usual formats and the page.

Prints frames, processor time, time of the processor a frame and the peak of the
resident memory; the exit code is 1 where a peak is above 400 MB.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

LIMIT = 400.0
"""Largest peak of the resident memory [MB]."""
SET, RATE, NOISE = "cmu", 100.0, 0.003
PERIOD = 500
"""Frames after which the motion repeats."""


def make(path: Path, frames: int) -> None:
    """A long recording (C3D)."""
    import humans_sim as hs
    from humans_sim.observation.markers import MarkerTrial, write_c3d
    from humans_sim.observation.markers.synthetic import synthetic_trial

    model = hs.load_model("human36")
    part = synthetic_trial(
        model, SET, duration=PERIOD / RATE, rate=RATE, noise=NOISE, dropout=0.05
    )
    # There and back, so that the end fits the beginning.
    whole = np.concatenate([part.positions, part.positions[::-1]])
    rounds = -(-frames // len(whole))
    positions = np.tile(whole.astype(np.float32), (rounds, 1, 1))[:frames]
    times = np.arange(frames) / RATE
    write_c3d(MarkerTrial(part.names, times, positions, np.arange(1, frames + 1)), path)


def library(source: Path, folder: Path) -> int:
    """The function, and a file of the result."""
    import humans_sim as hs

    result = hs.reconstruct(source, SET)
    result.save(folder / "library.npz")
    return len(result.t)


def command(source: Path, folder: Path) -> int:
    """The command line, in this process."""
    from humans_sim.cli.commands import run_app

    given = ["reconstruct", str(source), "--marker-set", SET, "--workers", "0"]
    with (folder / "printed").open("w") as file, contextlib.redirect_stdout(file):
        if run_app([*given, "-o", str(folder / "command")]):
            raise SystemExit("the command failed")
    return 0


WAYS: dict[str, Callable[[Path, Path], int]] = {
    way.__name__: way for way in (library, command)
}


def _measure(name: str, source: str, folder: str, results: object) -> None:
    start = time.process_time()
    if name == "make":
        make(Path(source), int(folder))
    else:
        WAYS[name](Path(source), Path(folder))
    # Not getrusage, which counts what the parent had as well.
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    results.put((time.process_time() - start, peak))  # type: ignore[attr-defined]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("ways", nargs="*", choices=[*WAYS, []], metavar="way")
    parser.add_argument("--frames", type=int, default=100_000)
    given = parser.parse_args()
    context, worst = multiprocessing.get_context("spawn"), 0.0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "long.c3d"
        print(f"{'':10}{'frames':>8}{'CPU s':>8}{'ms/frame':>10}{'peak MB':>9}")
        for name in ("make", *(given.ways or WAYS)):
            results = context.Queue()
            place = str(given.frames) if name == "make" else folder
            process = context.Process(
                target=_measure, args=(name, str(source), place, results)
            )
            process.start()
            process.join()
            if process.exitcode:
                return 1
            seconds, peak = results.get()
            if name == "make":
                continue
            worst = max(worst, peak)
            each = 1e3 * seconds / given.frames
            print(
                f"{name:10}{given.frames:8}{seconds:8.0f}{each:10.3f}{peak:9.0f}",
                flush=True,
            )
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
