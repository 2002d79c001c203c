# SPDX-License-Identifier: Apache-2.0
"""Messages that are not taken: warned of, counted, reported."""

from __future__ import annotations

from rclpy.node import Node

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
        """What was refused since the last call; empty where nothing was."""
        new, self._reported = self._count > self._reported, self._count
        return f"messages were refused: {self._last}" if new else ""

    def values(self) -> dict[str, str]:
        """Count and last reason, for diagnostics."""
        return {"refused_messages": str(self._count), "last_refusal": self._last}
