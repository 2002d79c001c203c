# SPDX-License-Identifier: Apache-2.0
"""What knee muscles add to the cost of one right-hand side.

Human36 stands on eight closed contacts, held by springs, its joints free; once as it
is, once with the four stimulated muscles of its knees as well. States are those of a
simulation and change from call to call; rounds of the two alternate, and the best round
counts. The run fails where muscles cost more than they may.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.actuation import CompositeActuation, FesMuscles, Stimulator
from humans_sim.contact.problem.law import OPEN
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.controller import ControlFunction
from humans_sim.dynamics.event_driven.event_stepper import EventStepper
from humans_sim.dynamics.simulation import Simulation
from humans_sim.dynamics.system import Chart

STIFFNESS, DAMPING = 2000.0, 20.0
"""Springs and dampers that hold the body [N m/rad, N m s/rad]."""
STATES, ROUNDS = 20, 1000
WATCHED = 0.1
"""Time from which the states are taken [s]."""
CONTACTS = 8
MOST = 1.5
"""What the right-hand side with muscles may cost, relative to the one without."""

PULSES = 0.02
"""Time between two pulses of a muscle [s]."""


class Spring(Actuation):
    """Joints held at the posture of the start by springs and dampers."""

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Take the posture."""
        self._posture = np.array(q[7:])
        return np.zeros(0)

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Torques of the springs and dampers."""
        force = np.zeros(len(v))
        force[6:] = STIFFNESS * (self._posture - q[7:]) - DAMPING * v[6:]
        return force, z


def right_hand_side(
    model: hs.Model, actuation: Actuation, controller: ControlFunction | None = None
) -> Callable[[int], object]:
    """A call of the right-hand side at the i-th of the states of a standing body."""
    joints = np.clip(0.0, model.lower_limits + 0.05, model.upper_limits - 0.05)
    period = None if controller is None else PULSES
    simulation = Simulation(model, actuation, controller, control_period=period)
    stepper = simulation.start(model.standing(joints))
    assert isinstance(stepper, EventStepper)
    states, derivative = [], stepper.motion.derivative

    def keep(chart: Chart, t: float, y: np.ndarray) -> np.ndarray:
        states.append((chart, t, y.copy()))
        return derivative(chart, t, y)

    stepper.motion.derivative = keep  # type: ignore[method-assign]
    stepper.advance(WATCHED)
    if int(np.count_nonzero(stepper.mode != OPEN)) != CONTACTS:
        raise RuntimeError(f"{model.name} does not stand: {stepper.events}")
    states = [states[len(states) * i // STATES] for i in range(STATES)]

    def call(i: int) -> None:
        derivative(*states[i])

    return call


def best_times(
    calls: dict[str, Callable[[int], object]], rounds: int
) -> dict[str, float]:
    """Best time of a call for each contender [us]."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for i in range(STATES):
                call(i)
            spent = time.perf_counter() - start
            best[name] = min(best[name], 1e6 * spent / STATES)
    return best


def main() -> int:
    """Print a table; 1 where the muscles cost too much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    console = Console()
    console.print(f"On {platform.machine()}, Python {platform.python_version()}")
    model = hs.load_model("human36")
    pulse = Stimulator().charge(0.1)
    muscles = FesMuscles(model, delay=0.0)
    best = best_times(
        {
            "springs": right_hand_side(model, Spring()),
            "springs and muscles": right_hand_side(
                model,
                CompositeActuation([Spring(), muscles]),
                lambda t, state: (None, np.full(4, pulse)),
            ),
        },
        rounds,
    )
    ratio = best["springs and muscles"] / best["springs"]
    table = Table("actuation", title="Right-hand side", title_justify="left")
    table.add_column("us", justify="right")
    table.add_column("ratio", justify="right")
    for name, value in best.items():
        table.add_row(name, f"{value:.1f}", f"{value / best['springs']:.2f}")
    console.print(table)
    if ratio > MOST:
        console.print(f"[red]the muscles cost more than {MOST} times[/red]")
    return int(ratio > MOST)


if __name__ == "__main__":
    sys.exit(main())
