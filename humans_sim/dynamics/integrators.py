# SPDX-License-Identifier: Apache-2.0
"""Variable-step integrators with dense output: one step at a time, then look back.

``dop853`` is the explicit Runge-Kutta method of order 8: right for rigid bodies
between events. ``radau`` is the implicit Runge-Kutta method of order 5 (scipy): right
for stiff actuation and soles that creep, on every machine. ``rosenbrock`` is linearly
implicit, of order 3: the same at moderate accuracy, for robots that walk. ``cvode`` is
SUNDIALS' multistep method (scikit-sundae), the successor of the manual's LSODAR. All
are driven step by step; the caller looks for events inside the step just made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.integrate import Radau

from humans_sim.core.errors import MissingDependencyError, ParameterError
from humans_sim.dynamics.dop853 import Dop853 as Dop853
from humans_sim.dynamics.initial_value_problem import Derivatives, Rhs
from humans_sim.dynamics.initial_value_problem import (
    InitialValueProblem as InitialValueProblem,
)
from humans_sim.dynamics.initial_value_problem import (
    IntegrationError as IntegrationError,
)
from humans_sim.dynamics.rosenbrock import Rosenbrock

AUTOMATIC = "automatic"
ROSENBROCK = "rosenbrock"
NAMES = (AUTOMATIC, "dop853", "radau", ROSENBROCK, "cvode")
IMPLICIT = ("radau", ROSENBROCK, "cvode")
_DIFFERENCE = 1e-9
"""Difference for the Jacobian: far below the speed of soles that creep [m, m/s]."""


def differences(rhs: Rhs, positions: int = 0) -> Derivatives:
    """Derivatives of a right-hand side by differences; none by time.

    Args:
        rhs: of time and state.
        positions: number of leading states whose derivatives are left out: what is
            stiff depends on velocities.
    """

    def derivatives(t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        columns = np.zeros((len(y), len(y)))
        for i in range(positions, len(y)):
            moved = y.copy()
            moved[i] += _DIFFERENCE
            columns[:, i] = rhs(t, moved)
        # Last of all, as those who look back take what was evaluated last.
        rates = rhs(t, y)
        columns[:, positions:] -= rates[:, None]
        return columns / ((y + _DIFFERENCE) - y), np.zeros(len(y))

    return derivatives


class Integrator(Protocol):
    """One step at a time."""

    t: float
    y: np.ndarray

    @property
    def step_size(self) -> float | None:
        """Size that the next step would have [s]; None before the first one."""

    def step(self, bound: float) -> None:
        """Make one step, not beyond ``bound``; t and y are then its end."""

    def at(self, t: float) -> np.ndarray:
        """The state inside the last step."""

    def refresh(self) -> None:
        """The right-hand side jumped at t: forget what was kept of it."""

    def adjust(self) -> None:
        """The right-hand side changed a little at t, as references do."""


def start(name: str, problem: InitialValueProblem) -> Integrator:
    """Start the named integrator."""
    if name == "dop853":
        return Dop853(problem)
    if name == "radau":
        return ImplicitRadau(problem)
    if name == ROSENBROCK:
        return Rosenbrock(problem)
    if name == "cvode":
        return Cvode(problem)
    raise ParameterError(f"integrator must be one of {NAMES}, not '{name}'")


class ImplicitRadau:
    """Radau's implicit Runge-Kutta method of order 5, scipy's."""

    def __init__(self, problem: InitialValueProblem) -> None:
        """Start."""
        rhs, t, y, rtol, atol, first_step, derivatives = problem[:7]
        known = derivatives or differences(rhs)
        # The bound is set anew at each step; infinity lets the first step be chosen.
        self._solver = Radau(
            rhs,
            t,
            y,
            np.inf,
            first_step=first_step,
            rtol=rtol,
            atol=atol,
            jac=lambda t, y: known(t, y)[0],
        )
        self.t, self.y = t, y
        self._dense: Callable[[float], np.ndarray] | None = None

    @property
    def step_size(self) -> float:
        """Size that the next step would have [s]."""
        return float(self._solver.h_abs)

    def step(self, bound: float) -> None:
        """Make one step, not beyond ``bound``."""
        solver = self._solver
        step_size = solver.h_abs
        solver.t_bound, solver.status = bound, "running"
        message = solver.step()
        if solver.status == "failed":
            raise IntegrationError(f"the step size went to zero: {message}")
        if solver.t == bound:
            # A step cut short by the bound says little about the next one.
            solver.h_abs = max(solver.h_abs, step_size)
        self._dense = None
        self.t, self.y = float(solver.t), solver.y

    def at(self, t: float) -> np.ndarray:
        """The state inside the last step, by the method's own interpolant."""
        if t == self.t:
            return self.y
        if self._dense is None:
            self._dense = self._solver.dense_output()
        return self._dense(t)

    def refresh(self) -> None:
        """Evaluate the right-hand side anew; the step size is kept."""
        self._solver.f = self._solver.fun(self._solver.t, self._solver.y)

    def adjust(self) -> None:
        """Evaluate it anew: the next step begins with the rates of the last one.

        With old ones, the error of each step would be of first order in its size.
        """
        self.refresh()


class Cvode:
    """SUNDIALS CVODE through scikit-sundae: BDF with a dense Newton iteration."""

    def __init__(self, problem: InitialValueProblem) -> None:
        """Start."""
        rhs, t, y, rtol, atol, first_step, *_ = problem
        try:
            from sksundae.cvode import CVODE
        except ImportError:
            raise MissingDependencyError(
                "the integrator 'cvode' needs scikit-sundae, which has no wheel for "
                "this machine or is not installed: pip install scikit-sundae, or take "
                "integrator='dop853'"
            ) from None
        self._rhs = rhs
        self._failure: BaseException | None = None

        def fill(time: float, state: np.ndarray, rates: np.ndarray) -> None:
            try:
                rates[:] = rhs(time, np.array(state))
            except BaseException as error:
                self._failure = error
                rates[:] = np.nan

        self._solver = CVODE(
            fill,
            method="BDF",
            rtol=rtol,
            atol=atol,
            first_step=first_step or 0.0,
            max_num_steps=100_000,
        )
        self._solver.init_step(t, y)
        rhs(t, y)
        self.t, self.y = t, y
        self.step_size: float | None = None

    def _take(self, t: float, method: str, stop: float | None) -> np.ndarray:
        result = self._solver.step(t, method, stop)
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if not result.success:
            raise IntegrationError(f"CVODE: {result.message}")
        self._reached = float(np.atleast_1d(result.t)[-1])
        return np.array(np.atleast_2d(result.y)[-1])

    def step(self, bound: float) -> None:
        """Make one step, not beyond ``bound``."""
        before = self.t
        self.y = self._take(bound, "onestep", bound)
        self.t = self._reached
        self.step_size = self.t - before
        self._rhs(self.t, self.y)

    def at(self, t: float) -> np.ndarray:
        """The state inside the last step, by the method's own polynomial."""
        return self.y if t == self.t else self._take(t, "normal", None)

    def refresh(self) -> None:
        """Start the multistep method anew."""
        self._solver.init_step(self.t, self.y)
        self._rhs(self.t, self.y)

    def adjust(self) -> None:
        """Nothing: its corrector does not depend on the rates of the last step."""
