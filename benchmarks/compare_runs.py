# SPDX-License-Identifier: Apache-2.0
"""Whether two versions of the software compute the same, bit for bit.

    python benchmarks/compare_runs.py store before
    ... change the code ...
    python benchmarks/compare_runs.py store after
    python benchmarks/compare_runs.py compare before after

``store`` simulates the beginning of every built-in scenario, some of them by the other
method or with another model too, and a few event-driven runs that meet what scenarios
seldom do (a body that topples with all its joints free, joint limits, impacts that
bounce, the sticking impact law, pushes); each goes to one ``.npz`` file. ``compare``
looks at every array and every event. Both runs must come from one machine: other
processors and other libraries round differently.

The torques of time stepping are given at the time of the sample; versions before that
had them at the start of the last step: there ``compare --ignore torques``.

Only names of ``humans_sim`` itself and its command line are used, so that the same file
runs before and after modules are moved.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import humans_sim as hs

ARRAYS = ("t", "q", "v", "z", "torques", "contacts", "forces", "gaps", "energy")
SCENARIOS: dict[str, tuple[str, ...]] = {
    "bip-one-step": ("--end", "1.2"),
    "bip-stand": ("--end", "1"),
    "bip-walk": ("--end", "1.2"),
    "bounce": (),
    "box-stack": ("--end", "0.5"),
    "chair-sit-to-stand": ("--end", "0.4"),
    "drop-servos": (),
    "drop": (),
    "fes-sit-to-stand": ("--end", "0.3"),
    "fes-swing-up": ("--end", "0.5"),
    "free-flight": ("--end", "1"),
    "human-walk": ("--end", "1"),
    "khr1-walk": ("--end", "2"),
    "off-centre-push": (),
    "push-box": ("--end", "1"),
    "rocking-block": (),
    "rolling-foot": ("--end", "1"),
    "rolling-sphere": (),
    "slide": (),
    "space-walk": ("--end", "1"),
    "tumbling-top": ("--end", "1"),
    "woodpecker": (),
}
"""The built-in scenarios; long ones are cut where their first events are over."""
VARIANTS: dict[str, tuple[str, ...]] = {
    "drop of human36": ("drop", "--model", "human36", "--end", "0.3"),
    "drop by time stepping": ("drop", "--method", "time_stepping"),
    "drop-servos by time stepping": ("drop-servos", "--method", "time_stepping"),
    "drop-servos, slippery": ("drop-servos", "--friction", "0.05", "--end", "0.5"),
    "rocking-block by time stepping": ("rocking-block", "--method", "time_stepping"),
    "woodpecker by time stepping": ("woodpecker", "--method", "time_stepping"),
}


def toppling(model: str, seed: int, end: float, **options: object) -> hs.Run:
    """A biped without torques, each joint with a speed of its own."""
    random = np.random.default_rng(seed)
    biped = hs.load_model(model)
    simulation = hs.Simulation(biped, **options)  # type: ignore[arg-type]
    v = random.normal(0.0, 0.5, biped.nv)
    q = biped.standing(np.zeros(len(biped.joint_names)))
    q[2] += 0.02
    return simulation.run(q, v, t_end=end, sampling_period=0.005)


def pushed(duration: float) -> hs.Run:
    """A standing KHR-1 without torques, pushed while it folds."""
    biped = hs.load_model("khr1")
    pushes = [
        hs.Push(0.01, (0.3, 0.1, 0.0), point=(0.0, 0.0, 0.05), duration=duration),
        hs.Push(0.04, (-0.1, 0.2, 0.1), duration=duration),
    ]
    ground = hs.Ground(friction=0.5)
    simulation = hs.Simulation(
        biped, ground=ground, pushes=pushes, contacts=hs.Contacts(limits=False)
    )
    q = biped.standing(np.zeros(len(biped.joint_names)))
    return simulation.run(q, t_end=0.06, sampling_period=0.005)


EXTRA: dict[str, Callable[[], hs.Run]] = {
    "khr1 topples": lambda: toppling("khr1", 1, 0.12),
    "khr1 topples, bouncing": lambda: toppling(
        "khr1", 2, 0.15, ground=hs.Ground(friction=0.3, restitution=0.5)
    ),
    "khr1 topples, sticking impacts": lambda: toppling("khr1", 3, 0.2, impact="humans"),
    "khr1 topples without limits": lambda: toppling(
        "khr1", 4, 0.2, contacts=hs.Contacts(limits=False)
    ),
    "bip topples": lambda: toppling("bip", 5, 0.2),
    "human36 topples": lambda: toppling("human36", 6, 0.1),
    "khr1 pushed at once": lambda: pushed(0.0),
    "khr1 pushed for a while": lambda: pushed(0.01),
}
"""Runs through the library, by name."""


def file_of(folder: Path, name: str) -> Path:
    """Where a run is stored."""
    return folder / f"{name.replace(',', '').replace(' ', '-')}.npz"


def all_names() -> list[str]:
    """Names of everything that can be run."""
    return [*SCENARIOS, *VARIANTS, *EXTRA]


def store_one(name: str, path: Path) -> None:
    """Run one and write it; a run that fails on its way is written up to there."""
    if name in EXTRA:
        try:
            run = EXTRA[name]()
        except hs.errors.SimulationError as error:
            run = error.run
        run.save(path)
        return
    words = VARIANTS[name] if name in VARIANTS else (name, *SCENARIOS[name])
    command = [sys.executable, "-m", "humans_sim", "run", *words, "--save", str(path)]
    # The exit code also says that a check found something, which is as good to compare.
    done = subprocess.run(command, capture_output=True, text=True)
    if not path.exists():
        sys.exit(f"{name} wrote no run:\n{done.stderr}")


def store(folder: Path, names: list[str]) -> None:
    """Run all and write them into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        began = time.perf_counter()
        store_one(name, file_of(folder, name))
        print(f"{name}: {time.perf_counter() - began:.1f} s", flush=True)


