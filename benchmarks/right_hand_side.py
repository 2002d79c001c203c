# SPDX-License-Identifier: Apache-2.0
"""Cost of one right-hand side of the event-driven method, and of standing for 1 s.

The right-hand side is that of a model that stands on eight closed contacts, its joints
free. Beside it, in the same run, stands what pinocchio alone needs for the terms of the
equations of motion: crba, nonLinearEffects and computeJointJacobians. States are those
of a simulation and change from call to call; rounds of the contenders alternate, and
the best round counts.

Then KHR-1 stands for a second on each of several actuations; the real-time factor is
simulated time over wall time, the best of some runs.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table
from timing import seconds_per_call

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.contact.problem.law import OPEN
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.event_driven.event_stepper import EventStepper
from humans_sim.dynamics.simulation import Simulation
from humans_sim.dynamics.system import Chart

MODELS = {"khr1": (5.0, 0.05), "human36": (2000.0, 20.0)}
"""What stands, and the springs and dampers that hold it [N m/rad, N m s/rad]."""
STATES, ROUNDS = 20, 1000
WATCHED = 0.1
"""Time from which the states are taken [s]."""
CONTACTS = 8
STANDING, PERIOD, RUNS = 1.0, 0.01, 5
TOLERANCES = (1e-9, 1e-6)


class Spring(Actuation):
    """Joints held at the posture of the start by springs and dampers."""

    def __init__(self, model: hs.Model, stiffness: float, damping: float) -> None:
        """Put a spring into every joint.

        Args:
            model: the model.
            stiffness: [N m/rad].
            damping: [N m s/rad].
        """
        self._stiffness, self._damping = stiffness, damping
        self._posture = np.zeros(len(model.joint_names))

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Take the posture."""
        self._posture = np.array(q[7:])
        return np.zeros(0)

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Torques of the springs and dampers."""
        force = np.zeros(len(v))
        force[6:] = self._stiffness * (self._posture - q[7:]) - self._damping * v[6:]
        return force, z


ACTUATIONS: dict[str, Callable[[hs.Model], Actuation]] = {
    "springs": lambda model: Spring(model, *MODELS[model.name]),
    "servos": Servo,
}


def posture(model: hs.Model) -> np.ndarray:
    """Upright on flat feet, every joint 0.05 rad or more from its limits."""
    joints = np.clip(0.0, model.lower_limits + 0.05, model.upper_limits - 0.05)
    return model.standing(joints)


def right_hand_side(model: hs.Model, rounds: int) -> dict[str, float]:
    """Best time of a call for each contender [us]."""
    spring = Spring(model, *MODELS[model.name])
    stepper = Simulation(model, spring).start(posture(model))
    assert isinstance(stepper, EventStepper)
    states, derivative = [], stepper.motion.derivative

    def keep(chart: Chart, t: float, y: np.ndarray) -> np.ndarray:
        states.append((chart, t, y.copy()))
        return derivative(chart, t, y)

    stepper.motion.derivative = keep  # type: ignore[method-assign]
    stepper.advance(WATCHED)
    closed = int(np.count_nonzero(stepper.mode != OPEN))
    if closed != CONTACTS or len(stepper.events) > CONTACTS:
        raise RuntimeError(f"{model.name} does not stand still: {stepper.events}")
    states = [states[len(states) * i // STATES] for i in range(STATES)]
    nv, data = model.nv, model.data()
    qs = [chart.configuration(y[:nv]) for chart, _, y in states]
    vs = [y[nv : 2 * nv] for _, _, y in states]

    def whole(i: int) -> None:
        derivative(*states[i])

    def bare(i: int) -> None:
        pin.crba(model.pin, data, qs[i])
        pin.nonLinearEffects(model.pin, data, qs[i], vs[i])
        pin.computeJointJacobians(model.pin, data, qs[i])

    contenders: dict[str, Callable[[int], object]] = {
        "pinocchio": bare,
        "terms": lambda i: stepper.system.terms(
            qs[i], vs[i], stepper.motion.modes.which
        ),
        "right-hand side": whole,
    }
    best = dict.fromkeys(contenders, np.inf)
    for _ in range(rounds):
        for name, call in contenders.items():
            best[name] = min(best[name], 1e6 * seconds_per_call(call, STATES))
    return best


def standing(
    model: hs.Model, actuation: Actuation, rtol: float, count: int
) -> tuple[float, int, int, float]:
    """Stand still: real-time factor, right-hand sides, events, height lost [m]."""
    simulation = Simulation(model, actuation, rtol=rtol, atol=1e-3 * rtol)
    start = posture(model)
    times = PERIOD * np.arange(1, round(STANDING / PERIOD) + 1)
    best = np.inf
    for _ in range(count):
        begun = time.perf_counter()
        stepper = simulation.start(start)
        for moment in times:
            stepper.advance(moment, times[-1])
        best = min(best, time.perf_counter() - begun)
    lost = float(start[2] - stepper.q[2])
    return STANDING / best, stepper.evaluations, len(stepper.events), lost


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--runs", type=int, default=RUNS, help="of standing")
    given = parser.parse_args()
    console = Console()
    console.print(f"On {platform.machine()}, Python {platform.python_version()}")
    costs = Table("model", "call", title="Right-hand side", title_justify="left")
    costs.add_column("us", justify="right")
    costs.add_column("ratio", justify="right")
    for name in MODELS:
        microseconds = right_hand_side(hs.load_model(name), given.rounds)
        for call, value in microseconds.items():
            ratio = value / microseconds["pinocchio"]
            costs.add_row(name, call, f"{value:.1f}", f"{ratio:.2f}")
        costs.add_section()
    console.print(costs)
    runs = Table("actuation", "rtol", title="KHR-1 stands 1 s", title_justify="left")
    for title in ("x real time", "right-hand sides", "events", "height lost [m]"):
        runs.add_column(title, justify="right")
    model = hs.load_model("khr1")
    for name, make in ACTUATIONS.items():
        for rtol in TOLERANCES:
            factor, calls, events, lost = standing(model, make(model), rtol, given.runs)
            row = (f"{factor:.2f}", str(calls), str(events), f"{lost:.1e}")
            runs.add_row(name, f"{rtol:.0e}", *row)
    console.print(runs)


if __name__ == "__main__":
    main()
