# SPDX-License-Identifier: Apache-2.0
"""Between messages and what the Kondo bridge knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sensor_msgs.msg import JointState

from humans_sim.kondo.driver.safety import JointCommandError


def command_of(message: Any) -> dict[str, float]:
    """Angles by joint of a JointState message.

    Raises:
        JointCommandError: lists of different lengths, or a joint named twice.
    """
    names, angles = list(message.name), list(message.position)
    if len(names) != len(angles):
        raise JointCommandError(f"{len(names)} names and {len(angles)} positions")
    if len(set(names)) != len(names):
        raise JointCommandError("a joint is named twice")
    return dict(zip(names, angles, strict=True))


def joint_state(stamp: Any, frame: str, angles: Mapping[str, float]) -> JointState:
    """JointState message of angles [rad]."""
    message = JointState(name=list(angles), position=list(angles.values()))
    message.header.stamp, message.header.frame_id = stamp, frame
    return message
