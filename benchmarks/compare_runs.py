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
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import humans_sim as hs

ENDS = {
    "bip-let-down": 1.0,
    "bip-one-step": 1.2,
    "bip-stairs": 1.0,
    "bip-stand": 1.0,
    "bip-walk": 1.2,
    "box-stack": 0.5,
    "carpus-adduction": 0.2,
    "carpus-extension": 0.2,
    "chair-sit-to-stand": 0.4,
    "collapse": 0.5,
    "dominoes": 0.4,
    "euler-disk": 0.3,
    "fall-stairs": 0.6,
    "fes-sit-to-stand": 0.3,
    "fes-swing-up": 0.5,
    "footprint-fade": 0.5,
    "free-flight": 1.0,
    "hair-and-cloth": 0.1,
    "human-gait": 1.0,
    "human-walk": 1.0,
    "khr1-fall": 1.0,
    "khr1-walk": 2.0,
    "mud-stand": 0.5,
    "puppet": 0.3,
    "push-box": 1.0,
    "rattleback": 0.5,
    "rolling-foot": 1.0,
    "rolling-knee": 0.3,
    "rubble-walk": 1.0,
    "sand-walk": 0.5,
    "soil-walk": 0.5,
    "space-walk": 1.0,
    "stairs-walk": 1.0,
    "thrown-box": 0.4,
    "tumbling-top": 1.0,
    "walk": 1.0,
}
"""Where long scenarios are cut, after their first events [s]."""
SCENARIOS: dict[str, tuple[str, ...]] = {
    name: ("--end", f"{ENDS[name]}") if name in ENDS else ()
    for name in sorted(
        path.stem
        for path in Path(__file__).parents[1].glob("config/scenarios/*.yaml")
        if path.stem != "backpack"
    )
}
"""The built-in scenarios, but for the one that is refused."""
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


def difference(one: Path, other: Path, ignored: list[str]) -> str:
    """What differs between two files, the largest of it; empty where nothing does."""
    a, b = np.load(one), np.load(other)
    differences = [
        f"{name} is in one alone" for name in sorted(set(a.files) ^ set(b.files))
    ]
    for name in sorted(set(a.files) & set(b.files) - {"header", *ignored}):
        x, y = a[name], b[name]
        if x.shape != y.shape:
            return f"{name} has shape {x.shape} and {y.shape}"
        if x.tobytes() != y.tobytes():
            size = float(np.nanmax(np.abs(x - y), initial=0.0))
            row = int(np.flatnonzero((x != y).reshape(len(x), -1).any(axis=1))[0])
            differences.append(f"{name} by {size:.3g} from row {row}")
    if differences:
        return "; ".join(differences)
    events = [json.loads(str(file["header"])).get("events", []) for file in (a, b)]
    if len(events[0]) != len(events[1]):
        return f"{len(events[0])} and {len(events[1])} events"
    return next((f"{x} and {y}" for x, y in zip(*events, strict=True) if x != y), "")


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
            text = difference(one / name, other / name, ignored)
            if not text:
                print(f"{name}: equal")
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
    comparing.add_argument("--ignore", action="append", default=[], help="an array")
    options = parser.parse_args()
    if options.command == "compare":
        sys.exit(not compare(options.one, options.other, options.ignore))
    unknown = sorted(set(options.names) - set(all_names()))
    if unknown:
        parser.error(f"no such run: {', '.join(unknown)}; there are {all_names()}")
    store(options.folder, options.names or all_names())


if __name__ == "__main__":
    main()
