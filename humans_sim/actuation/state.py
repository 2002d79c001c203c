# SPDX-License-Identifier: Apache-2.0
"""What one actuator does at one instant, in the form of the message ActuatorState."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from math import nan


class CommandKind(IntEnum):
    """What a command means; numbers are those of the message."""

    TORQUE = 0
    POSITION = 1
    VOLTAGE = 2


@dataclass(frozen=True)
class ActuatorState:
    """State of one actuator; NaN for what it does not model.

    Attributes:
        name: the actuator's; its joint's where it drives one joint alone.
        kind: what its command means.
        command: last command received [N m, rad or V].
        applied: command in effect, after delay and limits [N m, rad or V].
        position: of the actuator's shaft [rad].
        velocity: of the shaft [rad/s].
        torque: on the shaft [N m].
        saturated: whether a limit acts.
        gear_ratio: shaft speed over joint speed in this posture; NaN where the actuator
            drives several joints.
        current: [A].
        voltage: [V].
        electrical_power: taken from the supply, negative when given back [W].
    """

    name: str
    kind: CommandKind
    command: float
    applied: float
    position: float
    velocity: float
    torque: float
    saturated: bool = False
    gear_ratio: float = 1.0
    current: float = nan
    voltage: float = nan
    electrical_power: float = nan
