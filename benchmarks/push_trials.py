# SPDX-License-Identifier: Apache-2.0
"""What a walking robot stands and how it follows: pushes, commands of ten seconds.

Pushes are impacts on the base, 1.3 heights of the centre of mass above the floor (40 mm
above the hips of a KHR-1), in eight directions and three phases of a stride, or with
``--seed`` in as many directions and phases by chance, with and without feedback. An
impulse is the mass times 0.35 m/s unless given. A robot stays up that is not down three
seconds later. Whether feedback helps is McNemar's exact test on
the pairs, and Fisher's on the counts. With ``--rising`` a KHR-1 that falls with
feedback is pushed again, to see whether it gets up and walks on. Commands are held by a
KHR-1 for ten seconds; achieved over followed is along the body, the start from rest
included. Run: python benchmarks/push_trials.py pushes|commands|random
[--model my.urdf] [--seed 1] [--impulse 0.5] [--rising]
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from get_up_trials import Shove
from get_up_trials import trial as get_up
from rich.console import Console
from rich.table import Table
from scipy.stats import binomtest, fisher_exact

import humans_sim as hs
from humans_sim.actuation.robots import RobotSetup
from humans_sim.actuation.servo_set import has_robot_file
from humans_sim.analysis.gait import WalkSummary
from humans_sim.applications.walk_control import walking_robot
from humans_sim.control.falls.fall_detector import tilt_of
from humans_sim.control.walking import Velocity, Walker, WalkSettings
from humans_sim.control.walking.walk import ScheduledCommand, ServoWalk
from humans_sim.results.records import Sample

ROBOT = "khr1"
PERIOD = RobotSetup.from_file(ROBOT).sampling_period
START, SECONDS = 0.5, 10.0
DIRECTIONS, PHASES = 8, 3
BEGIN, AFTER = 0.2, 3.0
"""Of a walk that is pushed, and for how long it is watched then [s]."""
PACE, HEIGHT, SPEED = 0.64, 1.3, 0.35
"""Of the fastest walk; of the centre of mass; mass times it is the push [m/s]."""
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
    """A walk that was simulated to its end, and the velocity that was followed."""

    run: hs.Run
    followed: Velocity


class FallenError(Exception):
    """A robot fell: the rest of its walk is not simulated."""


class Outcome(NamedTuple):
    """How a command was followed: achieved over followed, and heading [degrees]."""

    ratios: tuple[float, ...]
    heading: float
    up: bool


class Pushed(NamedTuple):
    """A push of a walk, for one process: impulse [N s], direction [rad].

    The phase is a share of a stride.
    """

    robot: str
    impulse: float
    direction: float
    phase: float
    feedback: bool = True


@lru_cache
def robot_of(name: str) -> hs.Model:
    """A robot, read once in a process."""
    return hs.load_model(name)


def walked(
    walker: Walker,
    schedule: list[ScheduledCommand],
    end: float,
    pushes: list[hs.Push],
    feedback: bool = True,
) -> Walked:
    """Simulate a walk on the robot's floor; feet alone touch, or as its file says.

    Raises:
        FallenError: it is down, and does not come up again.
    """
    options: dict[str, Any] = {"method": "time_stepping", "pushes": pushes}
    if not has_robot_file(walker.model):
        options["contacts"] = hs.Contacts(whole_body=False)
    robot = walking_robot(walker, schedule, **options)
    _watch(robot.walk, feedback)
    try:
        run = robot.simulation.run(t_end=end, progress=False)
    except hs.errors.SimulationError as error:
        raise FallenError from error
    if WalkSummary.of_run(run).fallen:
        raise FallenError
    return Walked(run, robot.walk.commands[-1].plan.velocity)


def commanded(command: tuple[float, ...], end: float) -> Walked:
    """Simulate a walk of the KHR-1."""
    walker = Walker(robot_of(ROBOT), period=PERIOD)
    return walked(walker, [ScheduledCommand(START, Velocity(*command))], end, [])


def _watch(walk: ServoWalk, feedback: bool) -> None:
    """End a walk with a fall; without feedback it follows its pattern alone."""
    walker, ticked = walk.walker, walk._tick

    def tick(t: float, sample: Sample) -> np.ndarray:
        attitude = np.asarray(pin.Quaternion(sample.q[3:7]).matrix())
        if tilt_of(attitude) > 2.0 * walker.settings.fall_tilt:  # not to rise again
            raise FallenError
        if feedback:
            return ticked(t, sample)
        walk.commands.append(walker.tick(t))
        return walk.commands[-1].joints

    walk._tick = tick  # type: ignore[method-assign, assignment]


def when_of(settings: WalkSettings, phase: float) -> float:
    """Time of a push in a phase of the second stride [s]."""
    begun = BEGIN + settings.shift_duration
    return begun + settings.step_duration * (2.0 + 1.0 / 6.0 + 2.0 * phase)


def risen(trial: Pushed) -> bool:
    """Whether it gets up after a push that fells it, and walks on."""
    model = robot_of(trial.robot)
    when = when_of(WalkSettings.of_model(model), trial.phase)
    shove = Shove(
        trial.impulse, 0.0, _above(model, WalkSettings.of_model(model)), BEGIN
    )
    return get_up(model, trial.direction, when, shove=shove).passed


def pushed(trial: Pushed) -> bool:
    """Whether it stays up after a push."""
    model = robot_of(trial.robot)
    period = RobotSetup.of_model(model).sampling_period
    walker = Walker(model, period=period)
    settings = walker.settings
    speed = PACE * settings.max_forward / settings.step_duration
    when = when_of(settings, trial.phase)
    angle = trial.direction
    size = (trial.impulse * math.cos(angle), trial.impulse * math.sin(angle), 0.0)
    push = hs.Push(when, size, point=(0.0, 0.0, _above(model, settings)))
    schedule = [ScheduledCommand(BEGIN, Velocity(speed))]
    try:
        walked(walker, schedule, when + AFTER, [push], trial.feedback)
    except FallenError:
        return False
    return True


def _above(model: hs.Model, settings: WalkSettings) -> float:
    """Height of a push above the origin of the base [m]."""
    base = float(Walker(model, settings).start()[2])
    return HEIGHT * settings.com_height - base


def followed(command: tuple[float, ...]) -> Outcome:
    """How a command is followed for ten seconds."""
    try:
        run, velocity = commanded(command, START + SECONDS)
    except FallenError:
        return Outcome((math.nan,) * 3, math.nan, False)
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
    return Outcome(ratios, math.degrees(turned - SECONDS * velocity.wz), True)


def stays_up(seed: int) -> bool:
    """Whether a random command of five seconds is walked without a fall."""
    random = np.random.default_rng(seed)
    command = tuple(random.uniform((-0.06, -0.03, -0.35), (0.09, 0.03, 0.35)))
    try:
        commanded(command, START + 5.0)
    except FallenError:
        return False
    return True


def drawn(seed: int | None) -> list[tuple[float, float]]:
    """Directions [rad] and phases of pushes: a grid, or by chance."""
    if seed is None:
        grid = product(range(DIRECTIONS), range(PHASES))
        return [(2.0 * math.pi * d / DIRECTIONS, p / PHASES) for d, p in grid]
    random = np.random.default_rng(seed)
    chosen = random.uniform((0.0, 0.0), (2.0 * math.pi, 1.0), (DIRECTIONS * PHASES, 2))
    return [(float(direction), float(phase)) for direction, phase in chosen]


def pushes(
    pool: ProcessPoolExecutor,
    robot: str,
    impulse: float | None,
    seed: int | None,
    rising: bool,
) -> None:
    """Print how many pushes are survived, with and without feedback."""
    size = SPEED * robot_of(robot).mass if impulse is None else impulse
    trials = [Pushed(robot, size, *cell) for cell in drawn(seed)]
    both = (True, False)
    up = {
        feedback: list(
            pool.map(pushed, [t._replace(feedback=feedback) for t in trials])
        )
        for feedback in both
    }
    table = Table(title=f"{robot_of(robot).title}, up after {size:.3g} N s")
    for name in ("direction", "pushes", "with feedback", "without"):
        table.add_column(name)
    sectors = [round(t.direction / (2 * math.pi) * DIRECTIONS) for t in trials]
    for direction in range(DIRECTIONS):
        cells = [k for k, n in enumerate(sectors) if n % DIRECTIONS == direction]
        row = [len(cells), *(sum(up[way][k] for k in cells) for way in both)]
        table.add_row(f"{360 * direction // DIRECTIONS} deg", *map(str, row))
    table.add_row("all", str(len(trials)), *(str(sum(up[way])) for way in both))
    Console().print(table)
    gained = sum(a and not b for a, b in zip(up[True], up[False], strict=True))
    lost = sum(b and not a for a, b in zip(up[True], up[False], strict=True))
    if gained + lost:
        p = binomtest(gained, gained + lost, alternative="greater").pvalue
        print(f"gained {gained}, lost {lost}: p = {p:.2g} (McNemar, one-sided)")
    counts = [[sum(up[way]), len(trials) - sum(up[way])] for way in both]
    p = fisher_exact(counts, alternative="greater").pvalue
    print(f"p = {p:.2g} (Fisher, one-sided)")
    if rising:
        fell = [t for t, stood in zip(trials, up[True], strict=True) if not stood]
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
    parser.add_argument("--model", default=ROBOT, help="a name or a file, of pushes")
    parser.add_argument("--impulse", type=float, help="of a push [N s]")
    parser.add_argument("--seed", type=int, help="of directions and phases by chance")
    parser.add_argument("--rising", action="store_true", help="try to get up, too")
    parser.add_argument("--seeds", type=int, default=100, help="random commands")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.processes) as pool:
        if given.what == "pushes":
            pushes(pool, given.model, given.impulse, given.seed, given.rising)
        elif given.what == "commands":
            commands(pool)
        else:
            up = list(pool.map(stays_up, range(given.seeds)))
            print(f"{sum(up)} of {len(up)} random commands of 5 s without a fall")


if __name__ == "__main__":
    main()
