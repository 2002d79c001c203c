"""Joint torques exactly as commanded, held until the next command."""

from __future__ import annotations

import numpy as np

from humans_sim.actuation.commanded import Commanded, Law
from humans_sim.models import Model


class IdealTorque(Commanded):
    """Torque sources in all joints of a model; the command is (njoints,) [N m].

    Args:
        model: the model.
        law: control law called by the actuation itself, or None.
        period: time between its calls [s].
        delay: from a command to its effect [s].
    """

    def __init__(
        self,
        model: Model,
        law: Law | None = None,
        period: float = 0.005,
        delay: float = 0.0,
    ) -> None:
        """No torque until the first command."""
        joints = len(model.joint_names)
        super().__init__(joints, "joint torques [N m]", law, period, delay)
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
        return self._force, z
