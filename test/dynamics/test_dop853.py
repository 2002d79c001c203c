# SPDX-License-Identifier: Apache-2.0
"""The explicit integrator against scipy's implementation of the same method."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import DOP853

from humans_sim.dynamics.integrators import (
    Dop853,
    InitialValueProblem,
    IntegrationError,
)


def pendulum(t: float, y: np.ndarray) -> np.ndarray:
    """A pendulum whose pivot is shaken."""
    return np.array([y[1], -9.81 * np.sin(y[0]) + np.cos(3 * t)])


START = np.array([1.0, 0.5])


@pytest.mark.parametrize("first_step", [None, 0.3])
def test_steps_are_those_of_scipy(first_step: float | None) -> None:
    """Size, end and inside of two steps; 0.3 s is rejected at first.

    Later steps part by rounding errors of their error estimates.
    """
    atol = np.full(2, 1e-10)
    ours = Dop853(InitialValueProblem(pendulum, 0.0, START, 1e-7, atol, first_step))
    theirs = DOP853(
        pendulum, 0.0, START, 2.0, rtol=1e-7, atol=atol, first_step=first_step
    )
    assert ours.step_size == pytest.approx(theirs.h_abs, rel=1e-12)
    for _ in range(2):
        ours.step(2.0)
        theirs.step()
        assert ours.t == pytest.approx(theirs.t, rel=1e-6)
        inside = theirs.dense_output()
        for t in np.linspace(theirs.t_old, min(ours.t, theirs.t), 5)[1:]:
            np.testing.assert_allclose(ours.at(t), inside(t), rtol=1e-9)


def test_a_step_ends_at_its_bound() -> None:
    """The step is cut there, the size of the next one is not."""
    atol = np.full(2, 1e-10)
    solver = Dop853(InitialValueProblem(pendulum, 0.0, START, 1e-7, atol, 1e-2))
    solver.step(1e-3)
    assert solver.t == 1e-3
    assert solver.step_size >= 1e-2


def test_rates_that_jump_are_refreshed() -> None:
    """The next step begins with the new rates, the inside of the last one stays."""
    force = [0.0]

    def pushed(t: float, y: np.ndarray) -> np.ndarray:
        return np.array([y[1], force[0]])

    atol = np.full(2, 1e-10)
    solver = Dop853(InitialValueProblem(pushed, 0.0, np.zeros(2), 1e-7, atol, 0.1))
    solver.step(0.1)
    force[0] = 2.0
    solver.refresh()
    solver.step(0.3)
    duration = solver.t - 0.1
    np.testing.assert_allclose(solver.y, [duration**2, 2 * duration], rtol=1e-12)


def test_rates_without_numbers_end_the_integration() -> None:
    """Steps shrink to the spacing of numbers, and no further."""
    rhs = lambda t, y: np.full(1, np.nan) if t > 0.5 else np.ones(1)  # noqa: E731
    atol = np.full(1, 1e-9)
    solver = Dop853(InitialValueProblem(rhs, 0.5, np.zeros(1), 1e-7, atol, 0.1))
    with pytest.raises(IntegrationError, match="went to zero"):
        solver.step(1.0)
