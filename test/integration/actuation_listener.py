# SPDX-License-Identifier: Apache-2.0
"""What tests hear of the node ``actuation``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from node_processes import call_service


class Listener:
    """What a test hears of one actuation node.

    Attributes:
        torques: joint_torques, by stamp [ns].
        states: joint_states, by stamp [ns].
        actuators: actuator_states or muscle_states, by stamp [ns].
        status: the last diagnostics of the actuation, by key, with ``level``.
    """

    def __init__(
        self, node: Any, wait: Callable[..., None], kind: str, space: str
    ) -> None:
        """Listen to the actuation of a kind in a name space."""
        from diagnostic_msgs.msg import DiagnosticArray
        from humans_msgs.msg import ActuatorStates, MuscleStates
        from sensor_msgs.msg import JointState

        self.node, self.wait = node, wait
        self._name = f"{space}/actuation: {kind}".lstrip("/")
        self._space = space
        self.torques: dict[int, Any] = {}
        self.states: dict[int, Any] = {}
        self.actuators: dict[int, Any] = {}
        self.status: dict[str, Any] = {}

        def keep(messages: dict[int, Any]) -> Callable[[Any], None]:
            return lambda m: messages.update({stamp_of(m): m})

        listen = node.create_subscription
        listen(JointState, f"{space}/joint_torques", keep(self.torques), 100)
        listen(JointState, f"{space}/joint_states", keep(self.states), 100)
        kept = keep(self.actuators)
        listen(ActuatorStates, f"{space}/actuator_states", kept, 100)
        listen(MuscleStates, f"{space}/muscle_states", kept, 100)
        listen(DiagnosticArray, f"{space}/diagnostics", self._on_status, 10)

    def _on_status(self, message: Any) -> None:
        status = message.status[0]
        if status.name == self._name:
            self.status = {value.key: value.value for value in status.values}
            self.status["level"] = status.level

    def publisher(self, kind: Any, topic: str) -> Any:
        """A publisher that the actuation hears."""
        made = self.node.create_publisher(kind, f"{self._space}/{topic}", 100)
        self.wait(lambda: made.get_subscription_count() > 0, f"someone at {topic}")
        return made

    def call(self, kind: Any, name: str, request: Any) -> Any:
        """Call a service and wait for its answer."""
        name = f"{self._space}/{name}"
        return call_service(self.node, self.wait, kind, name, request)

    def wait_count(self, key: str, number: int) -> None:
        """Wait until a number of the diagnostics has come."""
        self.wait(lambda: int(self.status.get(key, -1)) == number, f"{number} as {key}")


def stamp_of(message: Any) -> int:
    """Stamp of a message [ns]."""
    stamp = message.header.stamp
    return int(stamp.sec * 10**9 + stamp.nanosec)


def stamped(message: Any, nanoseconds: int) -> Any:
    """A message with its stamp set."""
    message.header.stamp.sec = nanoseconds // 10**9
    message.header.stamp.nanosec = nanoseconds % 10**9
    return message


def stamp_time(stamp: Any) -> float:
    """Seconds of a Time message."""
    return float(stamp.sec + 1e-9 * stamp.nanosec)
