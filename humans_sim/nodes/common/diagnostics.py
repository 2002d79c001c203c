# SPDX-License-Identifier: Apache-2.0
"""Status on ``/diagnostics`` (REP-107), and messages that are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from humans_sim.core.errors import ConfigurationError
from humans_sim.nodes.common.conversions import nanoseconds_of

BEAT = 1.0
"""Wall time between two messages [s]."""
REFUSED = "refused_messages"


def is_beside(node: Node, status: str) -> bool:
    """Whether the status of this name is of a node in the same namespace."""
    name = status.partition(":")[0]
    return name.rpartition("/")[0] == node.get_namespace().strip("/")


class Diagnostics:
    """Counts what a part of a node does, and reports how it fares.

    The status has the node's full name: several robots report on one topic.

    Args:
        hardware: what it is about, the name of a model.

    Attributes:
        last_refusal: topic and reason of the last message that was not taken.
    """

    def __init__(self, node: Node, part: str, hardware: str) -> None:
        self._node, self._hardware = node, hardware
        self._name = f"{node.get_fully_qualified_name().lstrip('/')}: {part}"
        self._topic = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.counts, self._reported = Counter[str](), Counter[str]()
        self.last_refusal = ""

    def refuse(self, topic: str, error: Exception, count: str = REFUSED) -> None:
        """Count that a message is not taken, and warn."""
        self.counts[count] += 1
        self.last_refusal = f"{topic}: {error}"
        warn_refused(self._node, topic, error)

    def taker(
        self,
        topic: str,
        read: Callable[[Any], Any],
        take: Callable[[str, int, Any], None],
    ) -> Callable[[Any], None]:
        """A callback that hands on what messages say, and refuses the others.

        Args:
            topic: of the messages.
            read: gives what a message says, or raises a ConfigurationError.
            take: called with the topic, the stamp [ns] and what the message says.
        """

        def callback(message: Any) -> None:
            try:
                value = read(message)
            except ConfigurationError as error:
                self.refuse(topic, error)
                return
            take(topic, nanoseconds_of(message.header.stamp), value)

        return callback

    def new(self, *names: str) -> int:
        """How much counts have grown since the last message, together."""
        return sum(self.counts[name] - self._reported[name] for name in names)

    def refused(self) -> str:
        """A warning of messages refused since the last report; else empty."""
        return (
            f"messages were refused: {self.last_refusal}" if self.new(REFUSED) else ""
        )

    def counted(self, *names: str) -> dict[str, str]:
        """Values of counts."""
        return {name: str(self.counts[name]) for name in names}

    def refusals(self, *names: str) -> dict[str, str]:
        """Values of counts, refused messages unless given, and the last reason."""
        return {**self.counted(*names or (REFUSED,)), "last_refusal": self.last_refusal}

    def publish(
        self, state: str, failure: str, warning: str, values: Mapping[str, str]
    ) -> None:
        """Report how it is.

        The failure is why it does not continue, the warning what else went wrong; each
        is empty where there is none.
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
        self._reported = self.counts.copy()


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
