# SPDX-License-Identifier: Apache-2.0
"""When controllers are called, and what they see and command."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.dynamics import problems
from humans_sim.dynamics.controller import ControlClock

METHODS = ("event_driven", "time_stepping")
STATE = hs.ControlState(np.zeros(1), np.zeros(1))


class Force(hs.Actuation):
    """A force as commanded; it notes when."""

    def __init__(self) -> None:
        """No force yet."""
        self.taken: list[tuple[float, float]] = []
        self._force = 0.0

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Forget everything."""
        self.taken, self._force = [], 0.0
        return np.zeros(0)

    def command(self, t: float, command: Any) -> None:
        """Act from now on."""
        self.taken.append((t, command))
        self._force = command

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The force."""
        return np.array([self._force]), z


class Held(hs.Controller):
    """Carries a ball, every 30 ms, and looks at its contact."""

    period = 0.03

    def __init__(self) -> None:
        """Nothing seen yet."""
        self.seen: list[hs.Sample] = []
        self.system: Any = None

    def start(self) -> np.ndarray:
        """On the ground."""
        return np.zeros(1)

    def attach(self, system: Any) -> None:
        """Note the system."""
        self.system = system

    def __call__(self, t: float, state: hs.ControlState) -> float:
        """Half of its weight."""
        self.seen.append(state.sample)
        return 0.5 * 9.81


def test_calls_are_multiples_of_the_period() -> None:
    """From any start, without drift; a wait that is asked for begins a new count."""
    times: list[float] = []
    waits = {3: 0.25}

    def controller(t: float, state: hs.ControlState) -> Any:
        times.append(t)
        wait = waits.get(len(times))
        return None if wait is None else hs.CommandWithNextCall(None, wait)

    clock = ControlClock(controller, 0.1)
    assert clock.next_call == math.inf
    clock.start(0.7)
    while len(times) < 6:
        clock.tick(clock.next_call, STATE, pytest.fail)
    third = 0.7 + 2 * 0.1
    begun = third + 0.25
    expected = [0.7, 0.7 + 0.1, third, begun, begun + 0.1, begun + 2 * 0.1]
    assert times == expected
    clock.tick(clock.next_call - 1e-9, STATE, pytest.fail)
    assert len(times) == 6


@pytest.mark.parametrize("wait", [0.0, -1.0, math.nan, math.inf])
def test_times_that_are_none(wait: float) -> None:
    """A period or a wait must be above zero and finite."""
    with pytest.raises(hs.errors.ParameterError, match="the control period must be"):
        ControlClock(lambda t, state: None, wait)
    clock = ControlClock(lambda t, state: hs.CommandWithNextCall(None, wait), 0.1)
    clock.start(0.0)
    with pytest.raises(hs.errors.ParameterError, match="called again after"):
        clock.tick(0.0, STATE, pytest.fail)
    for controller in (None, lambda t, state: None):
        with pytest.raises(hs.errors.ParameterError, match="period"):
            hs.Simulation(
                problems.bouncing_ball(), Force(), controller, control_period=wait
            )


@pytest.mark.parametrize("method", METHODS)
def test_commands_do_not_depend_on_samples(method: str) -> None:
    """Called at exact times of its own, however often one looks; the force acts then.

    A ball in the air: its speed is the sum of the impulses.
    """
    force = Force()
    sim = hs.Simulation(
        problems.bouncing_ball(),
        force,
        lambda t, state: 9.81 + (-1.0) ** round(t / 0.03),
        method=method,
        control_period=0.03,
    )
    runs = [sim.run(np.ones(1), t_end=0.1, sampling_period=h) for h in (0.007, 0.05)]
    assert [t for t, _ in force.taken] == [k * 0.03 for k in range(4)]
    for run in runs:
        expected = np.interp(run.t, [0, 0.03, 0.06, 0.09, 0.12], [0, 0.03, 0, 0.03, 0])
        np.testing.assert_allclose(run.v[:, 0], expected, atol=1e-9)
    assert len(sim.run(np.ones(1), t_end=0.09).t) == 4  # by default its period


@pytest.mark.parametrize("method", METHODS)
def test_without_a_period_at_each_sample(method: str) -> None:
    """Samples are the times of the calls; None leaves the command as it was."""
    force = Force()
    sim = hs.Simulation(
        problems.bouncing_ball(),
        force,
        lambda t, state: None if t > 0.015 else state.q[0],
        method=method,
    )
    run = sim.run(np.ones(1), t_end=0.05)
    assert force.taken == [(0.0, 1.0), (run.t[1], run.q[1, 0])]
    stepper = sim.start(np.ones(1))
    stepper.advance(0.05)
    assert not force.taken  # by hand, commands are given by hand
    sim = hs.Simulation(
        problems.bouncing_ball(),
        force,
        lambda t, state: hs.CommandWithNextCall(1.0, 0.1),
        method=method,
    )
    with pytest.raises(
        hs.errors.ParameterError, match="give the Simulation a control_period"
    ):
        sim.run(np.ones(1))


@pytest.mark.parametrize("method", METHODS)
def test_controller_with_all_it_brings(method: str) -> None:
    """Start, period and contacts; a stepper by hand calls it, too, and when reset."""
    held, force = Held(), Force()
    sim = hs.Simulation(problems.bouncing_ball(), force, held, method=method)
    assert held.system is sim.system
    run = sim.run(t_end=0.09)
    np.testing.assert_array_equal(run.t, [0.0, 0.03, 0.06, 0.09])
    np.testing.assert_array_equal([s.t for s in held.seen], run.t)
    assert held.seen[0].forces[0, 0] == 0.0  # nothing is decided yet
    for sample in held.seen[1:]:
        assert sample.forces[0, 0] == pytest.approx(0.5 * 9.81)
        np.testing.assert_allclose(sample.gaps, 0.0, atol=1e-12)
    stepper = sim.start(np.zeros(1), t=1.0)
    stepper.advance(1.05)
    assert [t for t, _ in force.taken] == [1.0, 1.0 + 0.03]
    stepper.set_state(2.0, np.zeros(1), np.zeros(1))
    stepper.advance(2.04)
    assert [t for t, _ in force.taken] == [2.0, 2.0 + 0.03]


def test_a_state_without_a_simulation() -> None:
    """It has no contacts, and says so."""
    with pytest.raises(hs.errors.ParameterError, match="no contacts and forces"):
        _ = STATE.sample
