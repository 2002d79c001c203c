# SPDX-License-Identifier: Apache-2.0
"""Encoders of joint angles; speeds are differences of what they read, or measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.dynamics.controller import ControlState
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.dynamics.sensors.sensor import Sensor, measured_model
from humans_sim.dynamics.sensors.signal_errors import SignalErrors
from humans_sim.results.signal import Signal


class JointReading(NamedTuple):
    """What the encoders of all joints read.

    Attributes:
        t: when [s].
        angles: (njoints,) [rad].
        speeds: as measured; otherwise their changes since the reading before, over the
            time since, and zero at the first one (njoints,) [rad/s].
    """

    t: float
    angles: np.ndarray
    speeds: np.ndarray


class JointEncoders(Sensor):
    """Encoders in all joints of a model.

    Args:
        period: between two readings [s].
        delay: from a reading to when it is known [s].
        angle: errors of the angles; ``resolution`` is a step of the encoder [rad].
        speed: errors of the speeds of joints that have tachometers [rad/s]; None: there
            are none, and speeds are differences of the angles.
        seed: of the errors.
        name: by which controllers and records know them.
    """

    def __init__(
        self,
        period: float = 0.01,
        delay: float = 0.0,
        angle: SignalErrors | None = None,
        speed: SignalErrors | None = None,
        seed: int = 0,
        name: str = "joints",
    ) -> None:
        """Not attached yet."""
        super().__init__(name, period, delay, seed)
        self._angle, self._speed = angle or SignalErrors(), speed
        self._joints: tuple[str, ...] = ()
        self._before: JointReading | None = None

    def attach(self, system: ModelSystem | SceneSystem) -> None:
        """Note the joints."""
        self._joints = measured_model(system).joint_names

    def start(self) -> None:
        """Forget the reading before."""
        super().start()
        self._before = None
        self._source = self._errors(self._angle, len(self._joints))
        self._tachometers = None
        if self._speed is not None:
            self._tachometers = self._errors(self._speed, len(self._joints))

    def measure(self, t: float, state: ControlState) -> JointReading:
        """Angles and speeds at a time [s]."""
        count = len(self._joints)
        angles = self._source.reading(state.q[7 : 7 + count])
        speeds, before = np.zeros(count), self._before
        if self._tachometers is not None:
            speeds = self._tachometers.reading(state.v[6 : 6 + count])
        elif before is not None and t > before.t:
            speeds = (angles - before.angles) / (t - before.t)
        self._before = JointReading(t, angles, speeds)
        return self._before

    def signals(self) -> tuple[Signal, ...]:
        """Angles, then speeds."""
        return (
            *(Signal(f"{self.name}/{joint}/angle", "rad") for joint in self._joints),
            *(Signal(f"{self.name}/{joint}/speed", "rad/s") for joint in self._joints),
        )
