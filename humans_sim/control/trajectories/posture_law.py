# SPDX-License-Identifier: Apache-2.0
r"""A torque law that leads the joints along curves.

With the joints' block :math:`M_{jj}(q)` of the mass matrix,

.. math::
    \tau = M_{jj}(q)\bigl(\omega^2 (q^* - q) + 2 \omega (\dot q^* - \dot q)\bigr)

so that every joint follows alike, whatever it carries, with the same natural frequency
and critical damping. It knows neither gravity nor contacts: it is a law for motion in
free flight and for pushing off. As a smooth function of time and state it may be
evaluated inside the right-hand side
(:class:`~humans_sim.actuation.torque_law.TorqueLaw`), or be a controller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from humans_sim.control.trajectories.motion import Curve
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import ControlState
from humans_sim.models import Model

_STEP = 1e-4
"""Time between the two values of a curve whose difference is its rate [s]."""


class PostureLaw:
    """Torques that lead the joints along curves; joints without one stay at zero.

    Args:
        model: the model.
        curves: of joint angles, by the joint's name [rad].
        frequency: omega [rad/s].
    """

    def __init__(
        self, model: Model, curves: Mapping[str, Curve], frequency: float = 12.0
    ) -> None:
        """Take the curves."""
        if not (math.isfinite(frequency) and frequency > 0):
            raise ParameterError(f"frequency must be above zero, not {frequency}")
        for name in curves:
            if name not in model.joint_names:
                raise ParameterError(f"{model.name} has no joint called '{name}'")
        self._model, self._frequency = model, frequency
        self._curves = [
            (model.joint_names.index(name), curve) for name, curve in curves.items()
        ]

    def posture(self, t: float) -> np.ndarray:
        """Joint angles that are aimed at (njoints,) [rad]."""
        joints = np.zeros(len(self._model.joint_names))
        for place, curve in self._curves:
            joints[place] = curve.at(t)
        return joints

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Joint torques (njoints,) [N m]."""
        before, after = self.posture(t - _STEP), self.posture(t + _STEP)
        speeds = (after - before) / (2 * _STEP)
        omega = self._frequency
        missing = omega**2 * (self.posture(t) - state.q[7:])
        missing += 2 * omega * (speeds - state.v[6:])
        torques: np.ndarray = self._model.inertia(state.q)[6:, 6:] @ missing
        return torques
