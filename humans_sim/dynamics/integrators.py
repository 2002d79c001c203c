# SPDX-License-Identifier: Apache-2.0
"""Variable-step integrators with dense output: one step at a time, then look back.

``dop853`` is the explicit Runge-Kutta method of order 8: right for rigid bodies
between events. ``radau`` is the implicit Runge-Kutta method of order 5 (scipy): right
for stiff actuation and soles that creep, on every machine. ``rosenbrock`` is linearly
implicit, of order 3: the same at moderate accuracy, for robots that walk. ``cvode`` is
SUNDIALS' multistep method (scikit-sundae), the successor of the manual's LSODAR. All
are driven step by step; the caller looks for events inside the step just made.

``dop853``: coefficients and control of the step are those of scipy's DOP853; sums over
the stages are compiled, as the right-hand side of a robot costs no more than these in
numpy.

``rosenbrock`` is Rang and Angermann's Rosenbrock-W method ROS34PW2: four stages, order
3, L-stable and stiffly accurate, and of order 3 with any matrix in place of the
Jacobian. So the stiff part of the derivatives is enough: friction over creep speed,
damping and gain of drives. A step costs four right-hand sides, one Jacobian and one
factorisation, and has no iterations that could fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from humans_sim.core import runge_kutta
from humans_sim.core.errors import HumansError, MissingDependencyError, ParameterError
from humans_sim.dynamics import rosenbrock_kernels

Rhs = Callable[[float, np.ndarray], np.ndarray]
Derivatives = Callable[[float, np.ndarray], tuple[np.ndarray, np.ndarray]]

WholeStep = Callable[
    [float, np.ndarray, np.ndarray, float, float],
    tuple[float, float, np.ndarray, np.ndarray] | None,
]


class IntegrationError(HumansError):
    """The integrator cannot continue from here."""


class InitialValueProblem(NamedTuple):
    """The start of an integrator.

    Attributes:
        rhs: the right-hand side, of time and state.
        atol: absolute tolerance of each state.
        first_step: size of the first step [s]; None leaves it to the integrator.
        derivatives: of the right-hand side by the state and by time, for implicit
            integrators; None leaves them to differences.
        whole_step: a step of the method in one call, where there is one: of time,
            state, its rates, the bound and the size; it returns the time at the end,
            the next size, the state, and its rates (of an explicit method those at all
            stages), or None where the step is to be made stage by stage.
    """

    rhs: Rhs
    t: float
    y: np.ndarray
    rtol: float
    atol: np.ndarray
    first_step: float | None = None
    derivatives: Derivatives | None = None
    whole_step: WholeStep | None = None


class Dop853:
    """``dop853``: the method's own polynomial lies between the ends of a step."""

    def __init__(self, problem: InitialValueProblem) -> None:
        self._rates, self.t, self.y = problem.rhs, problem.t, problem.y
        self._tolerances = problem.rtol, np.asarray(problem.atol, dtype=float)
        self._whole_step = problem.whole_step
        self._begin, self._start = self.t, self.y
        n = len(self.y)
        self._stages = np.zeros((runge_kutta.STAGES + 1 + runge_kutta.EXTRA, n))
        self._now = self._rates(self.t, self.y)
        self._inside: np.ndarray | None = None
        self.step_size = problem.first_step or self._first_step(problem.rhs)

    def _first_step(self, rhs: Rhs) -> float:
        """Size of a first step by Hairer, Norsett and Wanner, section II.4 [s]."""
        rtol, atol = self._tolerances
        now = self._now
        scale = atol + rtol * np.abs(self.y)
        size, slope = (float(np.linalg.norm(v / scale)) for v in (self.y, now))
        root = math.sqrt(len(self.y))
        small = size < 1e-5 * root or slope < 1e-5 * root
        trial = 1e-6 if small else 0.01 * size / slope
        later = rhs(self.t + trial, self.y + trial * now)
        bend = float(np.linalg.norm((later - now) / scale)) / root / trial
        largest = max(slope / root, bend)
        if largest <= 1e-15:
            return max(1e-6, 1e-3 * trial)
        return min(100.0 * trial, (0.01 / largest) ** (1.0 / 8.0))

    def step(self, bound: float) -> None:
        """Make one step, not beyond ``bound``; t and y are then its end."""
        self._inside = None
        t, y, before = self.t, self.y, self.step_size
        made = None
        if self._whole_step is not None:
            made = self._whole_step(t, y, self._now, bound, before)
        if made is None:
            made = self._step_by_stages(bound)
        self._begin, self._start = t, y
        self.t, self.step_size, self.y, self._stages = made
        self._now = self._stages[runge_kutta.STAGES]
        if self.t == bound:
            # A step cut short by the bound says little about the next one.
            self.step_size = max(self.step_size, before)

    def _step_by_stages(
        self, bound: float
    ) -> tuple[float, float, np.ndarray, np.ndarray]:
        """Time at the end, size of the next step, state and stages."""
        t, y, size = self.t, self.y, self.step_size
        stages = np.empty_like(self._stages)
        stages[0] = self._now
        smallest = 10.0 * math.ulp(t)
        size = max(size, smallest)
        rejected = False
        while True:
            if size < smallest:
                raise IntegrationError(
                    "the step size went to zero: it is less than the spacing of numbers"
                )
            end_time = min(t + size, bound)
            step = end_time - t
            for stage in range(1, runge_kutta.STAGES + 1):
                state = runge_kutta.stage_state(stage, y, stages, step)
                time = t + runge_kutta.TIMES[stage] * step
                if stage == runge_kutta.STAGES:
                    time = end_time
                stages[stage] = self._rates(time, state)
            error = runge_kutta.step_error(y, state, stages, step, self._tolerances)
            size = runge_kutta.next_size(step, error, rejected)
            if error < 1.0:
                return end_time, size, state, stages
            rejected = True

    def stiffness(self) -> float:
        """Size of the last step times the largest rate at which motions decay in it."""
        step = self.t - self._begin
        return float(runge_kutta.stiffness(self._start, self.y, self._stages, step))

    def at(self, t: float) -> np.ndarray:
        """The state inside the last step, by the method's own interpolant."""
        if t == self.t:
            return self.y
        step = self.t - self._begin
        if self._inside is None:
            stages = self._stages
            for stage in range(runge_kutta.STAGES + 1, len(stages)):
                state = runge_kutta.stage_state(stage, self._start, stages, step)
                time = self._begin + runge_kutta.TIMES[stage] * step
                stages[stage] = self._rates(time, state)
            self._inside = runge_kutta.interpolant(self._start, self.y, stages, step)
        state = runge_kutta.inside((t - self._begin) / step, self._start, self._inside)
        return np.asarray(state)

    def refresh(self) -> None:
        """The right-hand side jumped at t: evaluate it anew; the size is kept."""
        self._now = self._rates(self.t, self.y)

    def adjust(self) -> None:
        """Evaluate it anew: the next step begins with the rates of the last one.

        With old ones, the error of each step would be of first order in its size.
        """
        self.refresh()


