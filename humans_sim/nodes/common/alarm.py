# SPDX-License-Identifier: Apache-2.0
"""A call after some wall time, which a busy node may set anew in each of its calls."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.clock import Clock
from rclpy.node import Node

_AT_ONCE = 1e-4
"""Wall time below which a timer is not worth it [s]."""


class Alarm:
    """Calls a function of a node once, in the node's thread.

    rclpy's executor that is led by events dispatches a timer twice that is reset in its
    own callback and is due at once: the queue of events grows with each call, and a
    request waits as long as the node has been busy. So what is due at once is a task.

    Args:
        node: in whose thread the function is called.
        callback: the function.
        clock: of the time to wait.
    """

    def __init__(self, node: Node, callback: Callable[[], None], clock: Clock) -> None:
        """Nothing is due yet."""
        self._node, self._callback = node, callback
        self._timer = node.create_timer(1.0, self._ring, clock=clock, autostart=False)
        self._due = self._posted = False
        self._error: Exception | None = None

    def cancel(self) -> None:
        """Call nothing."""
        self._timer.cancel()
        self._due = False

    def set(self, wait: float) -> None:
        """Call after some time, in place of any time before.

        Args:
            wait: wall time [s]; none or less: as soon as others had their turn.
        """
        self.cancel()
        if wait >= _AT_ONCE:
            self._start_timer(int(wait * 1e9))
            return
        self._due = True
        if not self._posted:
            self._posted = True
            self._node.executor.create_task(self._on_task)

    def _start_timer(self, nanoseconds: int) -> None:
        self._timer.timer_period_ns = nanoseconds
        self._timer.reset()

    def _on_task(self) -> None:
        self._posted = False
        if not self._due:
            return
        self._due = False
        try:
            self._callback()
        except Exception as error:  # a task that raises ends the process without a word
            self._error = error
            self._start_timer(1)

    def _ring(self) -> None:
        self._timer.cancel()
        if self._error is not None:
            raise self._error
        self._callback()
