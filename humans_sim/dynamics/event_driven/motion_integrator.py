# SPDX-License-Identifier: Apache-2.0
"""The integrator of smooth motion: one step at a time, then look back into it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from humans_sim.dynamics import integrators
from humans_sim.dynamics.chart import Chart
from humans_sim.dynamics.event_driven.smooth_motion import Evaluation, SmoothMotion
from humans_sim.dynamics.state import State
from humans_sim.dynamics.stepper import Options
from humans_sim.dynamics.stiffness_switch import StiffnessSwitch
from humans_sim.dynamics.system import System

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

    Args:
        system: what moves.
        motion: its right-hand side.
        options: integrator and tolerances.
    """

    _chart: Chart

    def __init__(self, system: System, motion: SmoothMotion, options: Options) -> None:
        """Not started."""
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
        """What the forces refer to changed where the last step ended."""
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
