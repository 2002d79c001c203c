# SPDX-License-Identifier: Apache-2.0
"""What the walk of the KHR-1 stands: trials with seeds, as a table.

Each trial is a sweep of the scenario khr1-walk: other values, and some seeds, which
change what an experimenter cannot hold (the joints at the start, friction unless it is
given, when and from where a push comes). What is done is kept in ``--folder``: the same
command resumes. Run: python benchmarks/walking_trials.py [--seeds N] [--only WORD]
[--workers N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import math
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.control.walking import Velocity, WalkSettings

SCENARIO, START, STANDS = "khr1-walk", 0.5, 1.9
"""When the scenario's walk starts, and how long it stands after its last step [s]."""
SETTINGS = WalkSettings.of_model(hs.load_model("khr1"))


class Trial(NamedTuple):
    """A walk to try.

    Attributes:
        name: for the table.
        velocity: forwards, to the left [m/s], turning [rad/s].
        steps: number of them, the closing one included.
        values: further ones of the scenario.
    """

    name: str
    velocity: Velocity
    steps: int = 20
    values: tuple[tuple[str, float], ...] = ()

    @property
    def walked(self) -> float:
        """How long it walks [s]."""
        pivots = SETTINGS.pivot_duration if self.velocity.wz else 0.0
        return self.steps * (SETTINGS.step_duration + pivots)

    def varied(self) -> dict[str, list[Any]]:
        """What is changed in the scenario."""
        step = self.walked / self.steps
        stop = START + SETTINGS.shift_duration + (self.steps - 1.5) * step
        keys = dict(self.values)
        keys |= {
            f"controller.walk.velocity.{k}": v for k, v in enumerate(self.velocity)
        }
        keys |= {"controller.walk.stop": stop, "end": START + self.walked + STANDS}
        return {key: [float(value)] for key, value in keys.items()}


TRIALS = [
    Trial("straight, 100 steps", Velocity(0.06, 0, 0), 100),
    Trial("0.02 m/s", Velocity(0.02, 0, 0)),
    Trial("0.04 m/s", Velocity(0.04, 0, 0)),
    Trial("0.08 m/s", Velocity(0.08, 0, 0)),
    Trial("0.09 m/s", Velocity(0.09, 0, 0)),
    Trial("backwards 0.05 m/s", Velocity(-0.05, 0, 0)),
    Trial("to the left 0.03 m/s", Velocity(0, 0.03, 0)),
    Trial("to the right 0.03 m/s", Velocity(0, -0.03, 0)),
    Trial("turning left 0.35 rad/s", Velocity(0, 0, 0.35), 14),
    Trial("turning right 0.35 rad/s", Velocity(0, 0, -0.35), 14),
    Trial("arc, 0.03 m/s and 0.15 rad/s", Velocity(0.03, 0, 0.15)),
    Trial("push of 0.03 N s", Velocity(0.06, 0, 0), values=(("push", 0.03),)),
    Trial("push of 0.2 N s", Velocity(0.06, 0, 0), values=(("push", 0.2),)),
    Trial("3 degrees up", Velocity(0.06, 0, 0), values=(("ground.slope", 3),)),
    Trial("3 degrees down", Velocity(0.06, 0, 0), values=(("ground.slope", -3),)),
    Trial("friction 0.7", Velocity(0.08, 0, 0), values=(("friction", 0.7),)),
    Trial("friction 0.7, turning", Velocity(0, 0, 0.35), 14, (("friction", 0.7),)),
]


def line(trial: Trial, rows: list[dict[str, Any]]) -> list[str]:
    """A line of the table: means, and the worst of what should be small."""

    def values(name: str) -> np.ndarray:
        return np.array([math.nan if r[name] is None else r[name] for r in rows])

    def worst(name: str) -> float:
        return float(np.abs(values(name)).max())

    up = sum(row["outcome"] == "finished" for row in rows)
    turning = bool(trial.velocity.wz)
    turn = np.radians(values("heading_deg")).mean() / trial.walked
    return [
        trial.name,
        f"{up} of {len(rows)}",
        f"{values('steps').min():.0f}",
        f"{values('speed').mean():.3f}",
        f"{1e2 * worst('drift'):.1f}" if trial.velocity.vx and not turning else "",
        f"{turn:+.3f}" if turning else "",
        f"{worst('largest_tilt_deg'):.1f}",
        f"{worst('slip_mm'):.1f}",
        "clean" if all(row["check"] == "clean" for row in rows) else "NOT CLEAN",
    ]


def main() -> None:
    """Run the trials, on two workers unless given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="trials with this word in the name")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="keeps what is done")
    given = parser.parse_args()
    table = Table(title=f"Walks of the KHR-1, seeds 0 to {given.seeds - 1}")
    for name in (
        "trial",
        "stayed up",
        "steps",
        "speed [m/s]",
        "drift [cm/m]",
        "turn [rad/s]",
        "tilt [deg]",
        "slip [mm]",
        "check",
    ):
        table.add_column(name)
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        for trial in TRIALS:
            if given.only not in trial.name:
                continue
            rows = hs.sweep(
                SCENARIO,
                trial.varied(),
                seeds=given.seeds,
                workers=given.workers,
                output=folder / f"{re.sub(r'[^a-z0-9]+', '-', trial.name)}.runs",
            )
            table.add_row(*line(trial, rows))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
