# SPDX-License-Identifier: Apache-2.0
"""The sensors of the node ``dynamics``, without its messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.soles import Soles
from humans_sim.nodes.dynamics.sensors import NodeSensors

PERIOD = 0.01


class Given:
    """Parameters as a launch file would give them."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values, self.declared = values, dict[str, Any]()

    def _declare(self, name: str, default: Any, description: str) -> Any:
        assert description
        self.declared[name] = self.values.get(name, default)
        return self.declared[name]

    def number(self, name: str, default: float, description: str, low: float) -> float:
        """A number."""
        return float(self._declare(name, default, description))

    def count(self, name: str, default: int, description: str) -> int:
        """A whole number."""
        return int(self._declare(name, default, description))

    def text(self, name: str, default: str, description: str) -> str:
        """A text."""
        return str(self._declare(name, default, description))

    def flag(self, name: str, default: bool, description: str) -> bool:
        """True or false."""
        return bool(self._declare(name, default, description))


def readings(model: hs.Model, values: Mapping[str, Any]) -> tuple[Any, NodeSensors]:
    """What is read of a robot that stands locked, after some periods."""
    (sensors,) = NodeSensors.declare(Given(values), [model], PERIOD)
    simulation = hs.Simulation(model, locked=["*"])
    assert isinstance(simulation.system, ModelSystem)
    run, soles = simulation.start(model.neutral()), Soles(simulation.system)
    sensors.start(simulation.system, simulation.system.robots[0])
    for k in range(4):
        run.advance(k * PERIOD)
        sample = run.sample()
        felt = sensors.read(run, soles.loads(sample, soles.points(sample)))
    return felt, sensors


def test_without_errors(khr1: hs.Model) -> None:
    """Gravity upwards, the attitude of the base, the weight on both feet."""
    felt, sensors = readings(khr1, {})
    np.testing.assert_allclose(felt.imu.specific_force, [0, 0, 9.81], atol=1e-6)
    np.testing.assert_allclose(felt.attitude, [0, 0, 0, 1], atol=1e-9)
    assert felt.imu.t == pytest.approx(3 * PERIOD)
    load = sum(foot.force[2] for foot in felt.feet)
    assert load == pytest.approx(khr1.mass * 9.81, rel=1e-6)
    assert sensors.covariances() == (0.0, 0.0)


def test_errors_and_covariances(khr1: hs.Model) -> None:
    """Parameters reach the readings, and the covariances say how large they are."""
    felt, sensors = readings(
        khr1,
        {
            "imu.frame": "l_foot",
            "imu.accelerometer.noise": 0.05,
            "imu.gyroscope.bias": 0.2,
            "feet.force.resolution": 0.5,
            "sensor_seed": 4,
        },
    )
    assert sensors.covariances() == pytest.approx((0.05**2 / PERIOD, 0.04))
    assert np.abs(felt.imu.angular_rate).max() > 1e-3
    for foot in felt.feet:
        np.testing.assert_allclose(foot.force % 0.5 % 0.5, 0.0, atol=1e-12)
    again, _ = readings(khr1, {"imu.gyroscope.bias": 0.2, "sensor_seed": 4})
    other, _ = readings(khr1, {"imu.gyroscope.bias": 0.2, "sensor_seed": 5})
    assert not np.array_equal(again.imu.angular_rate, other.imu.angular_rate)


def test_every_error_is_a_parameter(khr1: hs.Model) -> None:
    """All of them are declared, for unit and feet; the range is off unless given."""
    given = Given({})
    NodeSensors.declare(given, [khr1], PERIOD)
    for signal in ("imu.accelerometer", "imu.gyroscope", "feet.force", "feet.torque"):
        for error in ("noise", "bias", "bias_walk", "scale", "resolution", "range"):
            assert given.declared[f"{signal}.{error}"] == 0.0
    with pytest.raises(hs.errors.ParameterError, match="tail"):
        readings(khr1, {"imu.frame": "tail"})


def test_encoders(khr1: hs.Model) -> None:
    """Angles are rounded to a step; speeds are differences, or tachometers' own."""
    felt, _ = readings(khr1, {"joints.angle.resolution": 0.01})
    np.testing.assert_allclose(felt.joints.angles, 0.0, atol=1e-9)
    felt, _ = readings(khr1, {"joints.angle.noise": 1e-3})
    assert 1e-3 < np.abs(felt.joints.angles).max() < 0.1
    assert np.abs(felt.joints.speeds).max() > 0.1
    felt, sensors = readings(
        khr1, {"joints.angle.noise": 1e-3, "joints.tachometers": True, "joints.seed": 7}
    )
    np.testing.assert_allclose(felt.joints.speeds, 0.0, atol=1e-9)
    assert sensors.encoders.seed == 7
