# SPDX-License-Identifier: Apache-2.0
"""What the KHR-1 stands and how it follows: pushes on a grid, commands of ten seconds.

Pushes are impacts on the trunk, 40 mm above the origin of its frame, in eight
directions and three phases of a stride at 0.06 m/s, with and without feedback; whether
feedback helps is McNemar's exact test on the pairs. With ``--rising`` those that fall
with feedback are pushed again, to see whether they get up and walk on. Commands are
held for ten seconds; achieved over followed is along the body, the start from rest
included.
Run: python benchmarks/push_trials.py pushes|commands|random [--impulse 0.5] [--rising]
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import NamedTuple

import numpy as np
from get_up_trials import Shove
from get_up_trials import trial as get_up
from rich.console import Console
from rich.table import Table
from scipy.stats import binomtest

import humans_sim as hs
from humans_sim.actuation.robots import RobotSetup
from humans_sim.analysis.gait import WalkSummary
from humans_sim.applications.walk_control import walking_robot
from humans_sim.control.walking import Velocity, Walker
from humans_sim.control.walking.walk import ScheduledCommand, ServoWalk
from humans_sim.results.records import Sample

ROBOT = "khr1"
PERIOD = RobotSetup.from_file(ROBOT).sampling_period
START, SECONDS = 0.5, 10.0
DIRECTIONS, PHASES, STRIDE = 8, 3, 0.96
HEIGHT = 0.04
"""Of a push above the origin of the trunk [m]."""
COMMANDS = (
    (0.03, 0.0, 0.0),
    (0.06, 0.0, 0.0),
    (0.09, 0.0, 0.0),
    (-0.05, 0.0, 0.0),
    (0.0, 0.03, 0.0),
    (0.0, -0.03, 0.0),
    (0.0, 0.0, 0.3),
    (0.0, 0.0, -0.3),
    (0.0, 0.0, 0.1),
    (0.03, 0.0, 0.15),
    (0.03, 0.0, -0.15),
    (0.06, 0.0, 1e-6),
)


class Walked(NamedTuple):
    """A walk that was simulated."""

    run: hs.Run
    up: bool
    followed: Velocity


class Outcome(NamedTuple):
    """How a command was followed: achieved over followed, and heading [degrees]."""

    ratios: tuple[float, ...]
    heading: float
    up: bool


def walked(
    command: tuple[float, ...], end: float, pushes: list[hs.Push], feedback: bool = True
) -> Walked:
    """Simulate a walk of the robot on its floor."""
    walker = Walker(hs.load_model(ROBOT), period=PERIOD)
    schedule = [ScheduledCommand(START, Velocity(*command))]
    robot = walking_robot(walker, schedule, pushes=pushes)
    if not feedback:
        _blind(robot.walk)
    try:
        run, failed = robot.simulation.run(t_end=end, progress=False), False
    except hs.errors.SimulationError as error:
        run, failed = error.run, True
    summary = WalkSummary.of_run(run)
    followed = robot.walk.commands[-1].plan.velocity
    return Walked(run, not (summary.fallen or failed), followed)


def _blind(walk: ServoWalk) -> None:
    """Let a walk follow its pattern without any measurement."""

    def tick(t: float, _: Sample) -> np.ndarray:
        walk.commands.append(walk.walker.tick(t))
        return walk.commands[-1].joints

    walk._tick = tick  # type: ignore[method-assign, assignment]


def cell_of(direction: int, phase: int) -> tuple[float, float]:
    """Direction [rad] and time [s] of a push of the grid."""
    return (
        2.0 * math.pi * direction / DIRECTIONS,
        START + 2.32 + phase * STRIDE / PHASES,
    )


def risen(trial: tuple[float, int, int]) -> bool:
    """Whether it gets up after a push that fells it, and walks on."""
    impulse, direction, phase = trial
    shove = Shove(impulse, 0.0, HEIGHT, START)
    return get_up(hs.load_model(ROBOT), *cell_of(direction, phase), shove=shove).passed


def pushed(trial: tuple[float, int, int, bool]) -> bool:
    """Whether it stays up for two seconds after a push."""
    impulse, direction, phase, feedback = trial
    angle, when = cell_of(direction, phase)
    size = (impulse * math.cos(angle), impulse * math.sin(angle), 0.0)
    push = hs.Push(when, size, point=(0.0, 0.0, HEIGHT))
    return walked((0.06, 0.0, 0.0), when + 2.0, [push], feedback).up


def followed(command: tuple[float, ...]) -> Outcome:
    """How a command is followed for ten seconds."""
    run, up, velocity = walked(command, START + SECONDS, [])
    x, y, z, w = run.q[:, 3:7].T
    heading = np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
    along = 0.5 * (heading[1:] + heading[:-1])
    dx, dy = np.diff(run.q[:, :2], axis=0).T
    ahead = float(np.sum(dx * np.cos(along) + dy * np.sin(along)))
    aside = float(np.sum(dy * np.cos(along) - dx * np.sin(along)))
    turned = float(heading[-1] - heading[0])
    ratios = tuple(
        made / (SECONDS * part) if part else math.nan
        for made, part in zip((ahead, aside, turned), velocity, strict=True)
    )
    return Outcome(ratios, math.degrees(turned - SECONDS * velocity.wz), up)


def stays_up(seed: int) -> bool:
    """Whether a random command of five seconds is walked without a fall."""
    random = np.random.default_rng(seed)
    command = tuple(random.uniform((-0.06, -0.03, -0.35), (0.09, 0.03, 0.35)))
    return walked(command, START + 5.0, []).up


def pushes(pool: ProcessPoolExecutor, impulse: float, rising: bool) -> None:
    """Print how many pushes are survived, with and without feedback."""
    grid = list(product(range(DIRECTIONS), range(PHASES)))
    up = {
        feedback: list(pool.map(pushed, [(impulse, *cell, feedback) for cell in grid]))
        for feedback in (True, False)
    }
    table = Table(title=f"Up after {impulse:g} N s, of {PHASES} phases")
    for name in ("direction", "with feedback", "without"):
        table.add_column(name)
    for direction in range(DIRECTIONS):
        cells = [k for k, cell in enumerate(grid) if cell[0] == direction]
        counts = [str(sum(up[way][k] for k in cells)) for way in (True, False)]
        table.add_row(f"{360 * direction // DIRECTIONS} deg", *counts)
    table.add_row("all", *(f"{sum(up[way])} of {len(grid)}" for way in (True, False)))
    Console().print(table)
    gained = sum(a and not b for a, b in zip(up[True], up[False], strict=True))
    lost = sum(b and not a for a, b in zip(up[True], up[False], strict=True))
    if gained + lost:
        p = binomtest(gained, gained + lost, alternative="greater").pvalue
        print(f"gained {gained}, lost {lost}: p = {p:.3f} (McNemar, one-sided)")
    if rising:
        fell = [
            (impulse, *cell)
            for cell, stood in zip(grid, up[True], strict=True)
            if not stood
        ]
        got_up = sum(pool.map(risen, fell))
        print(f"of {len(fell)} that fall with feedback {got_up} get up and walk on")


def commands(pool: ProcessPoolExecutor) -> None:
    """Print how commands are followed."""
    table = Table(title=f"Achieved over followed in {SECONDS:g} s")
    for name in ("command", "forwards", "sideways", "turn", "heading off", "up"):
        table.add_column(name)
    for command, out in zip(COMMANDS, pool.map(followed, COMMANDS), strict=True):
        parts = ["" if math.isnan(r) else f"{r:.2f}" for r in out.ratios]
        heading = f"{out.heading:+.1f} deg"
        table.add_row(str(command), *parts, heading, "yes" if out.up else "no")
    Console().print(table)


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("pushes", "commands", "random"))
    parser.add_argument("--impulse", type=float, default=0.5, help="of a push [N s]")
    parser.add_argument("--rising", action="store_true", help="try to get up, too")
    parser.add_argument("--seeds", type=int, default=100, help="random commands")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.processes) as pool:
        if given.what == "pushes":
            pushes(pool, given.impulse, given.rising)
        elif given.what == "commands":
            commands(pool)
        else:
            up = list(pool.map(stays_up, range(given.seeds)))
            print(f"{sum(up)} of {len(up)} random commands of 5 s without a fall")


if __name__ == "__main__":
    main()
