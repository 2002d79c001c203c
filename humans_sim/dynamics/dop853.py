# SPDX-License-Identifier: Apache-2.0
"""Dormand and Prince's explicit Runge-Kutta method of order 8(5,3).

Coefficients and control of the step are those of scipy's DOP853; sums over the stages
are compiled, as the right-hand side of a robot costs no more than these in numpy.
"""

from __future__ import annotations

import math

import numpy as np

from humans_sim.dynamics import dop853_kernels as kernels
from humans_sim.dynamics.initial_value_problem import (
    InitialValueProblem,
    IntegrationError,
    Rhs,
)


class Dop853:
    """One step at a time, with the method's own polynomial between its ends.

    Args:
        problem: what to solve.

    Attributes:
        t: where the last step ended [s].
        y: the state there.
        step_size: size that the next step would have [s].
    """

    def __init__(self, problem: InitialValueProblem) -> None:
        """Start."""
        self._rates, self.t, self.y = problem.rhs, problem.t, problem.y
        self._tolerances = problem.rtol, np.asarray(problem.atol, dtype=float)
        self._whole_step = problem.whole_step
        self._begin, self._start = self.t, self.y
        n = len(self.y)
        self._stages = np.zeros((kernels.STAGES + 1 + kernels.EXTRA, n))
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
        self._now = self._stages[kernels.STAGES]
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
            for stage in range(1, kernels.STAGES + 1):
                state = kernels.stage_state(stage, y, stages, step)
                time = t + kernels.TIMES[stage] * step
                if stage == kernels.STAGES:
                    time = end_time
                stages[stage] = self._rates(time, state)
            error = kernels.step_error(y, state, stages, step, self._tolerances)
            size = kernels.next_size(step, error, rejected)
            if error < 1.0:
                return end_time, size, state, stages
            rejected = True

    def stiffness(self) -> float:
        """Size of the last step times the largest rate at which motions decay in it."""
        step = self.t - self._begin
        return float(kernels.stiffness(self._start, self.y, self._stages, step))

    def at(self, t: float) -> np.ndarray:
        """The state inside the last step, by the method's own interpolant."""
        if t == self.t:
            return self.y
        step = self.t - self._begin
        if self._inside is None:
            stages = self._stages
            for stage in range(kernels.STAGES + 1, len(stages)):
                state = kernels.stage_state(stage, self._start, stages, step)
                time = self._begin + kernels.TIMES[stage] * step
                stages[stage] = self._rates(time, state)
            self._inside = kernels.interpolant(self._start, self.y, stages, step)
        state = kernels.inside((t - self._begin) / step, self._start, self._inside)
        return np.asarray(state)

    def refresh(self) -> None:
        """The right-hand side jumped at t: evaluate it anew; the size is kept."""
        self._now = self._rates(self.t, self.y)

    def adjust(self) -> None:
        """Evaluate it anew: the next step begins with the rates of the last one.

        With old ones, the error of each step would be of first order in its size.
        """
        self.refresh()
