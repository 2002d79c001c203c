# SPDX-License-Identifier: Apache-2.0
"""The node ``kondo_walk`` beside a robot that follows at once, over real topics."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from humans_sim.core.doctor import ros_hint
from humans_sim.kondo.driver.robot_settings import load_robot

pytestmark = pytest.mark.ros


def test_it_stands_when_nobody_leads_it(
    node: Any,
    wait_for: Callable[..., None],
    start: Callable[..., subprocess.Popen[str]],
) -> None:
    """A walk whose cmd_vel is not repeated ends, without any parameter."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from geometry_msgs.msg import Twist
    from humans_msgs.msg import WalkStatus
    from sensor_msgs.msg import JointState

    status = [WalkStatus()]
    names = list(load_robot().joint_names)
    states = node.create_publisher(JointState, "joint_states", 10)
    velocities = node.create_publisher(Twist, "cmd_vel", 10)
    robot = [JointState(name=names, position=[0.0] * len(names))]
    node.create_subscription(
        JointState, "joint_commands", lambda m: robot.__setitem__(0, m), 10
    )
    node.create_subscription(
        WalkStatus, "walk_status", lambda m: status.__setitem__(0, m), 10
    )
    leads = [True]
    forwards = Twist()
    forwards.linear.x = 0.03

    def beat() -> None:
        states.publish(robot[0])
        if leads[0]:
            velocities.publish(forwards)

    node.create_timer(0.05, beat)
    start("-m", "humans_sim.nodes", "kondo_walk")
    wait_for(lambda: status[0].steps >= 2, "two steps")
    assert status[0].message == ""
    leads[0] = False
    wait_for(lambda: status[0].message == "no cmd_vel came any more", "its end")
    wait_for(lambda: status[0].phase == WalkStatus.STANDING, "rest")
