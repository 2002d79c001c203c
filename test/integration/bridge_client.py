# SPDX-License-Identifier: Apache-2.0
"""What tests say to the node ``kondo_bridge``, and hear of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from kondo_line import Line
from node_processes import call_service

EXIT = 30.0
"""How long a process may take to end, and servos to be driven [s]."""
_PACE = 0.2
"""Time between two commands [s]."""


class BridgeClient:
    """What a test says to the bridge, and hears of it.

    Attributes:
        states: the newest joint angles.
        source: what they are.
        robot_state: state of the robot and why, in words.
        status: the newest diagnostics, by key, with ``level`` and ``message``.
    """

    def __init__(self, node: Any, wait: Callable[..., None]) -> None:
        """Listen."""
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from sensor_msgs.msg import JointState
        from std_msgs.msg import String

        self._node, self.wait = node, wait
        self.states: dict[str, float] = {}
        self.source = self.robot_state = ""
        self.status: dict[str, Any] = {}
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_subscription(JointState, "joint_states", self._on_states, 10)
        node.create_subscription(
            String, "joint_states_source", self._on_source, latched
        )
        node.create_subscription(String, "robot_state", self._on_robot, latched)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_status, 10)
        self._commands = node.create_publisher(JointState, "joint_commands", 10)

    def _on_states(self, message: Any) -> None:
        self.states = dict(zip(message.name, message.position, strict=True))

    def _on_source(self, message: Any) -> None:
        self.source = message.data

    def _on_robot(self, message: Any) -> None:
        self.robot_state = message.data

    def _on_status(self, message: Any) -> None:
        for status in message.status:
            self.status = {entry.key: entry.value for entry in status.values}
            self.status |= {"level": status.level, "message": status.message}

    def call(self, kind: Any, name: str, request: Any = None) -> Any:
        """Ask a service and wait for its answer."""
        asked = request or kind.Request()
        return call_service(self._node, self.wait, kind, name, asked)

    def trigger(self, name: str) -> Any:
        """Ask a service that wants no more than its name."""
        from std_srvs.srv import Trigger

        return self.call(Trigger, name)

    def change(self, transition: str) -> bool:
        """Change the stage of the node's life."""
        from lifecycle_msgs.srv import ChangeState

        request = ChangeState.Request()
        request.transition.label = transition
        answer = self.call(ChangeState, "kondo_bridge/change_state", request)
        return bool(answer.success)

    def stage(self) -> str:
        """The stage of the node's life."""
        from lifecycle_msgs.srv import GetState

        answer = self.call(GetState, "kondo_bridge/get_state")
        return str(answer.current_state.label)

    def lead_head(self, line: Line, degrees: float) -> None:
        """Command the head, a few times a second, until it is led there."""
        said = -_PACE

        def arrived() -> bool:
            nonlocal said
            if time.monotonic() >= said + _PACE:
                said = time.monotonic()
                self.command(["head_yaw"], [math.radians(degrees)])
            return line.head() == degrees

        self.wait(arrived, "the head to turn")

    def command(
        self, names: list[str], angles: list[float], stamp: int | None = None
    ) -> None:
        """Publish a joint command, stamped or not [ns]."""
        from sensor_msgs.msg import JointState

        message = JointState(name=names, position=angles)
        if stamp is not None:
            whole, part = divmod(stamp, 1_000_000_000)
            message.header.stamp.sec, message.header.stamp.nanosec = whole, part
        self._commands.publish(message)

    def wait_beat(self) -> None:
        """Listen for a moment."""
        end = time.monotonic() + _PACE
        self.wait(lambda: time.monotonic() > end, "a moment")

    def wait_diagnostics(self, what: str, **expected: Any) -> None:
        """Wait until the diagnostics say so."""
        self._wait_status(
            lambda: all(self.status.get(k) == v for k, v in expected.items()),
            f"{what}: {expected}",
        )

    def count(self, key: str, least: int) -> None:
        """Wait until a count of the diagnostics is reached."""
        self._wait_status(
            lambda: int(self.status.get(key, "-1")) >= least, f"{key} {least}"
        )

    def _wait_status(self, condition: Callable[[], bool], what: str) -> None:
        try:
            self.wait(condition, what)
        except AssertionError as error:
            raise AssertionError(
                f"{error}; the diagnostics were {self.status}"
            ) from None


def wait_driven(line: Line, count: int) -> None:
    """Wait until so many servos are driven."""
    end = time.monotonic() + EXIT
    while line.driven() != count:
        assert time.monotonic() < end, f"{line.driven()} servos are driven"
        time.sleep(0.05)


def goal(
    names: list[str], degrees: list[float], seconds: float, tolerance: float = 0.0
) -> Any:
    """A goal of one point."""
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTolerance
    from trajectory_msgs.msg import JointTrajectoryPoint

    point = JointTrajectoryPoint(positions=[math.radians(x) for x in degrees])
    whole = int(seconds)
    point.time_from_start.sec = whole
    point.time_from_start.nanosec = round((seconds - whole) * 1e9)
    made = FollowJointTrajectory.Goal()
    made.trajectory.joint_names, made.trajectory.points = names, [point]
    if tolerance:
        made.path_tolerance = [JointTolerance(name=names[0], position=tolerance)]
    return made
