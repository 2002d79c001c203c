# SPDX-License-Identifier: Apache-2.0
"""Energy and error of time steps that get shorter: passive falls of the models.

Each model starts from random postures and velocities, limp (all joints free, with their
limits) or rigid (all joints locked), and falls on its feet. For each step length:

* growth: the largest growth of energy in any run, relative, as ``run.check()`` judges;
* before: the largest error of one step's energy before it was put right, relative;
* taken: energy taken out of the velocities over a run, relative, the mean of the runs;
* halved: share of the steps that were made in parts;
* error: distance of the joints' frames from the run with the shortest step, before the
  first impact (smooth) and at the end of the run (the median of the runs) [m].
"""

from __future__ import annotations

import argparse

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.dynamics.time_stepping.time_stepper import TimeStepper
from humans_sim.results.run import Run

STEPS = (2e-3, 1e-3, 5e-4, 2.5e-4)
REFERENCE = 3.125e-5
SECONDS, FLIGHT, PERIOD = 0.3, 0.05, 0.01


def start(model: hs.Model, seed: int, limp: bool) -> tuple[np.ndarray, np.ndarray]:
    """A random state."""
    rng = np.random.default_rng(seed)
    q, v = model.neutral(), np.zeros(model.nv)
    low, high = np.array(model.lower_limits), np.array(model.upper_limits)
    posture = np.clip(rng.uniform(low, high), -2.5, 2.5)
    q[7:] += rng.uniform(0.1, 0.8) * (posture - q[7:])
    tilt = rng.normal(size=3)
    q[3:7] = pin.Quaternion(pin.exp3(0.5 * tilt / np.linalg.norm(tilt))).coeffs()
    v[:6] = 0.5 * rng.normal(size=6)
    if limp:
        v[6:] = rng.normal(size=model.nv - 6)
    return q, v


def fall(
    model: hs.Model, seed: int, limp: bool, step: float
) -> tuple[Run, TimeStepper]:
    """A run, and the stepper that made it."""
    q, v = start(model, seed, limp)
    sim = hs.Simulation(
        model, locked=() if limp else ["*"], method="time_stepping", time_step=step
    )
    points = sim.system.gaps(q)[: len(model.contact_names)]
    # High enough to fly freely for a while.
    q[2] += 0.5 * 9.81 * FLIGHT**2 + 0.5 * FLIGHT + 0.05 - points.min()
    stepper, samples = sim.start(q, v), []
    assert isinstance(stepper, TimeStepper)
    for k in range(round(SECONDS / PERIOD) + 1):
        stepper.advance(k * PERIOD)
        samples.append(stepper.sample())
    return sim.result(samples, stepper.events), stepper


def frames(model: hs.Model, q: np.ndarray) -> np.ndarray:
    """Places of the joints [m]."""
    data = model.pin.createData()
    pin.forwardKinematics(model.pin, data, q)
    return np.array([pose.translation for pose in data.oMi[1:]])


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=["khr1", "human36"])
    parser.add_argument("--seeds", type=int, default=6)
    options = parser.parse_args()
    table = Table("model", "joints", title="Falls by time stepping")
    for title in ("step", "growth", "before", "taken", "halved", "smooth", "end"):
        table.add_column(title, justify="right")
    for name in options.models:
        model = hs.load_model(name)
        for limp in (False, True):
            best = [
                fall(model, seed, limp, REFERENCE)[0] for seed in range(options.seeds)
            ]
            for step in STEPS:
                rows = []
                for seed, exact in enumerate(best):
                    run, stepper = fall(model, seed, limp, step)
                    steps, scale = stepper.steps, float(run.energy[:, 0].max())
                    away = [
                        np.abs(frames(model, run.q[k]) - frames(model, exact.q[k]))
                        for k in (round(FLIGHT / PERIOD), -1)
                    ]
                    rows.append(
                        (
                            run.check()["largest growth of energy"].value,
                            steps.worst_energy_error,
                            abs(steps.energy_taken) / scale,
                            steps.halved_steps / steps.count,
                            away[0].max(),
                            away[1].max(),
                        )
                    )
                values = np.array(rows)
                table.add_row(
                    name,
                    "limp" if limp else "rigid",
                    f"{1e3 * step:g} ms",
                    f"{values[:, 0].max():.0e}",
                    f"{values[:, 1].max():.0e}",
                    f"{values[:, 2].mean():.0e}",
                    f"{100 * values[:, 3].mean():.1f} %",
                    f"{np.median(values[:, 4]):.1e}",
                    f"{np.median(values[:, 5]):.1e}",
                )
            table.add_section()
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
