# SPDX-License-Identifier: Apache-2.0
"""What the walk of the KHR-1 stands: trials with seeds, as a table.

Each trial is simulated with some seeds. A seed changes what an experimenter cannot
hold: the joints at the start (up to half a degree each), friction (up to a tenth), when
and where a push comes, and when the robot is commanded to stop. The walk is that of
``config/walking/khr1.yaml`` through the servos of ``config/robots/khr1.yaml``, on its
floor and with its period. Run: python benchmarks/walking_trials.py [--seeds N]
[--only WORD] [--processes N]
"""

from __future__ import annotations

import argparse
import math
import time
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.actuation.robots import RobotSetup
from humans_sim.analysis.gait import WalkSummary
from humans_sim.applications.robots import walking_robot
from humans_sim.control.walking import Velocity, Walker
from humans_sim.control.walking.servo_walk import ScheduledCommand
from humans_sim.dynamics.pushes import Push
from humans_sim.dynamics.soles import standing_on_slope

ROBOT = "khr1"
SETUP = RobotSetup.from_file(ROBOT)
PERIOD = SETUP.sampling_period
START = 0.5


class Trial(NamedTuple):
    """A walk to try.

    Attributes:
        name: for the table.
        velocity: forwards, to the left [m/s], turning [rad/s].
        steps: number of them, the closing one included.
        friction: of the floor.
        slope: climbs along x [degrees].
        push: sideways impulse on the trunk, once, while walking [N s].
        stop: whether it is commanded to stop half way, instead of counting steps.
    """

    name: str
    velocity: Velocity
    steps: int
    friction: float = SETUP.friction
    slope: float = 0.0
    push: float = 0.0
    stop: bool = False


class Outcome(NamedTuple):
    """What came of a trial with one seed."""

    up: bool
    steps: int
    speed: float
    drift: float
    turn: float
    tilt: float
    slip: float
    stop: int
    clean: bool
    wall: float


TRIALS = [
    Trial("straight, 100 steps", Velocity(0.06, 0, 0), 100),
    Trial("0.02 m/s", Velocity(0.02, 0, 0), 20),
    Trial("0.04 m/s", Velocity(0.04, 0, 0), 20),
    Trial("0.08 m/s", Velocity(0.08, 0, 0), 20),
    Trial("0.09 m/s", Velocity(0.09, 0, 0), 20),
    Trial("backwards 0.05 m/s", Velocity(-0.05, 0, 0), 20),
    Trial("to the left 0.03 m/s", Velocity(0, 0.03, 0), 20),
    Trial("to the right 0.03 m/s", Velocity(0, -0.03, 0), 20),
    Trial("turning left 0.35 rad/s", Velocity(0, 0, 0.35), 14),
    Trial("turning right 0.35 rad/s", Velocity(0, 0, -0.35), 14),
    Trial("arc, 0.03 m/s and 0.15 rad/s", Velocity(0.03, 0, 0.15), 20),
    Trial("commanded to stop", Velocity(0.08, 0, 0), 20, stop=True),
    Trial("side push 0.03 N s", Velocity(0.06, 0, 0), 20, push=0.03),
    Trial("side push 0.2 N s", Velocity(0.06, 0, 0), 20, push=0.2),
    Trial("3 degrees up", Velocity(0.06, 0, 0), 20, slope=3.0),
    Trial("3 degrees down", Velocity(0.06, 0, 0), 20, slope=-3.0),
    Trial("friction 0.7", Velocity(0.08, 0, 0), 20, friction=0.7),
    Trial("friction 0.7, turning", Velocity(0, 0, 0.35), 14, friction=0.7),
]


