# SPDX-License-Identifier: Apache-2.0
"""An integrator that changes its method where motion is stiff.

Contacts that slide by micrometres a second are stiff: friction turns with the velocity,
at a rate of friction over speed. An explicit method then takes steps of 0.1 us for a
motion that hardly moves. As the manual's LSODAR does, the integrator notices and goes
on by an implicit method for a while.
"""

from __future__ import annotations

import numpy as np

from humans_sim.dynamics.integrators import (
    Dop853,
    ImplicitRadau,
    InitialValueProblem,
    differences,
)

_STABLE = 4.0
"""Step size times stiffness that the explicit method can just take (Hairer: 6.1)."""
_STIFF_STEPS = 6
"""Stiff steps in a row after which the implicit method goes on."""
_IMPLICIT_STEPS = 100
"""Steps of the implicit method after which the explicit one is tried again."""
_SHORT = 2e-4
"""Steps longer than this are never stiff: the implicit method would save nothing."""


class StiffnessSwitch:
    """Dormand and Prince's explicit method, and Radau's implicit one where it is stiff.

    Stiffness is that of Hairer's DOP853: how much the right-hand side differs between
    two stages at the end of the step, over how much these differ.

    Args:
        problem: what to solve.
        positions: number of leading states on which nothing stiff depends.
    """

    def __init__(self, problem: InitialValueProblem, positions: int = 0) -> None:
        """Start with the explicit method."""
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
