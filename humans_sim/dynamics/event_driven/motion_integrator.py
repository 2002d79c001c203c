# SPDX-License-Identifier: Apache-2.0
"""The integrator of smooth motion, which changes its method where motion is stiff.

It makes one step at a time, and can look back into it.

Contacts that slide by micrometres a second are stiff: friction turns with the velocity,
at a rate of friction over speed. An explicit method then takes steps of 0.1 us for a
motion that hardly moves. As the manual's LSODAR does, the integrator notices and goes
on by an implicit method for a while.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from humans_sim.dynamics import integrators
from humans_sim.dynamics.event_driven.smooth_motion import Evaluation, SmoothMotion
from humans_sim.dynamics.integrators import (
    Dop853,
    ImplicitRadau,
    InitialValueProblem,
    differences,
)
from humans_sim.dynamics.stepper import Options
from humans_sim.dynamics.system import Chart, State, System

_STABLE = 4.0
"""Step size times stiffness that the explicit method can just take (Hairer: 6.1)."""
_STIFF_STEPS = 6
"""Stiff steps in a row after which the implicit method takes over."""
_IMPLICIT_STEPS = 100
"""Steps of the implicit method after which the explicit one is tried again."""
_SHORT = 2e-4
"""Steps longer than this are never stiff: the implicit method would save nothing."""


class StiffnessSwitch:
    """Dormand and Prince's explicit method, and Radau's implicit one where it is stiff.

    Stiffness is that of Hairer's DOP853: how much the right-hand side differs between
    two stages at the end of the step, over how much these differ.

    Args:
        positions: number of leading states on which nothing stiff depends.
    """

    def __init__(self, problem: InitialValueProblem, positions: int = 0) -> None:
        derivatives = differences(problem.rhs, positions)
        self._problem = problem._replace(derivatives=derivatives)
        self._method: Dop853 | ImplicitRadau = Dop853(problem)
        self.t, self.y = problem.t, problem.y
        self._stiff_steps = self._implicit_steps = 0

    @property
    def step_size(self) -> float:
        """Size that the next step would have [s]."""
        return self._method.step_size

    @property
    def implicit(self) -> bool:
        """Whether the implicit method is at work."""
        return self._implicit_steps > 0

    def step(self, bound: float) -> None:
        """Make one step, not beyond ``bound``."""
        if self._stiff_steps >= _STIFF_STEPS:
            self._change(ImplicitRadau)
            self._stiff_steps, self._implicit_steps = 0, _IMPLICIT_STEPS
        elif self._implicit_steps == 1:
            self._change(Dop853)
            self._implicit_steps = 0
        begin = self.t
        self._method.step(bound)
        self.t, self.y = self._method.t, self._method.y
        if self._implicit_steps:
            self._implicit_steps -= 1
        elif self.t < bound and isinstance(self._method, Dop853):
            stiff = self.t - begin < _SHORT and self._method.stiffness() > _STABLE
            self._stiff_steps = self._stiff_steps + 1 if stiff else 0

    def _change(self, method: type[Dop853] | type[ImplicitRadau]) -> None:
        """Continue by another method from where the last step ended."""
        self._method = method(
            self._problem._replace(t=self.t, y=self.y, first_step=self.step_size)
        )

    def at(self, t: float) -> np.ndarray:
        """The state inside the last step."""
        return self._method.at(t)

    def refresh(self) -> None:
        """Evaluate the right-hand side anew."""
        self._method.refresh()

    def adjust(self) -> None:
        """Evaluate it anew."""
        self._method.adjust()


_FIRST_STEP = 1e-3
"""First step of a run [s]; the integrator lengthens or shortens it at once."""


class Instant(NamedTuple):
    """A state inside the last step."""

    q: np.ndarray
    v: np.ndarray
    z: np.ndarray


class MotionIntegrator:
    """Integrates smooth motion in coordinates around the state it started at.

    It is started after every event, and remembers the size of its steps.
    """

    _chart: Chart

    def __init__(self, system: System, motion: SmoothMotion, options: Options) -> None:
        self._system, self._motion, self._options = system, motion, options
        self._first_step: float | None = _FIRST_STEP
        self._solver: integrators.Integrator | None = None

    @property
    def running(self) -> bool:
        """Whether it is started."""
        return self._solver is not None

    @property
    def t(self) -> float:
        """Where the last step ended [s]."""
        return self._started.t

    @property
    def step_size(self) -> float:
        """Size that the next step would have, as far as it is known [s]."""
        return self._started.step_size or math.inf

    @property
    def worn(self) -> bool:
        """Whether the last step ended where other coordinates are better."""
        return self._chart.worn(self._started.y[: self._system.nv])

    def start(self, state: State) -> None:
        """Start at a state."""
        self._chart = chart = self._system.chart(state.q)
        y = np.concatenate([np.zeros(self._system.nv), state.v, state.z])

        def derivative(t: float, y: np.ndarray) -> np.ndarray:
            return self._motion.derivative(chart, t, y)

        def derivatives(t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return self._motion.derivatives(chart, t, y)

        def whole_step(
            t: float, y: np.ndarray, rates: np.ndarray, bound: float, size: float
        ) -> tuple[float, float, np.ndarray, np.ndarray] | None:
            start = t, y, rates
            return self._motion.whole_step(chart, tolerances, start, bound, size)

        tolerances = self._options.rtol, np.full(len(y), self._options.atol)
        problem = integrators.InitialValueProblem(
            derivative,
            state.t,
            y,
            *tolerances,
            self._first_step,
            derivatives if self._motion.creep_speed is not None else None,
            whole_step,
        )
        if self._options.integrator == integrators.AUTOMATIC:
            self._solver = StiffnessSwitch(problem, self._system.nv)
        else:
            self._solver = integrators.start(self._options.integrator, problem)

    def stop(self) -> None:
        """Forget the last step; only its size is remembered."""
        if self._solver is not None:
            self._first_step = self._solver.step_size
        self._solver = None

    def refresh(self) -> Evaluation:
        """The torques jumped where the last step ended: evaluate them anew."""
        self._started.refresh()
        return self._motion.last

    def adjust(self) -> None:
        """The reference of the forces changed where the last step ended."""
        self._started.adjust()

    def step(self, start: float, bound: float) -> None:
        """Make one step from the time ``start``, not beyond ``bound``."""
        self._motion.lowest_margin = (math.inf, math.inf)
        self._started.step(min(bound, start + self._options.max_step))

    def at(self, t: float) -> Instant:
        """The state at a time inside the last step."""
        y, nv = self._started.at(t), self._system.nv
        return Instant(self._chart.configuration(y[:nv]), y[nv : 2 * nv], y[2 * nv :])

    def evaluate_at(self, t: float) -> Evaluation:
        """The right-hand side at a time inside the last step."""
        self._motion.derivative(self._chart, t, self._started.at(t))
        return self._motion.last

    def take(self, state: State, t: float) -> None:
        """Set a state to a time inside the last step."""
        instant = self.at(t)
        state.t, state.q = t, instant.q
        state.v, state.z = instant.v.copy(), instant.z.copy()

    @property
    def _started(self) -> integrators.Integrator:
        assert self._solver is not None
        return self._solver
