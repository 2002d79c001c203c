# SPDX-License-Identifier: Apache-2.0
"""The node ``kondo_walk``, over real topics."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from humans_sim.core.doctor import ros_hint
from humans_sim.kondo.driver.robot_settings import load_robot

pytestmark = [pytest.mark.ros, pytest.mark.study]


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


def test_a_stopped_robot_ends_the_walk(
    node: Any,
    wait_for: Callable[..., None],
    start: Callable[..., subprocess.Popen[str]],
) -> None:
    """Nothing more is commanded, also when it follows again, until a person starts."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from geometry_msgs.msg import Twist
    from humans_msgs.msg import WalkStatus
    from node_processes import call_service
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String
    from std_srvs.srv import Trigger

    status, commands = [WalkStatus()], [0]
    names = list(load_robot().joint_names)
    robot = [JointState(name=names, position=[0.0] * len(names))]
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    states = node.create_publisher(JointState, "joint_states", 10)
    says = node.create_publisher(String, "robot_state", latched)
    velocities = node.create_publisher(Twist, "cmd_vel", 10)

    def follow(message: JointState) -> None:
        robot[0] = message
        commands[0] += 1

    node.create_subscription(JointState, "joint_commands", follow, 10)
    node.create_subscription(
        WalkStatus, "walk_status", lambda m: status.__setitem__(0, m), 10
    )
    forwards = Twist()
    forwards.linear.x = 0.03

    def beat() -> None:  # whoever leads it never stops to
        states.publish(robot[0])
        velocities.publish(forwards)

    def ask() -> Any:
        request = Trigger.Request()
        return call_service(node, wait_for, Trigger, "start_walk", request)

    node.create_timer(0.05, beat)
    says.publish(String(data="holding"))
    start("-m", "humans_sim.nodes", "kondo_walk")
    wait_for(lambda: status[0].steps >= 1, "a step")
    assert not ask().success  # it is started already
    says.publish(String(data="stopped: the line was lost"))
    wait_for(lambda: status[0].phase == WalkStatus.IDLE, "the end")
    assert "stopped: the line was lost" in status[0].message
    answer = ask()
    assert not answer.success and "call energize first" in answer.message
    says.publish(String(data="holding"))
    wait_for(lambda: True, "a moment")
    before, beats = commands[0], [0]
    node.create_timer(0.5, lambda: beats.__setitem__(0, beats[0] + 1))
    wait_for(lambda: beats[0] > 4, "two seconds")
    assert commands[0] == before and status[0].phase == WalkStatus.IDLE
    answer = ask()
    assert answer.success and "a joint moves by" in answer.message
    wait_for(lambda: commands[0] > before + 10, "commands")


def test_walk_without_hardware(
    node: Any, wait_for: Callable[..., None], start: Callable[..., Any]
) -> None:
    """``humans-sim up kondo_walk`` with emulated boards flows, and makes steps."""
    pytest.importorskip("control_msgs", reason=ros_hint())
    from humans_msgs.msg import WalkStatus
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String

    steps, knees = [0], [0.0]
    sources: list[str] = []
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(
        String, "joint_states_source", lambda m: sources.append(m.data), latched
    )

    def see(message: JointState) -> None:
        knees.append(message.position[list(message.name).index("l_knee")])

    node.create_subscription(
        WalkStatus, "walk_status", lambda m: steps.append(m.steps), 10
    )
    node.create_subscription(JointState, "joint_states", see, 10)
    process = start(
        *("-m", "humans_sim", "up", "kondo_walk", "--headless", "--check"),
        *("--seconds", "45", "--ros", "p kondo_bridge:use_fake_hardware:=true"),
        *("--ros", "p kondo_bridge:command_timeout:=2.0"),
        *("--ros", "p kondo_bridge:pause_timeout:=2.0"),
        *("--ros", "p kondo_walk:cmd_vel:=[0.03,0.0,0.0]"),
    )
    wait_for(lambda: max(steps) >= 2, "two steps")
    assert sources[-1] == "commanded"
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    assert "All topics flowed." in output
    assert "EMULATED BOARDS" in output
    assert max(knees) > 1.0  # the walk's knees are bent


def test_it_says_that_nothing_comes(
    start: Callable[..., subprocess.Popen[str]],
) -> None:
    """Where the bridge has made the servos limp before the walk was there."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    process = start("-m", "humans_sim.nodes", "kondo_walk")
    assert process.stdout is not None
    assert any("the service energize" in line for line in process.stdout)
