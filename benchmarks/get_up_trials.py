# SPDX-License-Identifier: Apache-2.0
"""The KHR-1 is pushed over while it walks, from all sides: does it walk on?

``--directions 8`` pushes at times that a seed chooses, over the frictions that are
given. A trial is passed where the robot fell, got up by itself, walked on for a second
and stands at the end, and no shape of it went through the floor.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.actuation.robots import RobotSetup
from humans_sim.applications.walk_control import rising_walker, walking_robot
from humans_sim.control.falls.fall_detector import tilt_of
from humans_sim.control.falls.rising_walker import RiseState, RisingWalk
from humans_sim.control.walking import Velocity, Walker
from humans_sim.control.walking.walk import ScheduledCommand
from humans_sim.results.overlaps import deepest_overlap

PERIOD, SPEED = 0.02, 0.06
SAMPLING, LONGEST, WALKS_ON = 0.05, 90.0, 2.0
"""Time between two samples, after which a trial is over, and to walk on [s]."""
DEEPEST = -1e-3
"""Lowest place of a shape that passes [m]."""


class Shove(NamedTuple):
    """A push of a walk.

    Attributes:
        impulse: [N s].
        duration: [s].
        height: above the hips [m].
        begin: of the walk [s].
    """

    impulse: float = 1.2
    duration: float = 0.1
    height: float = 0.06
    begin: float = 0.3


class Trial(NamedTuple):
    """What came of a push."""

    way: str
    seconds: float
    steps: int
    lowest: float
    passed: bool


USUAL = Shove()


def trial(
    model: hs.Model,
    angle: float,
    when: float,
    friction: float | None = None,
    shove: Shove = USUAL,
) -> Trial:
    """Push once, and see; on the robot's usual floor unless its friction is given."""
    walker = Walker(model, period=PERIOD)
    simulation, walk = walking_robot(
        walker,
        [ScheduledCommand(shove.begin, Velocity(SPEED, 0.0, 0.0))],
        rising=rising_walker(walker),
        ground=RobotSetup.of_model(model).ground(friction),
    )
    assert isinstance(walk, RisingWalk)
    stepper = simulation.start(walker.start())
    stepper.advance(when)
    impulse = shove.impulse * np.array([math.cos(angle), math.sin(angle), 0.0])
    turn = pin.Quaternion(stepper.q[3:7]).matrix()
    place = np.array([0.0, 0.0, shove.height])
    stepper.push("", place, turn @ impulse, shove.duration)
    samples, end, k = [stepper.sample()], LONGEST, round(when / SAMPLING)
    while stepper.t < end:
        k += 1
        stepper.advance(k * SAMPLING)
        samples.append(stepper.sample())
        if walk.events and walk.events[-1].state is RiseState.WALKING:
            end = min(end, walk.events[-1].time + WALKS_ON)
    deepest = deepest_overlap(simulation.result(samples, stepper.events))
    lowest = math.nan if deepest is None else -deepest.depth
    motions = [e.detail for e in walk.events if e.state is RiseState.GETTING_UP]
    steps = walk.commands[-1].plan.steps
    tilt = tilt_of(np.asarray(pin.Quaternion(stepper.q[3:7]).matrix()))
    up = walk.rising.state is RiseState.WALKING and tilt < math.radians(10.0)
    return Trial(
        ", ".join(detail.removeprefix("from its ") for detail in motions),
        walk.events[-1].time - when if walk.events else math.nan,
        steps,
        lowest,
        bool(motions) and up and steps > 1 and lowest > DEEPEST,
    )


def main() -> None:
    """Print a table; the exit code says whether all passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directions", type=int, default=8)
    parser.add_argument("--friction", type=float, nargs="*", default=[0.3])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng, model = np.random.default_rng(arguments.seed), hs.load_model("khr1")
    table = Table(title="The KHR-1, pushed over while it walks")
    for name in (
        "friction",
        "towards",
        "at [s]",
        "got up from",
        "after [s]",
        "steps then",
        "lowest shape [mm]",
        "",
    ):
        table.add_column(name, justify="right")
    console, results, begun = Console(), [], time.perf_counter()
    for friction in arguments.friction:
        for k in range(arguments.directions):
            angle = 2.0 * math.pi * k / arguments.directions
            when = 2.0 + float(rng.uniform(0.0, 0.96))
            result = trial(model, angle, when, friction)
            results.append(result.passed)
            table.add_row(
                f"{friction:g}",
                f"{math.degrees(angle):.0f} deg",
                f"{when:.2f}",
                result.way,
                f"{result.seconds:.1f}",
                f"{result.steps}",
                f"{1e3 * result.lowest:.3f}",
                "ok" if result.passed else "no",
            )
            console.print(f"{len(results)}: {result}")
    console.print(table)
    console.print(
        f"{sum(results)} of {len(results)} got up and walked on "
        f"({time.perf_counter() - begun:.0f} s)"
    )
    raise SystemExit(not all(results))


if __name__ == "__main__":
    main()
