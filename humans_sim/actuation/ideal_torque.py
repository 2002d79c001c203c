"""Joint torques exactly as commanded, held until the next command."""

from __future__ import annotations

import numpy as np

from humans_sim.dynamics.hooks import Actuation
from humans_sim.errors import ParameterError
from humans_sim.models import Model


class IdealTorque(Actuation):
    """Torque sources in all joints of a model; the command is (njoints,) [N m]."""

    def __init__(self, model: Model) -> None:
        """No torque until the first command."""
        self._joints = len(model.joint_names)
        self._force = np.zeros(model.nv)

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Zero torque."""
        self._force = np.zeros_like(self._force)
        return np.zeros(0)

    def command(self, t: float, command: np.ndarray) -> None:
        """Hold these joint torques from now on."""
        torques = np.asarray(command, dtype=float)
        if torques.shape != (self._joints,) or not np.isfinite(torques).all():
            raise ParameterError(
                f"{self._joints} finite joint torques are wanted, not {command}"
            )
        self._force = np.concatenate([np.zeros(6), torques])

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The held torques."""
        return self._force, z
