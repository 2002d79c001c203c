# SPDX-License-Identifier: Apache-2.0
"""The sensors of the node ``dynamics``: inertial unit, encoders, one in each sole.

They measure at each state, as it is published; a simulation's own
:class:`~humans_sim.dynamics.sensor.SensorClock` would make each reading
an event, and a run in lock-step could not be that of the library to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.sensor import SignalErrors, measured_model
from humans_sim.dynamics.sensors import (
    FootReading,
    FootSensor,
    Imu,
    ImuReading,
    JointEncoders,
    JointReading,
)
from humans_sim.dynamics.soles import SoleLoad
from humans_sim.dynamics.stepper import Stepper
from humans_sim.models import Model
from humans_sim.models.description import BASE_LINK

_TEXTS = {
    "noise": "density of white noise [{0}/sqrt(Hz)]",
    "bias": "deviation of the bias at the start [{0}]",
    "bias_walk": "density of the bias's random walk [{0}/s/sqrt(Hz)]",
    "scale": "deviation of the error of scale, relative",
    "resolution": "step of rounding; 0: none [{0}]",
    "range": "largest reading; 0: none [{0}]",
}


class Readings(NamedTuple):
    """Readings of the sensors at one state.

    Attributes:
        attitude: of its frame, quaternion (x, y, z, w); without error.
    """

    imu: ImuReading
    attitude: np.ndarray
    joints: JointReading
    feet: list[FootReading]


class NodeSensors:
    """An inertial unit, encoders and feet, read at each state.

    Args:
        feet: one for each sole of the model, in its order.
    """

    _model: Model

    def __init__(
        self, imu: Imu, encoders: JointEncoders, feet: Sequence[FootSensor]
    ) -> None:
        self.imu, self.encoders, self.feet = imu, encoders, tuple(feet)

    @classmethod
    def declare(cls, given: Any, model: Model, period: float) -> NodeSensors:
        """Sensors by the parameters of a node; states are a period apart [s]."""
        seed = given.count("sensor_seed", 0, "of the errors of sensors")
        imu = Imu(
            given.text("imu.frame", BASE_LINK, "frame that carries the unit"),
            period,
            accelerometer=_errors(given, "imu.accelerometer", "m/s^2"),
            gyroscope=_errors(given, "imu.gyroscope", "rad/s"),
            seed=seed,
        )
        force = _errors(given, "feet.force", "N")
        torque = _errors(given, "feet.torque", "N m")
        feet = [
            FootSensor(sole.name, period, force=force, torque=torque, seed=seed + 1 + k)
            for k, sole in enumerate(model.soles)
        ]
        angle = _errors(given, "joints.angle", "rad")
        speed = _errors(given, "joints.speed", "rad/s")
        measured = given.flag(
            "joints.tachometers",
            False,
            "speeds are measured, not differences of angles",
        )
        own_seed = given.count(
            "joints.seed", seed + 1 + len(feet), "of the errors of encoders"
        )
        tachometers = speed if measured else None
        encoders = JointEncoders(period, 0.0, angle, tachometers, own_seed)
        return cls(imu, encoders, feet)

    def start(self, system: ModelSystem) -> None:
        """A run of a system begins: of a model, alone or among free bodies."""
        self._model = measured_model(system)
        for sensor in (self.imu, self.encoders, *self.feet):
            sensor.attach(system)
            sensor.start()

    def read(self, run: Stepper, loads: Sequence[SoleLoad]) -> Readings:
        """Measure."""
        state = run.control_state()
        return Readings(
            self.imu.measure(run.t, state),
            self._attitude(run.q),
            self.encoders.measure(run.t, state),
            [
                foot.reading_of(run.t, load.force, load.moment)
                for foot, load in zip(self.feet, loads, strict=True)
            ],
        )

    def _attitude(self, q: np.ndarray) -> np.ndarray:
        """Quaternion of the unit's frame; the base's own is taken as it is.

        By way of a matrix its last digits would change, and a walk over topics would
        not be that of the library.
        """
        if self.imu.frame == BASE_LINK:
            return q[3:7].copy()
        pose = self._model.frame_pose(q[: self._model.nq], self.imu.frame)
        return np.array(pin.Quaternion(pose.rotation).coeffs())

    def covariances(self) -> tuple[float, float]:
        """Variances of acceleration and angular velocity, each axis alike."""
        imu = self.imu
        return (
            imu.accelerometer.variance(imu.period),
            imu.gyroscope.variance(imu.period),
        )


def _errors(given: Any, prefix: str, unit: str) -> SignalErrors:
    numbers = {
        field.name: given.number(
            f"{prefix}.{field.name}", 0.0, _TEXTS[field.name].format(unit), 0.0
        )
        for field in fields(SignalErrors)
    }
    if not numbers["range"]:
        del numbers["range"]
    return SignalErrors(**numbers)
