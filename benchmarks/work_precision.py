# SPDX-License-Identifier: Apache-2.0
"""Error against wall time: our two methods and MuJoCo on the same three scenes.

Scenes, all with plastic impacts and Coulomb friction:

* KHR-1 with locked joints falls 1 cm on flat feet: eight corners land at once.
* The same, rolled by 2 degrees about the x axis: the outer edge of one foot lands
  first, then the outer edge of the other, and the robot rocks. The run ends before the
  third impact.
* A block, tilted by 60 degrees about a lower corner, falls, slides, lands, stops.

They are well conditioned, so that errors are those of the methods: rolled about one
axis only, both corners of an edge land together with the centre of mass between them,
and no close call decides which corner is next. The growth of a small change of the
start is measured and printed.

The error is the largest distance of a contact point to where a tight event-driven run
has it, over all samples (the default period of a run). That reference is compared with
one of a tenth of its tolerance. MuJoCo is also compared with its own finest time step:
so its error as a method is seen apart from the difference of the models of contact.
Its contacts are as hard as it lets them be (see ``peers/mujoco_scenes.py``), with the
damping ratio of 1, 1.5, 2, 3, 5, 10 and 30 that brought it nearest to the goal on each
scene with each integrator.

Wall time is the best of several runs, of stepping only: models are built and code is
compiled before. MuJoCo steps in C from sample to sample; our methods start with their
search for contacts at the first state, which is timed too.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
from precision.costs import GOAL, OURS, PEER, Row, answers, compare
from precision.output import plot, table
from precision.scenes import NUDGE, PERIOD, Scene, scenes
from rich.console import Console

from humans_sim.core.errors import HumansError
from humans_sim.dynamics.simulation import Simulation

try:
    from peers import mujoco_scenes as peer
except ImportError:
    peer = None  # type: ignore[assignment]

REFERENCE, CHECK = 1e-12, 1e-13
TOLERANCES = [10.0**-k for k in range(3, 12)]
TIME_STEPS = [1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4]
PEER_STEPS = [*TIME_STEPS, 5e-5, 2e-5, 1e-5, 5e-6]
REPEATS, BUDGET = 15, 2.0
"""Runs of one setting: as many as fit into this time [s], two at least."""


def samples(simulation: Simulation, start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Configurations at the sampling times (n, nq), as in a run."""
    stepper = simulation.start(start)
    configurations = []
    for moment in times:
        stepper.advance(moment, times[-1])
        if stepper.t != moment:
            raise RuntimeError(f"{stepper.t} s was reached in place of {moment} s")
        configurations.append(stepper.q)
    return np.array(configurations)


def best_time(
    call: Callable[[], np.ndarray], prepare: Callable[[], None] = lambda: None
) -> tuple[float, np.ndarray]:
    """Shortest wall time of several calls [s], and the answer."""
    best, spent, result = math.inf, 0.0, np.zeros(0)
    for k in range(REPEATS):
        prepare()
        begun = time.perf_counter()
        result = call()
        took = time.perf_counter() - begun
        best, spent = min(best, took), spent + took
        if k and spent + took > BUDGET:
            break
    return best, result


def distance(points: np.ndarray, others: np.ndarray) -> float:
    """Largest distance between the same points of two runs [m]."""
    return float(np.linalg.norm(points - others, axis=-1).max())


def _event_driven(scene: Scene, rtol: float) -> Simulation:
    return scene.simulate(rtol=rtol, atol=1e-3 * rtol)


def our_rows(scene: Scene, reference: np.ndarray, most: int | None) -> list[Row]:
    """Both of our methods at several settings."""
    rows = []
    settings = [
        (OURS, f"rtol {rtol:.0e}", _event_driven(scene, rtol))
        for rtol in TOLERANCES[:most]
    ]
    settings += [
        (
            "time stepping",
            f"step {step:.0e} s",
            scene.simulate(method="time_stepping", time_step=step),
        )
        for step in TIME_STEPS[:most]
    ]
    for method, setting, simulation in settings:
        row = Row(scene.name, method, setting)
        rows.append(row)
        call = partial(samples, simulation, scene.start, scene.times)
        try:
            row.wall, configurations = best_time(call)
        except HumansError as error:
            row.note = str(error)
            continue
        row.error = distance(scene.points(configurations), reference)
    return rows


