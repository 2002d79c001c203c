# SPDX-License-Identifier: Apache-2.0
"""An action server whose goals take time without keeping the executor busy."""

from __future__ import annotations

from typing import Any

from rclpy.action import ActionServer


class PatientServer(ActionServer):
    """Runs no callback while a goal is executed, only at its end.

    A callback that waits would keep rclpy's executor busy.
    """

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Execute where there is something to, at the end of the goal."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)
