# SPDX-License-Identifier: Apache-2.0
"""Time of a walk's parts: the quadratic program, the posture, a whole control tick.

Each model walks twenty steps with changing commands at a control period of 10 ms. A
solution of the MPC is timed whole, update of vectors and matrix included; so is a tick
of the walker with its balance, which finds two postures, and a solution only where it
passes a knot. Its sensors measure all that it uses, joints included: a body on its plan
that sways, so that balance has something to do. The KHR-1 walks by its servos in a
simulation, too: there a call of its controller is timed as the simulation makes it,
with contacts and wrenches of the soles. Times are those of the wall's clock, or of the
processor (``--cpu``), which others on the machine do not change. A URDF may be given
instead of the package's models. Exits with 1 if the median of the MPC's solutions is
not below 0.5 ms, or of all ticks not below 0.7 ms with 99 % below 2 ms.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.applications.walk_control import walking_robot
from humans_sim.control.trajectories.trajectory import ContactPhase
from humans_sim.control.walking import SoleWrench, Velocity, Walker, WalkSensors
from humans_sim.control.walking.pattern import PatternPoint
from humans_sim.control.walking.preview import Preview
from humans_sim.control.walking.walk import ScheduledCommand, ServoWalk
from humans_sim.control.walking.whole_body_ik import WalkKinematics

PERIOD, STEPS = 0.01, 20
SOLUTION_LIMIT, TICK_LIMIT, RARE_LIMIT = 0.5e-3, 0.7e-3, 2e-3
"""Medians that must be kept, and what 99 % of the ticks must keep [s]."""
COMMANDS = ((1.0, 0.0, 0.0), (0.3, 0.2, 0.0), (0.2, 0.0, 0.3), (-1.0, 0.0, 0.0))
"""One for each quarter of a walk; cut to what the legs can follow."""


def timed(
    times: list[float], call: Callable[..., Any], clock: Callable[[], float]
) -> Callable[..., Any]:
    """The same call, noting how long it took."""

    def measured(*arguments: Any) -> Any:
        begun = clock()
        result = call(*arguments)
        times.append(clock() - begun)
        return result

    return measured


SERVO_WALKS = ("khr1",)
"""Models whose walk is simulated by servos, too."""


def sensors(plan: PatternPoint, walker: Walker) -> WalkSensors:
    """A body on its plan that sways by a degree, its weight on the feet that stand."""
    sway = np.radians(1.0) * np.sin(9.0 * plan.time)
    both, weight = plan.support is ContactPhase.DOUBLE, 9.81 * walker.model.mass
    left, right = (
        SoleWrench(np.array([0.0, 0.0, share * weight]), np.zeros(3))
        for share in (
            0.5 if both else float(plan.support is ContactPhase.LEFT_FOOT),
            0.5 if both else float(plan.support is ContactPhase.RIGHT_FOOT),
        )
    )
    attitude = pin.rpy.rpyToMatrix(sway, -sway, 0.0)
    spin = np.full(3, 0.1 * sway)
    return WalkSensors(attitude, spin, left, right, plan.joints, plan.joint_speeds)


def simulated(name: str, clock: Callable[[], float]) -> list[float]:
    """Times of a controller's calls in a simulated walk by servos [s]."""
    walker, times = Walker(hs.load_model(name), period=PERIOD), list[float]()
    quarter = STEPS / len(COMMANDS) * walker.settings.step_duration
    schedule = [
        ScheduledCommand(k * quarter, Velocity(*command))
        for k, command in enumerate(COMMANDS)
    ]
    call = ServoWalk.__call__
    ServoWalk.__call__ = timed(times, call, clock)  # type: ignore[method-assign]
    robot = walking_robot(walker, schedule)
    robot.simulation.run(t_end=len(COMMANDS) * quarter, progress=False)
    ServoWalk.__call__ = call  # type: ignore[method-assign]
    return times[1:]  # the first one loads what others use


def measure(
    name: str, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Times of the parts of one model's walk [s]."""
    walker = Walker(hs.load_model(name), period=PERIOD)
    pattern = walker.pattern
    command = walker.tick(0.0)
    times: dict[str, list[float]] = {"MPC": [], "posture": [], "tick": []}
    parts = ((Preview, "solve", "MPC"), (WalkKinematics, "solve", "posture"))
    originals = [getattr(owner, method) for owner, method, _ in parts]
    for (owner, method, label), original in zip(parts, originals, strict=True):
        setattr(owner, method, timed(times[label], original, clock))
    tick = timed(times["tick"], walker.tick, clock)
    ticks = round(STEPS * pattern.settings.step_duration / PERIOD)
    for i in range(ticks):
        if i % (ticks // len(COMMANDS)) == 0:
            pattern.command(*COMMANDS[min(i * len(COMMANDS) // ticks, 3)])
        t = PERIOD * (i + 1)
        command = tick(t, sensors(command.plan, walker))
    for (owner, method, _), original in zip(parts, originals, strict=True):
        setattr(owner, method, original)
    if name in SERVO_WALKS:
        times["tick, simulated"] = simulated(name, clock)
    return times


def main() -> int:
    """Print a table; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["khr1", "bip", "human36"])
    parser.add_argument("--cpu", action="store_true", help="time of the processor")
    given = parser.parse_args()
    clock = time.thread_time if given.cpu else time.perf_counter
    word = "processor's time" if given.cpu else "wall's time"
    title = f"{STEPS} steps, {word}, {platform.machine()}, {platform.python_version()}"
    table = Table("model", "part", title=title, title_justify="left")
    for column in ("calls", "median", "99 %", "worst [ms]"):
        table.add_column(column, justify="right")
    missed = False
    for name in given.models:
        for part, times in measure(name, clock).items():
            median = float(np.median(times))
            missed |= part == "MPC" and median > SOLUTION_LIMIT
            missed |= part.startswith("tick") and median > TICK_LIMIT
            figures = (median, float(np.percentile(times, 99)), max(times))
            missed |= part.startswith("tick") and figures[1] > RARE_LIMIT
            table.add_row(
                Path(name).stem,
                part,
                str(len(times)),
                *(f"{1e3 * x:.2f}" for x in figures),
            )
    Console().print(table)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
