# SPDX-License-Identifier: Apache-2.0
"""Status on ``/diagnostics`` (REP-107), and messages that are refused."""

from __future__ import annotations

from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node


class StatusTopic:
    """Reports how one part of a node fares.

    Args:
        node: whose part it is.
        part: its name.
        hardware: what it is about, the name of a model.
    """

    def __init__(self, node: Node, part: str, hardware: str) -> None:
        """Publish for a node."""
        self._node, self._hardware = node, hardware
        self._name = f"{node.get_name()}: {part}"
        self._topic = node.create_publisher(DiagnosticArray, "/diagnostics", 10)

    def publish(
        self, state: str, failure: str, warning: str, values: Mapping[str, str]
    ) -> None:
        """Report how it is.

        Args:
            state: one word or a few.
            failure: why it does not continue, empty while it does.
            warning: what else went wrong, empty where nothing did.
            values: by name.
        """
        status = DiagnosticStatus(name=self._name, hardware_id=self._hardware)
        status.level, status.message = DiagnosticStatus.OK, state
        if failure:
            status.level, status.message = DiagnosticStatus.ERROR, failure
        elif warning:
            status.level, status.message = DiagnosticStatus.WARN, f"{state}, {warning}"
        entries = {"state": state, **values}
        status.values = [KeyValue(key=k, value=v) for k, v in entries.items()]
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._topic.publish(message)


def gone(node: Node, topic: str) -> str:
    """A warning where nobody publishes a topic any more; else nothing.

    A paused simulation is silent, too; a node that was killed is known to be gone when
    the middleware has missed it long enough (Fast DDS: 20 s).
    """
    if node.count_publishers(node.resolve_topic_name(topic)):
        return ""
    return f"nobody publishes {topic} any more"


_PERIOD = 5.0
"""Wall time between two warnings of a node [s]."""


def warn_refused(node: Node, topic: str, error: Exception) -> None:
    """Warn that a message is not taken, and why; not for each of many."""
    node.get_logger().warning(
        f"{topic} refused: {error}", throttle_duration_sec=_PERIOD
    )


class Refusals:
    """Messages that a node did not take.

    Args:
        node: whose messages they are.
    """

    def __init__(self, node: Node) -> None:
        """None yet."""
        self._node, self._count, self._reported, self._last = node, 0, 0, ""

    def add(self, topic: str, error: Exception) -> None:
        """Note that a message is not taken, and warn."""
        self._count += 1
        self._last = f"{topic}: {error}"
        warn_refused(self._node, topic, error)

    def warning(self) -> str:
        """Refused messages since the last call; empty where there were none."""
        new, self._reported = self._count > self._reported, self._count
        return f"messages were refused: {self._last}" if new else ""

    def values(self) -> dict[str, str]:
        """Count and last reason, for diagnostics."""
        return {"refused_messages": str(self._count), "last_refusal": self._last}
