# SPDX-License-Identifier: Apache-2.0
"""An action server whose goals take time without keeping the executor busy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.node import Node


class PatientServer(ActionServer):
    """Runs no callback while a goal is executed, only at its end.

    A callback that waits would keep rclpy's executor busy. Every goal may be cancelled.

    Args:
        node: that serves.
        kind: type of the action.
        name: of the action.
        on_goal: called with the handle of each goal that was accepted.
        options: others of rclpy's action server.
    """

    def __init__(
        self,
        node: Node,
        kind: Any,
        name: str,
        on_goal: Callable[[Any], None],
        **options: Any,
    ) -> None:
        """Begin to serve."""
        super().__init__(
            node,
            kind,
            name,
            execute_callback=lambda _: None,
            handle_accepted_callback=on_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            **options,
        )

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Execute where there is something to, at the end of the goal."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)
