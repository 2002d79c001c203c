# SPDX-License-Identifier: Apache-2.0
"""Ideal joint torques: as commanded and held, or of a torque law.

A law is evaluated inside the right-hand side. It is the manual's module ``NoDynamics``
(sections 6.1.3 and 6.3.2): the actuation has no state and no events, and the control
law is called wherever the integrator evaluates the equations of motion. Between two
events the torques are then smooth in time, unlike those of a controller with a period,
which are held.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from humans_sim.actuation.delayed_actuation import (
    ActuatorState,
    CommandKind,
    DelayedActuation,
    StateSignal,
)
from humans_sim.core.errors import ConfigurationError
from humans_sim.dynamics.actuation_interface import Actuation, DriveTable, held_forces
from humans_sim.dynamics.controller import ControlState
from humans_sim.models import Model

_NO_STATES = np.zeros(0)


class IdealTorque(DelayedActuation):
    """Torque sources in all joints of a model; the command is (njoints,) [N m].

    Args:
        delay: from a command to its effect [s].
    """

    KIND = "torques"
    SIGNALS = (
        StateSignal("command", "command", "N m"),
        StateSignal("torque", "applied", "N m"),
    )

    def __init__(self, model: Model, delay: float = 0.0) -> None:
        """No torque until the first command."""
        self.names = tuple(model.joint_names)
        super().__init__(self.names, "joint torques [N m]", delay)
        self._force = np.zeros(model.nv)

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Zero torque."""
        self._force = np.zeros_like(self._force)
        return super().initialise(t, q, v)

    def apply(self, t: float, command: np.ndarray) -> None:
        """Hold these joint torques from now on."""
        self._force = np.concatenate([np.zeros(6), command])

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The held torques."""
        return self._force, _NO_STATES

    def drives(self) -> DriveTable | None:
        """The same torques as a table for kernels."""
        if type(self).dynamics is not IdealTorque.dynamics:
            return None
        return held_forces(self._force)

    def state_columns(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """The fields of ``SIGNALS``, without the states around them."""
        torques = self._force[6:]
        return (self.pending[-1][1] if self.pending else torques), torques

    def states(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray = _NO_STATES
    ) -> tuple[ActuatorState, ...]:
        """State of every torque source."""
        received, torques = self.state_columns(t, q, v, z)
        return tuple(
            ActuatorState(
                name=name,
                kind=CommandKind.TORQUE,
                command=float(received[j]),
                applied=float(torques[j]),
                position=float(q[7 + j]),
                velocity=float(v[6 + j]),
                torque=float(torques[j]),
            )
            for j, name in enumerate(self.names)
        )


class TorqueLaw(Actuation):
    """Torques in all joints of a model, at every time those of a law.

    The law has the form of a controller, so that the same function may be either; it
    must be a smooth function of time and state, for it is called at trial states in any
    order. ``state.sample`` is not there: contact forces depend on the torques.

    Args:
        law: called as ``law(t, state)``; gives joint torques (njoints,) [N m].
    """

    def __init__(
        self, model: Model, law: Callable[[float, ControlState], np.ndarray]
    ) -> None:
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
        return np.concatenate([np.zeros(6), torques]), _NO_STATES
