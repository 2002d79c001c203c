# SPDX-License-Identifier: Apache-2.0
"""What a simulation offers to users who bring their own integrator."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from humans_sim.core.errors import ConfigurationError
from humans_sim.dynamics.event_driven.state_equations import StateEquations
from humans_sim.dynamics.stepper import Stepper
from humans_sim.dynamics.system import System


class OwnIntegration(ABC):
    """The part of a simulation that gives its equations away."""

    system: System
    _equations: StateEquations | None = None

    @abstractmethod
    def start(
        self, q: np.ndarray, v: np.ndarray | None = None, t: float = 0.0
    ) -> Stepper:
        """A stepper at the given state."""

    def equations(
        self, q: np.ndarray, v: np.ndarray | None = None, t: float = 0.0
    ) -> StateEquations:
        """Right-hand side, event functions and event handling from a state on.

        Contacts that touch are closed, impacts happen, and the controller, where it has
        a period, is called. From now on :meth:`rates` and :meth:`signals` are those of
        these equations. A :class:`Push` of the simulation does not act in them.

        Args:
            q: configuration.
            v: velocity; zero unless given.
            t: [s].

        Raises:
            ParameterError: the method is not ``event_driven``, or contacts creep.
        """
        self._equations = StateEquations(self.start(q, v, t))
        return self._equations

    def rates(self, t: float, x: np.ndarray) -> np.ndarray:
        """Derivative of x = (q, v, z) by time (the manual's CompleteDynamics).

        The contacts are those of the :meth:`equations` begun last; where there are none
        yet, they begin at (t, x).
        """
        return self._begun(t, x).rates(t, x)

    def signals(self, t: float, x: np.ndarray) -> np.ndarray:
        """Functions whose fall to zero is an event (the manual's EventDetection)."""
        return self._begun(t, x).signals(t, x)

    def _begun(self, t: float, x: np.ndarray) -> StateEquations:
        if self._equations is not None:
            return self._equations
        nq, nv = self.system.nq, self.system.nv
        x = np.asarray(x, dtype=float)
        if x.ndim != 1 or x.size < nq + nv:
            raise ConfigurationError(
                f"the state begins with {nq} positions and {nv} velocities, not shape "
                f"{x.shape}"
            )
        return self.equations(x[:nq], x[nq : nq + nv], t)
