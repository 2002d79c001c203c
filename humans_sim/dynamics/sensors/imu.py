# SPDX-License-Identifier: Apache-2.0
r"""Inertial measurement units: specific force and angular rate in their own frames.

.. math:: f = R^T (\ddot p - g), \qquad \omega = R^T \omega_{world}

p is the origin of the frame that carries the unit, and R its attitude: at rest it reads
9.81 m/s^2 upwards, in free fall nothing (REP 145). What f is depends on the method:

- event-driven, it is that of the instant, exact between events, from the left where
  forces jump. Impacts, whose acceleration is infinite, are not in it.
- with time stepping, which knows forces only as means, it is the mean since the reading
  before, along the axes of the unit at the reading; impacts are in it.

``velocity_change`` is in both the integral of f since the reading before, impacts
included: the difference of two velocities, minus what gravity did.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import ControlState
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.dynamics.sensors.sensor import Sensor, axes, measured_model
from humans_sim.dynamics.sensors.signal_errors import SignalErrors
from humans_sim.models.description import BASE_LINK
from humans_sim.results.signal import Signal


class ImuReading(NamedTuple):
    """What an inertial unit reads, along its own axes.

    Attributes:
        t: when [s].
        specific_force: (3,) [m/s^2].
        angular_rate: (3,) [rad/s].
        velocity_change: integral of the true specific force since the reading before,
            impacts included (3,) [m/s].
    """

    t: float
    specific_force: np.ndarray
    angular_rate: np.ndarray
    velocity_change: np.ndarray


class Imu(Sensor):
    """An inertial unit fixed to a frame of a model.

    Args:
        frame: a link or frame of the model; its origin and axes are those of the unit.
        period: between two readings [s].
        delay: from a reading to when it is known [s].
        accelerometer: errors of the specific force [m/s^2].
        gyroscope: errors of the angular rate [rad/s].
        seed: of the errors.
        name: by which controllers and records know it.

    Attributes:
        frame: the same.
        accelerometer: the same.
        gyroscope: the same.
    """

    def __init__(
        self,
        frame: str = BASE_LINK,
        period: float = 0.01,
        delay: float = 0.0,
        accelerometer: SignalErrors | None = None,
        gyroscope: SignalErrors | None = None,
        seed: int = 0,
        name: str = "imu",
    ) -> None:
        """Not attached yet."""
        super().__init__(name, period, delay, seed)
        self.frame = frame
        self.accelerometer = accelerometer or SignalErrors()
        self.gyroscope = gyroscope or SignalErrors()
        self._before: tuple[float, np.ndarray] | None = None

    def attach(self, system: ModelSystem | SceneSystem) -> None:
        """Fix it to its frame."""
        body = measured_model(system)
        model = body.pin
        if not model.existFrame(self.frame):
            raise ParameterError(
                f"{self.name}: {body.name} has no frame '{self.frame}'"
            )
        self._model, self._data = model, model.createData()
        self._index = model.getFrameId(self.frame)
        self._gravity = system.gravity

    def start(self) -> None:
        """Forget the reading before."""
        super().start()
        self._before = None
        self._force_errors = self._errors(self.accelerometer, 3)
        self._rate_errors = self._errors(self.gyroscope, 3)

    def measure(self, t: float, state: ControlState) -> ImuReading:
        """Specific force, angular rate and velocity change at a time [s]."""
        force, rate, change = self.true_values(t, state)
        return ImuReading(
            t,
            self._force_errors.reading(force),
            self._rate_errors.reading(rate),
            change,
        )

    def true_values(
        self, t: float, state: ControlState
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Specific force, angular rate and velocity change without errors."""
        model, data, index = self._model, self._data, self._index
        nv, acceleration = model.nv, state.acceleration
        smooth = np.zeros(nv) if acceleration is None else acceleration[:nv]
        pin.forwardKinematics(model, data, state.q[: model.nq], state.v[:nv], smooth)
        turn = pin.updateFramePlacement(model, data, index).rotation.T
        own, world = pin.ReferenceFrame.LOCAL, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        rate = np.array(pin.getFrameVelocity(model, data, index, own).angular)
        velocity = np.array(pin.getFrameVelocity(model, data, index, world).linear)
        since, change = 0.0, np.zeros(3)
        if self._before is not None:
            since = t - self._before[0]
            change = turn @ (velocity - self._before[1] - since * self._gravity)
        self._before = (t, velocity)
        if acceleration is not None:
            moved = pin.getFrameClassicalAcceleration(model, data, index, own).linear
            return moved - turn @ self._gravity, rate, change
        if since > 0.0:
            return change / since, rate, change
        # Before the first step nothing is known of forces: as at rest.
        return -turn @ self._gravity, rate, change

    def signals(self) -> tuple[Signal, ...]:
        """Specific force, angular rate, velocity change."""
        return (
            *axes(self.name, "specific_force", "m/s^2"),
            *axes(self.name, "angular_rate", "rad/s"),
            *axes(self.name, "velocity_change", "m/s"),
        )