def peer_rows(scene: Scene, reference: np.ndarray, most: int | None) -> list[Row]:
    """MuJoCo with each integrator at several time steps."""
    rows = []
    for integrator in peer.INTEGRATORS:
        finest = scene.finest[integrator]
        pairs = []
        steps = [step for step in PEER_STEPS[:most] if step > 1.5 * finest]
        # The finest one shows what its own limit is; it takes by far the longest.
        for step in [*steps, *([finest] if most is None else [])]:
            model = peer.rigid_body(
                **{**scene.body, "joints": getattr(peer, scene.body["joints"])},
                damping=scene.damping[integrator],
                step=step,
                integrator=integrator,
            )
            runner = peer.Runner(model, scene.to_peer(scene.start), PERIOD)
            call = partial(runner.run, len(scene.times))
            wall, qs = best_time(call, runner.reset)
            placed = scene.points(scene.from_peer(qs))
            row = Row(scene.name, f"{PEER} {integrator}", f"step {step:.0e} s", wall)
            row.error = distance(placed, reference)
            pairs.append((row, placed))
        limit = pairs[-1][1]
        for row, placed in pairs[:-1]:
            row.own = distance(placed, limit)
        rows += [row for row, _ in pairs]
    return rows


def main() -> None:
    """Measure, print, plot."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plot", type=Path, help="picture to write")
    parser.add_argument("--json", type=Path, help="numbers to write")
    parser.add_argument("--scenes", type=int, help="only so many, the first ones")
    parser.add_argument("--settings", type=int, help="only so many of each method")
    arguments = parser.parse_args()
    console = Console()
    if peer is None:
        console.print(
            "MuJoCo cannot be imported: continuing without it (make bench)",
            soft_wrap=True,
        )
    rows: list[Row] = []
    remarks, lines, costs = [], [], {}
    for scene in scenes()[: arguments.scenes]:
        reference, check, *nudged = (
            scene.points(samples(_event_driven(scene, rtol), start, scene.times))
            for rtol, start in [
                (REFERENCE, scene.start),
                (CHECK, scene.start),
                *((REFERENCE, nudge) for nudge in scene.nudges),
            ]
        )
        growth = max(distance(moved, reference) for moved in nudged) / NUDGE
        remarks.append(
            f"{scene.name}: reference rtol {REFERENCE:.0e}, "
            f"{distance(reference, check):.1e} m from rtol {CHECK:.0e}; a small change "
            f"of the start grows {growth:.2g} times"
        )
        own = our_rows(scene, reference, arguments.settings)
        if peer is not None:
            own += peer_rows(scene, reference, arguments.settings)
        costs[scene.name] = answers(own)
        lines.append(compare(scene.name, own, costs[scene.name]))
        rows += own
    for name in costs:
        console.print(table(name, [row for row in rows if row.scene == name]))
    for row in rows:
        if row.note:
            console.print(f"{row.scene}, {row.method}, {row.setting}: {row.note}")
    for text in [*remarks, *lines]:
        console.print(text, soft_wrap=True, highlight=False)
    if arguments.plot:
        plot(rows, arguments.plot)
    if arguments.json:
        stored = {
            "machine": platform.machine(),
            "python": platform.python_version(),
            "mujoco": None if peer is None else peer.VERSION,
            "goal [m]": GOAL,
            "remarks": remarks,
            "rows": [asdict(row) for row in rows],
            "costs": {
                name: {method: asdict(c) for method, c in each.items()}
                for name, each in costs.items()
            },
            "answers": lines,
        }
        arguments.json.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
