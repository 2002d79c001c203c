# SPDX-License-Identifier: Apache-2.0
"""Joint torques exactly as commanded, held until the next command."""

from __future__ import annotations

import numpy as np

from humans_sim.actuation.delayed_actuation import DelayedActuation, StateSignal
from humans_sim.actuation.state import ActuatorState, CommandKind
from humans_sim.dynamics.drive_kernels import DriveTable, held_forces
from humans_sim.models import Model

_NO_STATES = np.zeros(0)


class IdealTorque(DelayedActuation):
    """Torque sources in all joints of a model; the command is (njoints,) [N m].

    Args:
        model: the model.
        delay: from a command to its effect [s].

    Attributes:
        names: of the joints.
    """

    KIND = "torques"
    SIGNALS = (
        StateSignal("command", "command", "N m"),
        StateSignal("torque", "applied", "N m"),
    )

    def __init__(self, model: Model, delay: float = 0.0) -> None:
        """No torque until the first command."""
        self.names = tuple(model.joint_names)
        super().__init__(len(self.names), "joint torques [N m]", delay)
        self._force = np.zeros(model.nv)

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return self.names

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
        return self._force, z

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
        torques = self._force[6:]
        received = self.pending[-1][1] if self.pending else torques
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