def tried(trial: Trial, seed: int) -> Outcome:
    """Simulate a trial."""
    random = np.random.default_rng(seed)
    model = hs.load_model(ROBOT)
    walker = Walker(model, period=PERIOD)
    settings = walker.settings
    step = settings.step_duration
    if trial.velocity.wz:
        step += settings.pivot_duration
    end = START + 0.4 + trial.steps * step + 1.5
    schedule = [
        ScheduledCommand(START, trial.velocity, None if trial.stop else trial.steps)
    ]
    middle = START + 0.5 * trial.steps * step
    stop_time = middle + random.uniform(0.0, 2 * step)
    if trial.stop:
        schedule.append(ScheduledCommand(stop_time, None))
    pushes = []
    if trial.push:
        side = random.choice([-1.0, 1.0])
        when = middle + random.uniform(0.0, 2 * step)
        place = (0.0, 0.0, random.uniform(0.0, 0.08))
        pushes = [Push(when, (0.0, side * trial.push, 0.0), point=place)]
    friction = trial.friction * random.uniform(1.0, 1.1)
    slope = math.radians(trial.slope)
    simulation, walk = walking_robot(
        walker,
        schedule,
        ground=hs.Ground(friction=friction, solids=hs.Ground.slope(slope).solids),
        pushes=pushes,
    )
    half_degree = math.radians(0.5)
    legs = walker.start()[7:] + random.uniform(-half_degree, half_degree, 17)
    legs = np.clip(legs, model.lower_limits, model.upper_limits)
    q = standing_on_slope(model, legs, slope, 1e-4)
    begun = time.perf_counter()
    failed = ""
    try:
        run = simulation.run(q, t_end=end, sampling_period=PERIOD, progress=False)
    except hs.SimulationError as error:
        run, failed = error.run, f"{trial.name}, seed {seed}: {error}"
        print(failed, flush=True)
    wall = time.perf_counter() - begun
    summary = WalkSummary.of_run(run)
    plans = [command.plan for command in walk.commands]
    before = next(plan for plan in plans if plan.time > stop_time + PERIOD)
    walked = trial.steps * step
    return Outcome(
        up=not summary.fallen and not failed,
        steps=plans[-1].steps,
        speed=summary.speed,
        drift=summary.sideways / abs(summary.forward) if trial.velocity.vx else np.nan,
        turn=summary.heading_change / walked,
        tilt=math.degrees(summary.largest_tilt),
        slip=1e3 * summary.largest_slip,
        stop=plans[-1].steps - before.steps if trial.stop else 0,
        clean=bool(run.check()),
        wall=(run.t[-1] - run.t[0]) / wall,
    )


def row(trial: Trial, outcomes: list[Outcome]) -> list[str]:
    """A line of the table: means, and the worst of what should be small."""

    def mean(name: str) -> float:
        return float(np.mean([getattr(o, name) for o in outcomes]))

    def worst(name: str) -> float:
        return float(np.max(np.abs([getattr(o, name) for o in outcomes])))

    up = sum(o.up for o in outcomes)
    turning = bool(trial.velocity.wz)
    return [
        trial.name,
        f"{up} of {len(outcomes)}",
        f"{min(o.steps for o in outcomes)}",
        f"{mean('speed'):.3f}",
        f"{1e2 * worst('drift'):.1f}" if trial.velocity.vx and not turning else "",
        f"{mean('turn'):+.3f}" if turning else "",
        f"{worst('tilt'):.1f}",
        f"{worst('slip'):.1f}",
        f"{worst('stop'):.0f}" if trial.stop else "",
        "clean" if all(o.clean for o in outcomes) else "NOT CLEAN",
        f"{mean('wall'):.1f}",
    ]


def main() -> None:
    """Run the trials, on two processes unless given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="trials with this word in the name")
    parser.add_argument("--processes", type=int, default=2)
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
        "steps to stop",
        "check",
        "x real time",
    ):
        table.add_column(name)
    chosen = [trial for trial in TRIALS if given.only in trial.name]
    with ProcessPoolExecutor(given.processes) as pool:
        jobs = [
            [pool.submit(tried, trial, seed) for seed in range(given.seeds)]
            for trial in chosen
        ]
        for trial, waiting in zip(chosen, jobs, strict=True):
            table.add_row(*row(trial, [job.result() for job in waiting]))
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
