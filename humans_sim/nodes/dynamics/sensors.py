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

from humans_sim.dynamics.controller import ControlState
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scene_bodies import RobotPart
from humans_sim.dynamics.sensor import SignalErrors
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

    _part: RobotPart

    def __init__(
        self, imu: Imu, encoders: JointEncoders, feet: Sequence[FootSensor]
    ) -> None:
        self.imu, self.encoders, self.feet = imu, encoders, tuple(feet)

    @classmethod
    def declare(
        cls, given: Any, models: Sequence[Model], period: float
    ) -> list[NodeSensors]:
        """Sensors of each robot by the parameters of a node.

        States are a period apart [s]. All have errors alike, with seeds of their own.
        """
        seed = given.count("sensor_seed", 0, "of the errors of sensors")
        frame = given.text("imu.frame", BASE_LINK, "frame that carries the unit")
        accelerometer = _errors(given, "imu.accelerometer", "m/s^2")
        gyroscope = _errors(given, "imu.gyroscope", "rad/s")
        force = _errors(given, "feet.force", "N")
        torque = _errors(given, "feet.torque", "N m")
        angle = _errors(given, "joints.angle", "rad")
        speed = _errors(given, "joints.speed", "rad/s")
        measured = given.flag(
            "joints.tachometers",
            False,
            "speeds are measured, not differences of angles",
        )
        first = 1 + len(models[0].soles)
        own_seed = given.count("joints.seed", seed + first, "of the errors of encoders")
        tachometers = speed if measured else None
        sensors = []
        for model in models:
            feet = [
                FootSensor(sole.name, period, 0.0, force, torque, seed=seed + 1 + k)
                for k, sole in enumerate(model.soles)
            ]
            imu = Imu(frame, period, 0.0, accelerometer, gyroscope, seed)
            encoders = JointEncoders(period, 0.0, angle, tachometers, own_seed)
            sensors.append(cls(imu, encoders, feet))
            used = 2 + len(feet)
            seed, own_seed = seed + used, own_seed + used
        return sensors

    def start(self, system: ModelSystem, part: RobotPart) -> None:
        """A run of a system begins, with the robot as a part of it."""
        self._part = part
        self.imu.attach(system, part)
        self.encoders.attach(system, part)
        for sensor in (self.imu, self.encoders, *self.feet):
            sensor.start()

    def read(self, run: Stepper, loads: Sequence[SoleLoad]) -> Readings:
        """Measure."""
        whole, part = run.control_state(), self._part
        rates = whole.acceleration
        if rates is not None:
            rates = rates[part.v]
        state = ControlState(
            whole.q[part.q], whole.v[part.v], acceleration=lambda: rates
        )
        return Readings(
            self.imu.measure(run.t, state),
            self._attitude(state.q),
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
        pose = self._part.robot.model.frame_pose(q, self.imu.frame)
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