def difference(one: hs.Run, other: hs.Run, ignored: list[str]) -> str:
    """What differs between two runs, the largest of it; empty where nothing does."""
    differences: list[tuple[float, str]] = []
    for name in ARRAYS:
        if name in ignored:
            continue
        a, b = getattr(one, name), getattr(other, name)
        if a.shape != b.shape:
            return f"{name} has shape {a.shape} and {b.shape}"
        if a.tobytes() != b.tobytes():
            size = float(np.nanmax(np.abs(a - b), initial=0.0))
            row = int(np.flatnonzero((a != b).reshape(len(a), -1).any(axis=1))[0])
            since = f", since {one.t[row]:g} s"
            differences.append((size, f"{name} by {size:.3g}{since}"))
    if differences:
        return max(differences)[1]
    if len(one.events) != len(other.events):
        return f"{len(one.events)} and {len(other.events)} events"
    for a, b in zip(one.events, other.events, strict=True):
        if a != b:
            return f"event at {a.time:.9g} s: {a} and {b}"
    return ""


def compare(one: Path, other: Path, ignored: list[str]) -> bool:
    """Print what differs between the runs of two folders; whether all are equal."""
    files = sorted({path.name for folder in (one, other) for path in folder.iterdir()})
    if not files:
        print(f"{one} and {other} hold no runs")
        return False
    equal = True
    for name in files:
        missing = [folder for folder in (one, other) if not (folder / name).exists()]
        if missing:
            text = f"not in {missing[0]}"
        else:
            runs = hs.load_run(one / name), hs.load_run(other / name)
            text = difference(*runs, ignored)
            if not text:
                print(
                    f"{name}: equal ({len(runs[0].t)} samples, "
                    f"{len(runs[0].events)} events)"
                )
                continue
        equal = False
        print(f"{name}: DIFFERENT: {text}")
    return equal


def main() -> None:
    """Store runs, or compare those of two folders."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    storing = commands.add_parser("store", help="run all, write them to a folder")
    storing.add_argument("folder", type=Path)
    storing.add_argument("names", nargs="*", help="only these", metavar="name")
    comparing = commands.add_parser("compare", help="compare two folders")
    comparing.add_argument("one", type=Path)
    comparing.add_argument("other", type=Path)
    comparing.add_argument(
        "--ignore", action="append", default=[], choices=ARRAYS, help="an array"
    )
    options = parser.parse_args()
    if options.command == "compare":
        sys.exit(not compare(options.one, options.other, options.ignore))
    unknown = sorted(set(options.names) - set(all_names()))
    if unknown:
        parser.error(f"no such run: {', '.join(unknown)}; there are {all_names()}")
    store(options.folder, options.names or all_names())


if __name__ == "__main__":
    main()
