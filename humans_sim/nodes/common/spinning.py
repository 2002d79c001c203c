# SPDX-License-Identifier: Apache-2.0
"""Runs the callbacks of nodes, in as few threads as they allow."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from typing import Any

import rclpy
from rclpy.executors import (
    Executor,
    ExternalShutdownException,
    SingleThreadedExecutor,
)

from humans_sim.core.errors import HumansError
from humans_sim.nodes.common.process_node import ProcessNode

_LOOK = 0.1
"""Wall time between two looks at the stop event [s]."""
_PATIENCE = 0.7
"""Wall time for callbacks to come back after a stop, all threads together [s]."""


def _executor() -> Executor:
    """The executor that is led by events, where this rclpy has it.

    The classic one looks at everything of all its nodes for each message.
    """
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()


def groups(nodes: Sequence[ProcessNode]) -> list[list[ProcessNode]]:
    """Nodes that share a thread: all but those whose callbacks may block.

    Nodes in lock-step wait for each other anyway. In one thread they do not also wait
    for the interpreter's lock.
    """
    shared = [node for node in nodes if not node.blocks]
    alone = [[node] for node in nodes if node.blocks]
    return ([shared] if shared else []) + alone


class Spinning:
    """Threads that spin nodes, from the construction to :meth:`finish`.

    Args:
        nodes: to spin.
        stop: set it to end; it is set here when a callback fails.
    """

    def __init__(self, nodes: Sequence[ProcessNode], stop: threading.Event) -> None:
        """Begin to spin."""
        self._stop = stop
        self._failures: list[tuple[str, BaseException]] = []
        self._spun: list[tuple[Any, threading.Thread]] = []
        for group in groups(nodes):
            executor = _executor()
            for node in group:
                executor.add_node(node)
            names = ", ".join(node.get_name() for node in group)
            # Daemons: a callback that does not return must not keep the process.
            thread = threading.Thread(
                target=self._spin, args=(executor, names), name=names, daemon=True
            )
            self._spun.append((executor, thread))
        for _, thread in self._spun:
            thread.start()

    def _spin(self, executor: Any, names: str) -> None:
        try:
            while not self._stop.is_set():
                executor.spin_once(timeout_sec=_LOOK)
        except ExternalShutdownException:
            pass
        except Exception as error:  # reported by finish, whatever it is
            if rclpy.ok():
                self._failures.append((names, error))
        finally:
            self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until ``stop`` is set or ``seconds`` are over."""
        end = math.inf if seconds is None else time.monotonic() + seconds
        # Short waits, so that signals are handled in between.
        while not self._stop.wait(_LOOK) and time.monotonic() < end:
            pass
        self._stop.set()

    def finish(self) -> None:
        """Wait a little for callbacks that still run; ``stop`` is set.

        Raises:
            HumansError: a callback of a node failed.
        """
        end = time.monotonic() + _PATIENCE
        for _, thread in self._spun:
            thread.join(max(0.0, end - time.monotonic()))
        if self._failures:
            names, error = self._failures[0]
            raise HumansError(f"the node {names} stopped: {error}") from error

    def leave(self) -> bool:
        """Take the nodes from their executors; whether no callback runs any more."""
        if any(thread.is_alive() for _, thread in self._spun):
            return False
        for executor, _ in self._spun:
            executor.shutdown()
        return True
