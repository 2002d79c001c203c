# SPDX-License-Identifier: Apache-2.0
"""What self-collision costs, and that walks do not touch themselves.

Run: python benchmarks/self_collision.py [seconds of each walk]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario
from humans_sim.core.resources import named_file
from humans_sim.results.records import LINK

WALKS = ("khr1-walk", "human-walk", "bip-walk")
STEPS = 1000


def time_of_steps(model: hs.Model, touch: bool) -> float:
    """CPU time of a step of a robot that stands on its servos [s]."""
    sim = hs.Simulation(
        model,
        hs.Servo(model),
        method="time_stepping",
        contacts=hs.Contacts(self_collision=touch),
    )
    stepper = sim.start(model.standing(np.zeros(len(model.joint_names))))
    stepper.advance(0.05)
    start = time.process_time()
    stepper.advance(0.05 + STEPS * sim.options.time_step)
    return (time.process_time() - start) / STEPS


def walk(name: str, touch: bool, seconds: float) -> hs.Run:
    """The first seconds of a walk by time stepping."""
    text = named_file("scenarios", name, "scenario").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.yaml"
        path.write_text(f"{text}\nself_collision: {str(touch).lower()}\n")
        scenario = read_scenario(str(path))
        return scenario.with_changes(end=seconds, method="time_stepping").run()


def main() -> None:
    """Print both."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    khr1 = hs.load_model("khr1")
    times: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(3):
        for touch in times:
            times[touch].append(time_of_steps(khr1, touch))
    without, with_links = min(times[False]), min(times[True])
    print(
        f"step of a standing KHR-1: {1e6 * without:.0f} us without, "
        f"{1e6 * with_links:.0f} us with self-collision "
        f"({100 * (with_links / without - 1):+.0f} %)"
    )
    for name in WALKS:
        runs = [walk(name, touch, seconds) for touch in (True, False)]
        links = [k for k, kind in enumerate(runs[0].table.kinds) if kind == LINK]
        touched = (runs[0].forces[:, links, 0] > 0).any(axis=0).sum()
        apart = np.abs(runs[0].q - runs[1].q).max()
        print(
            f"{name}, {seconds:g} s: {len(links) // 4} pairs, {touched} touch, "
            f"largest difference of q {apart:g}"
        )


if __name__ == "__main__":
    main()
