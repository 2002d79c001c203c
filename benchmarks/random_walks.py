# SPDX-License-Identifier: Apache-2.0
"""Random commands to a walking robot: how many make it fall, how many are followed.

Each walk lasts some seconds: one command from the beginning, another one half way, both
drawn evenly from all that the legs can follow. A walk has fallen where the base tilts
beyond the robot's limit. What it goes is compared with what the plan goes. Run: python
benchmarks/random_walks.py [MODEL] [--count N] [--seconds S] [--actuation servo|torque]
[--first N]. Exits with 1 if 2 % or more fall.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.actuation import IdealTorque
from humans_sim.actuation.robots import RobotSetup
from humans_sim.applications.walk_control import walk_servos
from humans_sim.control.task.whole_body import JointLimits, WholeBody
from humans_sim.control.walking import Velocity, Walker, WalkPattern, WalkSettings
from humans_sim.control.walking.footsteps import FootstepPlanner
from humans_sim.control.walking.walk import ScheduledCommand, ServoWalk
from humans_sim.control.walking.whole_body_walk import WholeBodyWalk
from humans_sim.dynamics.model_system import ModelSystem

START, LIMIT = 0.3, 0.02


class Outcome(NamedTuple):
    """What became of a walk.

    Attributes:
        tilt: largest, of the base [degrees].
        fallen: whether it was too much.
        share: way over the plan's, where that goes 0.1 m at least; else NaN.
        failures: calls of whole-body control without an answer.
    """

    tilt: float
    fallen: bool
    share: float
    failures: int


def commands(settings: WalkSettings, rng: np.random.Generator) -> list[Velocity]:
    """Two velocities within the reach of the legs."""
    planner, chosen = FootstepPlanner(settings), []
    for _ in range(2):
        way = Velocity(*(1e3 * rng.uniform(-1.0, 1.0, 3)))
        scale = rng.uniform(0.2, 1.0)
        chosen.append(Velocity(*(scale * v for v in planner.limited(way))))
    return chosen


def walk(
    model: hs.Model, seed: int, seconds: float, actuation: str
) -> tuple[list[Velocity], Outcome]:
    """One walk by a seed."""
    setup, rng = RobotSetup.of_model(model), np.random.default_rng(seed)
    settings = WalkSettings.of_model(model)
    chosen, ground = commands(settings, rng), hs.Ground(friction=0.7)
    options = {
        "ground": ground,
        "method": "time_stepping",
        "contacts": hs.Contacts(whole_body=False),
    }
    plans: list[np.ndarray] = []
    failures = 0
    if actuation == "servo":
        walker = Walker(model, settings, period=setup.sampling_period)
        schedule = [
            ScheduledCommand(START, chosen[0]),
            ScheduledCommand(START + 0.5 * seconds, chosen[1]),
        ]
        led = ServoWalk(walker, schedule, setup.lag)
        servos = walk_servos(setup, walker, {})
        simulation = setup.simulation(model, servos, led, **options)
        run = simulation.run(walker.start(), t_end=seconds, sampling_period=0.02)
        plans = [command.plan.q for command in led.commands]
    else:
        pattern = WalkPattern(model, settings)
        limits = JointLimits.of_model(model)
        body = WholeBody(ModelSystem(model, ground), 0.5, limits)
        driven = WholeBodyWalk(body, pattern, chosen[0], START, period=0.01)
        plans.append(pattern.standing())
        simulation = setup.simulation(model, IdealTorque(model), driven, **options)
        run = simulation.run(plans[0], t_end=seconds, sampling_period=0.02)
        plans.append(driven.point.q)
        failures = driven.guarded.failures
    up = 1.0 - 2.0 * (run.q[:, 3] ** 2 + run.q[:, 4] ** 2)
    tilt = math.degrees(math.acos(float(np.clip(up.min(), -1.0, 1.0))))
    planned = float(np.linalg.norm((plans[-1] - plans[0])[:2]))
    gone = float(np.linalg.norm((run.q[-1] - run.q[0])[:2]))
    share = gone / planned if planned > 0.1 else math.nan
    fallen = tilt > math.degrees(setup.fall_tilt)
    return chosen, Outcome(tilt, fallen, share, failures)


def main() -> int:
    """Print a table; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="khr1")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--actuation", choices=("servo", "torque"), default="servo")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    given = parser.parse_args()
    model = hs.load_model(given.model)
    outcomes = []
    for seed in range(given.first, given.first + given.count):
        chosen, outcome = walk(model, seed, given.seconds, given.actuation)
        outcomes.append(outcome)
        if outcome.fallen or outcome.failures:
            said = [f"({v.vx:.3f}, {v.vy:.3f}, {v.wz:.3f})" for v in chosen]
            print(f"seed {seed}: {outcome}, {' then '.join(said)}", flush=True)
    falls = sum(outcome.fallen for outcome in outcomes)
    shares = np.array([o.share for o in outcomes if math.isfinite(o.share)])
    table = Table(title=f"{model.name}, {given.actuation}", title_justify="left")
    for column in (
        "walks",
        "falls",
        "largest tilt",
        "way over plan: least, median, most",
    ):
        table.add_column(column, justify="right")
    ways = "-"
    if shares.size:
        ways = f"{shares.min():.2f}, {np.median(shares):.2f}, {shares.max():.2f}"
    worst = max(outcome.tilt for outcome in outcomes)
    table.add_row(str(len(outcomes)), str(falls), f"{worst:.1f} degrees", ways)
    Console().print(table)
    return int(falls >= LIMIT * len(outcomes))


if __name__ == "__main__":
    sys.exit(main())
