# SPDX-License-Identifier: Apache-2.0
"""Graphs in namespaces: their parameters, frames, diagnostics, and one clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from humans_sim.core.doctor import ros_hint

pytestmark = pytest.mark.ros

NANOSECONDS = 10**9


def test_a_graph_keeps_its_parameters_in_a_namespace(
    node: Any, wait_for: Callable[..., None], start: Callable[..., Any]
) -> None:
    """Those of its file and those of the command; frames have the prefix, once."""
    from nav_msgs.msg import Odometry
    from rcl_interfaces.srv import GetParameters
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from tf2_msgs.msg import TFMessage

    links: dict[str, str] = {}
    poses: list[Any] = []

    def take(message: Any) -> None:
        for placed in message.transforms:
            links[placed.child_frame_id] = placed.header.frame_id

    node.create_subscription(TFMessage, "/tf", take, 100)
    latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(TFMessage, "/tf_static", take, latched)
    node.create_subscription(Odometry, "/robot1/odom", poses.append, 10)
    start(
        *("-m", "humans_sim", "up", "demo", "--headless"),
        *("--namespace", "robot1", "--frame-prefix", "robot1/"),
        *("--ros", "p joint_demo:rate:=25.0"),
    )
    ask = node.create_client(GetParameters, "/robot1/joint_demo/get_parameters")
    wait_for(ask.service_is_ready, "the parameters of joint_demo")
    names = ["model", "rate"]
    future = ask.call_async(GetParameters.Request(names=names))
    wait_for(future.done, "its answer")
    model, rate = future.result().values
    assert (model.string_value, rate.double_value) == ("khr1", 25.0)
    wait_for(lambda: bool(poses), "odometry")
    header, child = poses[0].header, poses[0].child_frame_id
    assert (header.frame_id, child) == ("robot1/odom", "robot1/base_link")
    wait_for(
        lambda: "robot1/base_footprint" in links and "robot1/l_sole" in links, "TF"
    )
    assert set(links.values()) - set(links) == {"robot1/odom"}
    assert all(name.startswith("robot1/") for name in links)


def test_frames_without_a_prefix_stay_in_the_namespace(
    node: Any, wait_for: Callable[..., None], start: Callable[..., Any]
) -> None:
    """Two robots do not share a base_link on /tf."""
    from tf2_msgs.msg import TFMessage

    apart: list[Any] = []
    shared: list[Any] = []
    node.create_subscription(TFMessage, "/robot2/tf", apart.append, 100)
    node.create_subscription(TFMessage, "/tf", shared.append, 100)
    start(
        *("-m", "humans_sim", "up", "demo", "--headless", "--namespace", "robot2"),
    )
    wait_for(lambda: len(apart) > 20, "TF in the namespace")
    assert apart[0].transforms[0].child_frame_id in ("base_link", "base_footprint")
    assert not shared


def test_a_simulation_follows_the_clock_of_another(
    node: Any, wait_for: Callable[..., None], start: Callable[..., Any]
) -> None:
    """It goes up to the clock and no further, stands with it, and begins anew."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from diagnostic_msgs.msg import DiagnosticArray
    from rosgraph_msgs.msg import Clock
    from sensor_msgs.msg import JointState

    stamps: list[float] = []
    states: dict[str, str] = {}

    def take(message: Any) -> None:
        stamp = message.header.stamp
        stamps.append(stamp.sec + stamp.nanosec / NANOSECONDS)

    def diagnosed(message: Any) -> None:
        states.update({status.name: status.message for status in message.status})

    node.create_subscription(JointState, "/robot2/joint_states", take, 100)
    node.create_subscription(DiagnosticArray, "/diagnostics", diagnosed, 100)
    clock = node.create_publisher(Clock, "/clock", 10)

    def show(seconds: float) -> None:
        message = Clock()
        message.clock.sec, rest = divmod(round(seconds * NANOSECONDS), NANOSECONDS)
        message.clock.nanosec = rest
        clock.publish(message)

    start(
        *("-m", "humans_sim.nodes", "dynamics", "--ros-args", "-r", "__ns:=/robot2"),
        *("-p", "publish_clock:=false", "-p", "sync:=free", "-p", "actuation:=servo"),
        *("-p", "method:=time_stepping", "-p", "sampling_period:=0.02"),
    )
    waiting = ("robot2/dynamics: simulation", "waiting for /clock")
    wait_for(lambda: waiting in states.items(), "it to wait")
    assert set(stamps) == {0.0} and clock.get_subscription_count() > 0
    show(0.105)
    wait_for(lambda: max(stamps) >= 0.1, "five periods")
    for _ in range(20):
        node.test_executor.spin_once(timeout_sec=0.02)
    assert max(stamps) == pytest.approx(0.1)
    stamps.clear()
    show(0.0)
    wait_for(lambda: bool(stamps) and stamps[-1] == 0.0, "a new beginning")
    show(0.05)
    wait_for(lambda: bool(stamps) and max(stamps) == pytest.approx(0.04), "two periods")
