# SPDX-License-Identifier: Apache-2.0
"""Two robots walk in one ROS 2 graph: namespaces, one clock, one tree of TF."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from humans_sim.core.doctor import ros_hint

pytestmark = pytest.mark.ros

ROBOTS = {"robot1": 0.05, "robot2": -0.04}
"""Namespaces, and speeds forwards [m/s]."""
DISTANCE = 0.08
"""That each walks [m]."""


class Robot:
    """What is heard of a robot.

    Attributes:
        places: of the truth, newest last [m].
        stamps: of its states [ns].
    """

    def __init__(self, node: Any, name: str) -> None:
        from nav_msgs.msg import Odometry
        from sensor_msgs.msg import JointState

        self.places: list[tuple[float, float]] = []
        self.stamps: list[int] = []
        self.frames: set[tuple[str, str]] = set()
        listen = node.create_subscription
        listen(Odometry, f"/{name}/ground_truth/odom", self._on_odometry, 100)
        listen(JointState, f"/{name}/joint_states", self._on_state, 100)

    def _on_odometry(self, message: Any) -> None:
        place = message.pose.pose.position
        self.places.append((place.x, place.y))
        self.frames.add((message.header.frame_id, message.child_frame_id))

    def _on_state(self, message: Any) -> None:
        self.stamps.append(nanoseconds(message.header.stamp))

    @property
    def distance(self) -> float:
        """From where it began [m]."""
        if not self.places:
            return 0.0
        (x0, y0), (x1, y1) = self.places[0], self.places[-1]
        return math.hypot(x1 - x0, y1 - y0)


def nanoseconds(stamp: Any) -> int:
    """Of a stamp."""
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


def test_two_robots_walk(
    node: Any, wait_for: Callable[..., None], start: Callable[..., Any], khr1: Any
) -> None:
    """Both keep their parameters and walk their way; TF is one tree without gaps."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from diagnostic_msgs.msg import DiagnosticArray
    from rcl_interfaces.srv import GetParameters
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from rosgraph_msgs.msg import Clock
    from tf2_msgs.msg import TFMessage

    parents: dict[str, str] = {}
    statuses: set[str] = set()
    clock: list[int] = []

    def place(message: Any) -> None:
        for link in message.transforms:
            parent = parents.setdefault(link.child_frame_id, link.header.frame_id)
            assert parent == link.header.frame_id, "a frame has two parents"

    listen = node.create_subscription
    listen(TFMessage, "/tf", place, 1000)
    latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    listen(TFMessage, "/tf_static", place, latched)
    listen(
        DiagnosticArray,
        "/diagnostics",
        lambda message: statuses.update(status.name for status in message.status),
        100,
    )
    listen(Clock, "/clock", lambda message: clock.append(nanoseconds(message.clock)), 9)
    robots = {name: Robot(node, name) for name in ROBOTS}
    for k, (name, speed) in enumerate(ROBOTS.items()):
        start(
            *("-m", "humans_sim", "up", "walk", "--headless", "--namespace", name),
            *("--frame-prefix", f"{name}/"),
            *("--ros", f"p walk:cmd_vel:=[{speed}, 0.0, 0.0]"),
            *("--ros", f"p dynamics:publish_clock:={'false' if k else 'true'}"),
        )
    for name, robot in robots.items():
        wait_for(lambda robot=robot: robot.distance > DISTANCE, f"{name} to walk")
    assert node.count_publishers("/clock") == 1
    for name, robot in robots.items():
        ahead = math.copysign(1.0, ROBOTS[name])
        assert ahead * (robot.places[-1][0] - robot.places[0][0]) > 0.9 * DISTANCE
        assert robot.frames == {("world", f"{name}/ground_truth/base_link")}
        # Its file and the command's, in a namespace.
        service = f"/{name}/dynamics/get_parameters"
        ask = node.create_client(GetParameters, service)
        wait_for(ask.service_is_ready, service)
        names = ["sync", "sampling_period", "actuation", "frame_prefix"]
        future = ask.call_async(GetParameters.Request(names=names))
        wait_for(future.done, "its parameters")
        sync, period, actuation, prefix = future.result().values
        assert (sync.string_value, actuation.string_value) == ("lockstep", "servo")
        assert (period.double_value, prefix.string_value) == (0.02, f"{name}/")
        for part in ("dynamics: simulation", "walk: walk", "observer: base"):
            wait_for(lambda n=f"{name}/{part}": n in statuses, f"{name}/{part}")
        chain = [f"{name}/base_footprint"]
        while chain[-1] in parents:
            chain.append(parents[chain[-1]])
        assert chain[1:] == [f"{name}/base_link", f"{name}/odom", "world"]
        links = {child for child in parents if child.startswith(f"{name}/")}
        assert {f"{name}/l_sole", f"{name}/r_sole"} <= links
        assert len(links) > len(khr1.joint_names)
    assert set(parents.values()) - set(parents) == {"world"}
    # The second robot is never ahead of the clock that it follows.
    assert robots["robot2"].stamps[-1] <= max(clock)
    assert {name.partition("/")[0] for name in statuses} == set(ROBOTS)
