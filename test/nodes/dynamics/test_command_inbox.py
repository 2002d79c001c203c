# SPDX-License-Identifier: Apache-2.0
"""Which commands a simulation takes, and what it commands where none comes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import humans_sim as hs

pytest.importorskip("sensor_msgs")
pytestmark = pytest.mark.ros

NOW = 20_000_000


def inbox(khr1: hs.Model, lockstep: bool, servos: bool = True) -> Any:
    """Commands of a run that has just begun."""
    from humans_sim.nodes.dynamics.commands import CommandInbox

    made = CommandInbox(khr1, servos, lockstep, Counter())
    made.begin(np.full(len(khr1.joint_names), 0.1))
    return made


def command(stamp: int, angle: float = 0.2, name: str = "head_yaw") -> Any:
    """A command of one joint."""
    from sensor_msgs.msg import JointState

    message = JointState(name=[name], position=[angle], effort=[angle])
    message.header.stamp.nanosec = stamp
    return message


@pytest.mark.parametrize("lockstep", [True, False])
def test_stamps(khr1: hs.Model, lockstep: bool) -> None:
    """In lock-step that of the state alone, once; else none that is old or to come."""
    commands = inbox(khr1, lockstep)
    with pytest.raises(hs.errors.ConfigurationError, match="future"):
        commands.take(command(NOW + 1), NOW)
    commands.take(command(NOW), NOW)
    with pytest.raises(hs.errors.ConfigurationError, match="late"):
        commands.take(command(NOW - 1), NOW)
    if lockstep:
        with pytest.raises(hs.errors.ConfigurationError, match="a second one"):
            commands.take(command(NOW), NOW)
    else:
        commands.take(command(0, 0.3), NOW)  # zero is now
        assert commands.command[0] == 0.3
    assert commands.heard


@pytest.mark.parametrize("servos", [True, False])
def test_joints_left_out(khr1: hs.Model, servos: bool) -> None:
    """They keep their command: at first the angles of the start, or no torque."""
    commands = inbox(khr1, lockstep=True, servos=servos)
    commands.take(command(NOW), NOW)
    held = 0.1 if servos else 0.0
    names = khr1.joint_names
    expected = [0.2 if name == "head_yaw" else held for name in names]
    np.testing.assert_array_equal(commands.command, expected)
    commands.forget()
    assert commands.command is None
    np.testing.assert_array_equal(commands.last, expected)
    for wrong in (command(NOW, np.nan), command(NOW, name="tail")):
        with pytest.raises(hs.errors.ConfigurationError):
            commands.take(wrong, NOW)
    np.testing.assert_array_equal(commands.last, expected)


def test_led_along_a_trajectory(khr1: hs.Model) -> None:
    """Messages are refused meanwhile; its last command stays for one state more."""
    commands = inbox(khr1, lockstep=True)
    commands.lead({"head_yaw": 0.5})
    commands.forget()  # a state is over
    assert commands.command[khr1.joint_names.index("head_yaw")] == 0.5
    with pytest.raises(hs.errors.ConfigurationError, match="busy"):
        commands.take(command(NOW), NOW)
    commands.release()
    assert commands.command is not None
    commands.forget()
    assert commands.command is None and not commands.heard
    commands.take(command(NOW), NOW)
    commands.lead({"head_yaw": 0.6})
    commands.begin(np.zeros(len(khr1.joint_names)))
    assert commands.command is None and not commands.last.any()