_FIRST_STEP = 1e-3


class Rosenbrock:
    """``rosenbrock``: needs the stiff part of the derivatives; a cubic inside steps."""

    def __init__(self, problem: InitialValueProblem) -> None:
        rates, t, y, self._rtol, self._atol, first_step, derivatives = problem[:7]
        if derivatives is None:
            raise ParameterError("a Rosenbrock method needs derivatives")
        self._whole_step = problem.whole_step
        self._rates, self._derivatives = rates, derivatives
        self.t, self.y = t, y
        self.step_size = _FIRST_STEP if first_step is None else first_step
        self._now = rates(t, y)
        self._start: tuple[float, np.ndarray, np.ndarray] = (t, y, self._now)

    def step(self, bound: float) -> None:
        """Make one step, not beyond ``bound``; t and y are then its end."""
        if self._whole_step is not None:
            made = self._whole_step(self.t, self.y, self._now, bound, self.step_size)
            if made is not None:
                self._start = (self.t, self.y, self._now)
                self.t, self.step_size, self.y, self._now = made
                return
        t, y = self.t, self.y
        jacobian, by_time = self._derivatives(t, y)
        slopes = np.empty((rosenbrock_kernels.STAGES, len(y)))
        rejected = False
        while True:
            cut = self.step_size >= bound - t
            step = bound - t if cut else self.step_size
            if step < rosenbrock_kernels.SMALLEST and not cut:
                raise IntegrationError("the step size went to zero")
            factors, order, regular = rosenbrock_kernels.factorise(jacobian, step)
            error = np.inf
            if regular:
                linear = jacobian, by_time, factors, order
                for stage in range(rosenbrock_kernels.STAGES):
                    rates = self._now
                    if stage:
                        moved = rosenbrock_kernels.stage_state(stage, y, slopes, step)
                        rates = self._rates(
                            t + rosenbrock_kernels.TIMES[stage] * step, moved
                        )
                    rosenbrock_kernels.solve_stage(stage, slopes, rates, step, linear)
                end, error = rosenbrock_kernels.end_of_step(
                    y, slopes, step, self._rtol, self._atol
                )
            following = rosenbrock_kernels.next_size(step, error, rejected)
            if error <= 1.0:
                break
            rejected, self.step_size = True, following
        # A step cut short by the bound says little about the next one.
        self.step_size = max(self.step_size, following) if cut else following
        self._start = (t, y, self._now)
        self.t, self.y = bound if cut else t + step, end
        self._now = self._rates(self.t, end)

    def at(self, t: float) -> np.ndarray:
        """The state inside the last step."""
        if t == self.t:
            return self.y
        begin, y, rates = self._start
        step = self.t - begin
        return rosenbrock_kernels.between(
            (t - begin) / step, step, y, self.y, rates, self._now
        )

    def refresh(self) -> None:
        """The right-hand side jumped at t: evaluate it anew."""
        self._now = self._rates(self.t, self.y)

    def adjust(self) -> None:
        """Nothing: contacts that creep refer to nothing that changes."""


AUTOMATIC = "automatic"
ROSENBROCK = "rosenbrock"
NAMES = (AUTOMATIC, "dop853", "radau", ROSENBROCK, "cvode")
IMPLICIT = ("radau", ROSENBROCK, "cvode")
_DIFFERENCE = 1e-9
"""Difference for the Jacobian: far below the speed of soles that creep [m, m/s]."""


def differences(rhs: Rhs, positions: int = 0) -> Derivatives:
    """Derivatives by differences; none by time or of the leading ``positions``."""

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
        from scipy.integrate import Radau  # slow to load

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
        """Evaluate it anew, for the reason of :meth:`Dop853.adjust`."""
        self.refresh()


class Cvode:
    """SUNDIALS CVODE through scikit-sundae: BDF with a dense Newton iteration."""

    def __init__(self, problem: InitialValueProblem) -> None:
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
