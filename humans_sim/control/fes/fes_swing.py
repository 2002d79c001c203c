# SPDX-License-Identifier: Apache-2.0
"""Stimulation that drives a knee to and fro."""

from __future__ import annotations

import math

import numpy as np

from humans_sim.actuation import FesMuscles
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.models import Model

_QUADRICEPS = "quadriceps"


class KneeSwing(Controller):
    """Drives a knee from one limit to the other and back, by pulses of full calcium.

    The quadriceps are stimulated until the knee is near its extended limit, then the
    hamstrings until it is near its flexed one.

    Args:
        model: the model.
        muscles: of one knee; the ones that it commands.
        recruitment: share of the fibres that a pulse recruits.
        margin: how near a limit the knee turns round [rad].
        period: time between two pulses [s]; 20 ms, assumed: the slowest train that
            keeps the calcium at its maximum.

    Attributes:
        period: time between two pulses [s].
    """

    def __init__(
        self,
        model: Model,
        muscles: FesMuscles,
        recruitment: float = 0.8,
        margin: float = 0.02,
        period: float = 0.02,
    ) -> None:
        """Begin with the quadriceps."""
        if len(muscles.joint_names) != 1 or len(muscles.muscle_names) != 2:
            raise ParameterError("this controller drives the two muscles of one knee")
        joint = model.joint_names.index(muscles.joint_names[0])
        self._joint, self._margin, self.period = joint, margin, period
        self._limits = (model.lower_limits[joint], model.upper_limits[joint])
        self._charge = muscles.stimulator.charge(recruitment)
        self._extensor = muscles.muscle_names[0].endswith(_QUADRICEPS)
        self._extended = 1 if abs(self._limits[1]) < abs(self._limits[0]) else 0
        self._goal, self._last = self._extended, -math.inf

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Pulses for the two muscles [A s]."""
        if t < self._last:  # another run
            self._goal = self._extended
        self._last, angle = t, state.q[7 + self._joint]
        if abs(angle - self._limits[self._goal]) < self._margin:
            self._goal = 1 - self._goal
        pulses = np.zeros(2)
        extends = self._goal == self._extended
        pulses[0 if extends == self._extensor else 1] = self._charge
        return pulses
