# SPDX-License-Identifier: Apache-2.0
"""A person seen by markers leads the arms of a robot, over real topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.core.doctor import ros_hint

pytestmark = [pytest.mark.ros, pytest.mark.study]


def test_reconstruction_leads_the_bridge(
    node: Any, wait_for: Callable[..., None], start: Callable[..., Any]
) -> None:
    """Markers, postures, commands, boards: the arms move, the legs are left alone."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from sensor_msgs.msg import JointState

    model = hs.load_model("khr1")
    commands: list[dict[str, float]] = []
    stamps: list[float] = []
    robot: list[dict[str, float]] = []

    def take(message: JointState) -> None:
        stamp = message.header.stamp
        stamps.append(stamp.sec + 1e-9 * stamp.nanosec)
        commands.append(dict(zip(message.name, message.position, strict=True)))

    node.create_subscription(JointState, "joint_commands", take, 100)
    node.create_subscription(
        JointState,
        "joint_states",
        lambda m: robot.append(dict(zip(m.name, m.position, strict=True))),
        100,
    )
    start(
        *("-m", "humans_sim", "up", "reconstruct", "--headless"),
        *("--namespace", "person"),
    )
    start(
        *("-m", "humans_sim", "up", "retarget", "--headless"),
        *("--ros", "p kondo_bridge:use_fake_hardware:=true"),
        *("--ros", "p kondo_bridge:command_timeout:=5.0"),
        *("--ros", "p kondo_bridge:pause_timeout:=5.0"),
    )

    def swing(rows: list[dict[str, float]], name: str) -> float:
        angles = [row[name] for row in rows]
        return max(angles) - min(angles) if angles else 0.0

    elbow = "r_elbow"
    wait_for(lambda: swing(commands, elbow) > 0.2, "commands that move the elbow")
    wait_for(lambda: swing(robot, elbow) > 0.2, "boards that are led there")
    names = set(commands[0])
    assert names == {"head_yaw"} | {
        f"{side}_{part}"
        for side in "lr"
        for part in ("shoulder_pitch", "shoulder_roll", "elbow")
    }
    assert swing(robot, "l_knee") == 0.0
    for name in names:
        place = model.joint_names.index(name)
        angles = np.array([row[name] for row in commands])
        assert (angles >= model.lower_limits[place] - 1e-9).all()
        assert (angles <= model.upper_limits[place] + 1e-9).all()
        steps, times = np.abs(np.diff(angles)), np.diff(stamps)
        along = (times > 0.0) & (times < 0.3)
        most = 0.5 * model.velocity_limits[place] * times[along]
        assert (steps[along] <= most + 1e-6).all()
