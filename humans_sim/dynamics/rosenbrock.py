# SPDX-License-Identifier: Apache-2.0
"""A linearly implicit integrator: stiff motion at moderate accuracy, at little cost.

Rang and Angermann's Rosenbrock-W method ROS34PW2: four stages, order 3, L-stable and
stiffly accurate, and of order 3 with any matrix in place of the Jacobian. So the stiff
part of the derivatives is enough: friction over creep speed, damping and gain of
drives. A step costs four right-hand sides, one Jacobian and one factorisation, and has
no iterations that could fail.
"""

from __future__ import annotations

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics import rosenbrock_kernels as kernels
from humans_sim.dynamics.initial_value_problem import (
    InitialValueProblem,
    IntegrationError,
)

_FIRST_STEP = 1e-3


class Rosenbrock:
    """One step at a time, with a cubic between its ends.

    Args:
        problem: with the stiff part of the derivatives, at least.

    Attributes:
        t: where the last step ended [s].
        y: the state there.
        step_size: size that the next step would have [s].
    """

    def __init__(self, problem: InitialValueProblem) -> None:
        """Start."""
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
        slopes = np.empty((kernels.STAGES, len(y)))
        rejected = False
        while True:
            cut = self.step_size >= bound - t
            step = bound - t if cut else self.step_size
            if step < kernels.SMALLEST and not cut:
                raise IntegrationError("the step size went to zero")
            factors, order, regular = kernels.factorise(jacobian, step)
            error = np.inf
            if regular:
                linear = jacobian, by_time, factors, order
                for stage in range(kernels.STAGES):
                    rates = self._now
                    if stage:
                        moved = kernels.stage_state(stage, y, slopes, step)
                        rates = self._rates(t + kernels.TIMES[stage] * step, moved)
                    kernels.solve_stage(stage, slopes, rates, step, linear)
                end, error = kernels.end_of_step(
                    y, slopes, step, self._rtol, self._atol
                )
            following = kernels.next_size(step, error, rejected)
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
        state: np.ndarray = kernels.between(
            (t - begin) / step, step, y, self.y, rates, self._now
        )
        return state

    def refresh(self) -> None:
        """The right-hand side jumped at t: evaluate it anew."""
        self._now = self._rates(self.t, self.y)

    def adjust(self) -> None:
        """Nothing: contacts that creep refer to nothing that changes."""
