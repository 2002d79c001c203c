# SPDX-License-Identifier: Apache-2.0
"""Sensors as a YAML file describes them.

.. code-block:: yaml

    imu: {kind: imu, frame: base_link, rate: 200, accelerometer: {noise: 0.002}}
    l_foot: {kind: foot, sole: l_sole, rate: 100, force: {noise: 0.05}}
    joints: {kind: encoders, rate: 100, angle: {resolution: 0.0015}}
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from humans_sim.core.budget import RATE
from humans_sim.core.errors import HumansError
from humans_sim.core.yaml_file import YamlValue, read_yaml
from humans_sim.dynamics.sensors.foot_sensor import FootSensor
from humans_sim.dynamics.sensors.imu import Imu
from humans_sim.dynamics.sensors.joint_encoders import JointEncoders
from humans_sim.dynamics.sensors.sensor import Sensor
from humans_sim.dynamics.sensors.signal_errors import SignalErrors

_ERRORS = ("noise", "bias", "bias_walk", "scale", "resolution", "range")
_COMMON = ("delay", "seed")
_KINDS: dict[
    str, tuple[Callable[..., Sensor], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
] = {
    "imu": (Imu, (), ("frame",), ("accelerometer", "gyroscope")),
    "foot": (FootSensor, ("sole",), ("threshold",), ("force", "torque")),
    "encoders": (JointEncoders, (), (), ("angle", "speed")),
}
"""What makes each kind, what it must have, may have, and its signals with errors."""
_WORDS = ("frame", "sole")


def read_sensors(path: Path | str) -> list[Sensor]:
    """The sensors that a file describes, by name.

    Args:
        path: the file, ``.yaml``.

    Raises:
        ModelFileError: the file is missing, or something in it is wrong; it names the
            line and the key.
    """
    return sensors_of(read_yaml(path))


def sensors_of(value: YamlValue) -> list[Sensor]:
    """The sensors that a section of a file describes."""
    return [_sensor(name, entry) for name, entry in value.mapping().items()]


def _sensor(name: str, entry: YamlValue) -> Sensor:
    kind = entry.mapping()
    if "kind" not in kind:
        raise entry.error(f"the kind is missing: one of {', '.join(_KINDS)}")
    make, needed, optional, signals = _KINDS[kind["kind"].choice(tuple(_KINDS))]
    given = entry.fields(("kind", "rate", *needed), (*optional, *signals, *_COMMON))
    rate = given["rate"].positive()
    RATE.check("a sensor", rate, error=given["rate"].error)
    arguments: dict[str, Any] = {"name": name, "period": 1.0 / rate}
    for key in (*needed, *optional, "delay"):
        if key in given:
            word = key in _WORDS
            arguments[key] = given[key].text() if word else given[key].number()
    if "seed" in given:
        seed = given["seed"].number()
        if seed < 0 or seed != int(seed):
            raise given["seed"].error("a whole number of 0 or more is needed")
        arguments["seed"] = int(seed)
    for key in signals:
        if key in given:
            arguments[key] = _errors(given[key])
    try:
        return make(**arguments)
    except HumansError as error:
        raise entry.error(str(error)) from error


def _errors(value: YamlValue) -> SignalErrors:
    given = value.fields((), _ERRORS)
    numbers = {key: number.number() for key, number in given.items()}
    try:
        return SignalErrors(**numbers)
    except HumansError as error:
        raise value.error(str(error)) from error
