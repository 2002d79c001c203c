# SPDX-License-Identifier: Apache-2.0
"""Warnings of messages that are not taken."""

from __future__ import annotations

from rclpy.node import Node

_PERIOD = 5.0
"""Wall time between two warnings of a node [s]."""


def warn_refused(node: Node, topic: str, error: Exception) -> None:
    """Warn that a message is not taken, and why; not for each of many."""
    node.get_logger().warning(
        f"{topic} refused: {error}", throttle_duration_sec=_PERIOD
    )
