# SPDX-License-Identifier: Apache-2.0
"""Joint torques of a law that is evaluated inside the right-hand side.

The manual's module ``NoDynamics`` (sections 6.1.3 and 6.3.2): the actuation has no
state and no events, and the control law is called wherever the integrator evaluates the
equations of motion. Between two events the torques are then smooth in time, unlike
those of a controller with a period, which are held.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from humans_sim.core.errors import ConfigurationError
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.controller import ControlState
from humans_sim.models import Model


class TorqueLaw(Actuation):
    """Torques in all joints of a model, at every time those of a law.

    The law has the form of a controller, so that the same function may be either; it
    must be a smooth function of time and state, for it is called at trial states in any
    order. ``state.sample`` is not there: contact forces depend on the torques.

    Args:
        model: the model.
        law: called as ``law(t, state)``; gives joint torques (njoints,) [N m].
    """

    def __init__(
        self, model: Model, law: Callable[[float, ControlState], np.ndarray]
    ) -> None:
        """Evaluate a law; nothing is called yet."""
        self._law, self._names = law, tuple(model.joint_names)

    def command(self, t: float, command: Any) -> None:
        """Refused: the law alone gives torques."""
        raise ConfigurationError("a TorqueLaw takes no commands: leave controller out")

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The law at this time and state."""
        torques = np.asarray(self._law(t, ControlState(q, v, z)), dtype=float)
        if torques.shape != (len(self._names),) or not np.isfinite(torques).all():
            raise ConfigurationError(
                f"the law gives {len(self._names)} finite joint torques [N m], not "
                f"shape {torques.shape} at {t:g} s"
            )
        return np.concatenate([np.zeros(6), torques]), z
