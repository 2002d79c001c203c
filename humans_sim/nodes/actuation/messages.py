# SPDX-License-Identifier: Apache-2.0
"""What an actuation does, as messages of humans_msgs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from humans_msgs.msg import ActuatorState as ActuatorStateMessage
from humans_msgs.msg import ActuatorStates, MuscleStates
from humans_msgs.msg import MuscleState as MuscleStateMessage

from humans_sim.actuation import ActuatorState, MuscleState
from humans_sim.nodes.common.conversions import time_of

_MUSCLE_FIELDS = (
    "name",
    "joint_name",
    "calcium_state",
    "command_signal",
    "recruitment",
    "length",
    "strain",
    "strain_rate",
    "contractile_direction",
    "contractile_strain_rate",
    "contractile_stiffness",
    "contractile_force",
    "force",
    "torque",
)
_ACTUATOR_FIELDS = (
    "name",
    "command",
    "applied",
    "position",
    "velocity",
    "torque",
    "gear_ratio",
    "current",
    "voltage",
    "electrical_power",
)
"""Fields that a state and its message share."""


def actuator_states(stamp: Any, states: Iterable[ActuatorState]) -> ActuatorStates:
    """ActuatorStates message; the shafts are those of measured joints."""
    message = ActuatorStates()
    message.header.stamp = stamp
    for state in states:
        one = ActuatorStateMessage(command_kind=int(state.kind), position_measured=True)
        if state.saturated:
            one.status = ActuatorStateMessage.SATURATED
        for field in _ACTUATOR_FIELDS:
            setattr(one, field, getattr(state, field))
        message.actuators.append(one)
    return message


def muscle_states(stamp: Any, states: Iterable[MuscleState]) -> MuscleStates:
    """MuscleStates message."""
    message = MuscleStates()
    message.header.stamp = stamp
    for state in states:
        one = MuscleStateMessage()
        for field in _MUSCLE_FIELDS:
            setattr(one, field, getattr(state, field))
        if math.isfinite(state.next_calcium_switch):
            one.next_calcium_switch = time_of(round(state.next_calcium_switch * 1e9))
        message.muscles.append(one)
    return message
