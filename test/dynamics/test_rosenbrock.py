# SPDX-License-Identifier: Apache-2.0
"""The linearly implicit integrator: its order, its stability, its interpolant."""

from __future__ import annotations

import numpy as np
import pytest

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.integrators import Derivatives, InitialValueProblem, Rosenbrock


def pendulum(t: float, y: np.ndarray) -> np.ndarray:
    """A pendulum whose pivot is shaken."""
    return np.array([y[1], -9.81 * np.sin(y[0]) + np.cos(3 * t) - 0.3 * y[1] ** 3])


def exact(t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All derivatives of the pendulum."""
    matrix = np.array([[0.0, 1.0], [-9.81 * np.cos(y[0]), -0.9 * y[1] ** 2]])
    return matrix, np.array([0.0, -3 * np.sin(3 * t)])


def part(t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some of them, as of a right-hand side whose stiff part alone is known."""
    return np.array([[0.0, 1.0], [-20.0, 0.0]]), np.zeros(2)


def end_of(derivatives: Derivatives, steps: int) -> np.ndarray:
    """The state at 1 s, by steps of one size."""
    start = np.array([1.0, 0.5])
    loose = np.full(2, 1e9)
    problem = InitialValueProblem(pendulum, 0.0, start, 1.0, loose, None, derivatives)
    solver = Rosenbrock(problem)
    for k in range(steps):
        solver.step_size = 1.0
        solver.step((k + 1) / steps)
    return solver.y


@pytest.mark.parametrize("derivatives", [exact, part])
def test_it_is_of_third_order(derivatives: Derivatives) -> None:
    """Half the step, an eighth of the error: with part of the derivatives, too."""
    reference = end_of(exact, 2000)
    errors = [np.abs(end_of(derivatives, n) - reference).max() for n in (40, 80, 160)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 2.7).all(), orders


def test_stiff_motion_takes_long_steps() -> None:
    """A rate of 10^8 1/s: the fast part is gone at once, the slow one is followed."""
    rate = 1e8

    def stiff(t: float, y: np.ndarray) -> np.ndarray:
        return np.array([-rate * (y[0] - np.sin(t)) + np.cos(t)])

    def derivatives(t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.array([[-rate]]), np.array([rate * np.cos(t) - np.sin(t)])

    atol = np.full(1, 1e-6)
    start = np.array([1.0])
    problem = InitialValueProblem(stiff, 0.0, start, 1e-4, atol, 1e-3, derivatives)
    solver = Rosenbrock(problem)
    steps = 0
    while solver.t < 1.0:
        solver.step(1.0)
        steps += 1
    assert steps < 150
    assert solver.y[0] == pytest.approx(np.sin(1.0), abs=1e-5)


def test_between_two_ends_nothing_overshoots() -> None:
    """Rates of stiff motion say nothing about the way between two ends."""

    def jump(t: float, y: np.ndarray) -> np.ndarray:
        return np.array([-1e6 * (y[0] - 1.0)])

    def derivatives(t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.array([[-1e6]]), np.zeros(1)

    loose = np.full(1, 10.0)
    start = np.array([0.0])
    problem = InitialValueProblem(jump, 0.0, start, 1e-3, loose, 1e-2, derivatives)
    solver = Rosenbrock(problem)
    solver.step(0.01)
    inside = [solver.at(t)[0] for t in np.linspace(0.0, 0.01, 21)]
    assert min(inside) >= -1e-12 and max(inside) <= max(1.0, solver.y[0]) + 1e-12
    assert np.all(np.diff(inside) >= -1e-12)


def test_it_needs_derivatives() -> None:
    """A clear typed error where none are given."""
    problem = InitialValueProblem(pendulum, 0.0, np.zeros(2), 1e-3, np.ones(2))
    with pytest.raises(ParameterError, match="derivatives"):
        Rosenbrock(problem)
