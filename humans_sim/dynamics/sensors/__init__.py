# SPDX-License-Identifier: Apache-2.0
"""Sensors of a simulated robot: inertial units, feet, joint encoders."""

from humans_sim.dynamics.sensors.foot_sensor import FootReading, FootSensor
from humans_sim.dynamics.sensors.imu import Imu, ImuReading
from humans_sim.dynamics.sensors.joint_encoders import JointEncoders, JointReading
from humans_sim.dynamics.sensors.sensor import Sensor
from humans_sim.dynamics.sensors.sensor_file import read_sensors
from humans_sim.dynamics.sensors.signal_errors import SignalErrors

__all__ = [
    "FootReading",
    "FootSensor",
    "Imu",
    "ImuReading",
    "JointEncoders",
    "JointReading",
    "Sensor",
    "SignalErrors",
    "read_sensors",
]
