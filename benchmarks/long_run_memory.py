# SPDX-License-Identifier: Apache-2.0
"""Do long runs stay out of memory?

    python benchmarks/long_run_memory.py [--samples N] [library] [command] [recorder]
                                         [load] [memory]

Each in a process of its own:

``library``: ``Simulation.run(save=...)`` of a ball, time-stepping at 1 kHz.
``command``: the same by ``humans-sim run ball.yaml --save``, with its check.
``recorder``: what the dynamics node records, of a KHR-1: one of its samples again and
    again at other times, as many as N. Integrating them takes hours and no memory.
``load``: the recorder's file by ``load_run(lazy=True)``, checked, and a slice of it.
``memory``: the run of ``library`` without a file, to compare (not by default).

Prints samples, time, peak of the resident memory and size of the file; the exit code is
1 where a peak is above 500 MB (``memory`` is not judged).
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

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.dynamics import problems
from humans_sim.nodes.common.run_recorder import RunRecorder

LIMIT = 500.0
"""Largest peak of the resident memory [MB]."""
PERIOD = 1e-3
SCENARIO = """title: A ball at rest
problem: bouncing_ball
parameters: {{restitution: 0.0, mass: 1.0}}
start: {{q: [0.1]}}
method: time_stepping
time: {{end: {end}, sampling_period: {period}}}
"""


def library(folder: Path, samples: int) -> int:
    """A run that is written as it goes."""
    return _ball(samples, folder / "library.npz")


def memory(folder: Path, samples: int) -> int:
    """A run that is held in memory."""
    return _ball(samples, None)


def _ball(samples: int, path: Path | None) -> int:
    simulation = hs.Simulation(problems.bouncing_ball(0.0), method="time_stepping")
    end = (samples - 1) * PERIOD
    run = simulation.run(np.array([0.1]), t_end=end, sampling_period=PERIOD, save=path)
    return len(run.t)


def command(folder: Path, samples: int) -> int:
    """The command line's way."""
    from humans_sim.cli.commands import run_app

    scenario, path = folder / "ball.yaml", folder / "command.npz"
    end = (samples - 1) * PERIOD
    scenario.write_text(SCENARIO.format(end=f"{end:.3f}", period=PERIOD))
    with (folder / "printed").open("w") as file, contextlib.redirect_stdout(file):
        if run_app(["run", str(scenario), "--save", str(path)]):
            raise SystemExit("the command failed")
    return len(hs.load_run(path, lazy=True).t)


def recorder(folder: Path, samples: int) -> int:
    """The dynamics node's way, with samples of a KHR-1."""
    model = hs.load_model("khr1")
    simulation = hs.Simulation(model, Servo(model), method="time_stepping")
    sample = simulation.start(model.neutral()).sample()
    keeper = RunRecorder(folder / "recorder.npz", samples)
    keeper.begin(simulation)
    for k in range(samples):
        keeper.keep(sample._replace(t=k * PERIOD, q=sample.q.copy()), ())
    keeper.write()
    return samples


def load(folder: Path, samples: int) -> int:
    """A file that is larger than the memory it is read with."""
    if not (folder / "recorder.npz").exists():
        recorder(folder, samples)
    run = hs.load_run(folder / "recorder.npz", lazy=True)
    run.check()
    np.array(run.q[samples // 2 : samples // 2 + 1000])
    return len(run.t)


METHODS: dict[str, Callable[[Path, int], int]] = {
    method.__name__: method for method in (library, command, recorder, load, memory)
}


def _measure(name: str, folder: str, samples: int, results: object) -> None:
    start = time.perf_counter()
    count = METHODS[name](Path(folder), samples)
    seconds = time.perf_counter() - start
    # Not getrusage, which counts what the parent had as well.
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    results.put((count, seconds, peak))  # type: ignore[attr-defined]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("methods", nargs="*", choices=[*METHODS, []], metavar="method")
    parser.add_argument("--samples", type=int, default=1_200_000)
    parser.add_argument("--folder", default=None, help="of the files; removed after")
    given = parser.parse_args()
    context, worst = multiprocessing.get_context("spawn"), 0.0
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        print(f"{'':10}{'samples':>10}{'s':>8}{'peak MB':>9}{'file MB':>9}")
        for name in given.methods or [name for name in METHODS if name != "memory"]:
            results = context.Queue()
            process = context.Process(
                target=_measure, args=(name, folder, given.samples, results)
            )
            process.start()
            process.join()
            if process.exitcode:
                return 1
            count, seconds, peak = results.get()
            if name != "memory":
                worst = max(worst, peak)
            path = Path(folder) / f"{'recorder' if name == 'load' else name}.npz"
            size = path.stat().st_size / 1e6 if path.exists() else 0.0
            print(
                f"{name:10}{count:10}{seconds:8.0f}{peak:9.0f}{size:9.0f}", flush=True
            )
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
