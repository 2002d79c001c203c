# SPDX-License-Identifier: Apache-2.0
"""The walking KHR-1 from event to event, beside time steps: agreement and cost.

Both walk the twenty steps of the scenario ``khr1-walk``. Beside the processor's time
stand what the check says, the events, the time that was handed over to time steps, and
how far the difference of the base from that of time steps changes from one step of the
walk to the next.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import Any

import numpy as np

import humans_sim as hs
from humans_sim.control.walking import WalkSettings

SPEED, BEGIN, END = 0.06, 0.5, 9.9
"""Of the walk [m/s, s, s]."""
FIRST = BEGIN + 0.32
"""From when on steps are compared [s]."""


def walk(model: hs.Model, end: float, **options: Any) -> tuple[hs.Run, float]:
    """A run, and the processor's time that it took [s]."""
    controller = hs.Walk(forward=SPEED, begin=BEGIN, end=END)
    sim = hs.Simulation(model, hs.Servo(model), controller, **options)
    begin = time.process_time()
    run = sim.run(t_end=end, sampling_period=0.02)
    return run, time.process_time() - begin


def yaw(q: np.ndarray) -> np.ndarray:
    """Heading of the base [deg]."""
    return np.degrees(2 * np.arctan2(q[:, 5], q[:, 6]))


def changes(run: hs.Run, other: hs.Run, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Change of the difference over each step of the walk [mm], [deg]."""
    times = np.arange(FIRST, min(run.t[-1], END), step)
    rows = [int(np.argmin(np.abs(run.t - t))) for t in times]
    place = 1e3 * (run.q - other.q)[rows, :2]
    heading = (yaw(run.q) - yaw(other.q))[rows]
    apart = np.linalg.norm(np.diff(place, axis=0), axis=1)
    return apart, np.abs(np.diff(heading))


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--end", type=float, default=12.0, help="of the runs [s]")
    parser.add_argument("--time-steps", type=float, nargs="+", default=[1e-3, 2e-4])
    parser.add_argument("--creep-speeds", type=float, nargs="+", default=[3e-5])
    given = parser.parse_args()
    model = hs.load_model("khr1")
    step = WalkSettings.of_model(model).step_duration
    if given.end < FIRST + step:
        parser.error(f"--end must be {FIRST + step:g} or more: a step is compared")
    for method in ("event_driven", "time_stepping"):
        walk(model, 0.7, method=method)  # kernels are compiled
    reference: hs.Run | None = None
    for size in given.time_steps:
        reference, spent = walk(model, given.end, time_step=size)
        check = "clean" if reference.check() else "not clean"
        speed = given.end / spent
        print(f"time steps of {size:g} s: {speed:.2f} times real time, {check}")
    assert reference is not None
    for creep in given.creep_speeds:
        run, spent = walk(
            model,
            given.end,
            method="event_driven",
            creep_speed=creep,
            atol=0.1 * creep,
        )
        kinds = Counter(event.kind for event in run.events)
        handed = sum(
            float(event.detail["duration [s]"])
            for event in run.events
            if event.kind == "hand_over"
        )
        check = "clean" if run.check() else "not clean"
        speed = given.end / spent
        print(
            f"events, creep speed {creep:g} m/s: {speed:.2f} times real time, {check}"
        )
        print(f"  {handed:.3f} s handed over; {dict(kinds)}")
        apart, turned = changes(run, reference, step)
        print(
            f"  a step, against the last time steps: {apart.mean():.2f} mm, at most "
            f"{apart.max():.2f}; {turned.mean():.3f} deg, at most {turned.max():.3f}"
        )


if __name__ == "__main__":
    main()
