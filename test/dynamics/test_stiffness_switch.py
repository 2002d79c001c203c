# SPDX-License-Identifier: Apache-2.0
"""Integrators where motion is stiff, and where what forces refer to changes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from humans_sim.dynamics.event_driven.motion_integrator import StiffnessSwitch
from humans_sim.dynamics.integrators import Dop853, InitialValueProblem
from humans_sim.dynamics.problems import GeneralSystem
from humans_sim.dynamics.simulation import Simulation
from humans_sim.results.records import POINT, ContactTable


class _Counted:
    """y' = -rate (y - cos t) - sin t: the solution from 1 on is cos t."""

    def __init__(self, rate: float) -> None:
        self.rate, self.calls = rate, 0

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        self.calls += 1
        return -self.rate * (y - math.cos(t)) - math.sin(t)

    def problem(self) -> InitialValueProblem:
        """From cos 0 on, with the tolerances of a simulation."""
        return InitialValueProblem(self, 0.0, np.ones(1), 1e-9, np.full(1, 1e-12), 1e-3)


@pytest.mark.parametrize("rate", [1.0, 1e3, 1e6])
def test_the_switch_solves_what_is_stiff(rate: float) -> None:
    """Exact to its tolerance; steps do not shrink as the rate grows."""
    rhs = _Counted(rate)
    switch = StiffnessSwitch(rhs.problem())
    while switch.t < 1.0:
        switch.step(1.0)
        middle = switch.at(switch.t - 1e-7)
        assert middle[0] == pytest.approx(math.cos(switch.t - 1e-7), abs=1e-8)
    assert switch.y[0] == pytest.approx(math.cos(1.0), abs=1e-8)
    assert rhs.calls < 8000  # by the explicit method alone: 2 per 1 / rate


def test_the_explicit_method_knows_its_stiffness() -> None:
    """Of a linear equation it is the step size times the rate."""
    rhs = _Counted(50.0)
    explicit = Dop853(rhs.problem())
    explicit.step(1.0)
    assert explicit.stiffness() == pytest.approx(50.0 * explicit.t, rel=1e-6)


def particle_on_springs() -> GeneralSystem:
    """A particle that slides on the floor on a curve, between springs."""
    table = ContactTable.of(("floor",), (POINT,), np.array([2]), 0.5, 0.0)
    rows = np.array([[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])

    def potential(q: np.ndarray) -> float:
        return float(9.81 * q[2] - 3.0 * q[1] + 100.0 * (q[:2] @ q[:2]))

    return GeneralSystem(
        name="particle on springs",
        position_names=("x", "y", "z"),
        mass=lambda q: np.eye(3),
        force=lambda q, v: np.array([-200.0 * q[0], 3.0 - 200.0 * q[1], -9.81]),
        potential=potential,
        contacts=table,
        gap=lambda q: q[2:].copy(),
        jacobian=lambda q: rows,
    )


def test_a_turning_direction_of_sliding_costs_no_order() -> None:
    """The rates that a step begins with are those of the direction remembered then.

    With those of the step before, its error is of first order in its size: twice the
    evaluations here, a hundred times where many contacts slide slowly.
    """
    simulation = Simulation(particle_on_springs(), hand_over=False)
    stepper = simulation.start(np.zeros(3), np.array([0.02, 0.0, 0.0]))
    for t in np.arange(0.01, 0.1, 0.01):
        stepper.advance(float(t))
    assert [event.kind for event in stepper.events] == ["contact_closed", "stick"]
    assert stepper.evaluations < 2000
