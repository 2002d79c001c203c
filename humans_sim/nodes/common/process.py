# SPDX-License-Identifier: Apache-2.0
"""The process of a node or of a composed graph: its start, its signals, its end.

The end comes in this order: robots are made safe, callbacks come back, nodes close what
they hold (files, ports, pages), the middleware is left. The middleware can hang there
while other participants vanish, so this last part has a deadline
(:mod:`~humans_sim.nodes.common.process_end`).
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any

import rclpy
from rclpy.executors import (
    Executor,
    ExternalShutdownException,
    SingleThreadedExecutor,
)
from rclpy.signals import SignalHandlerOptions

from humans_sim.core.errors import HumansError
from humans_sim.core.kernel_compilation import Compilation, report_compilation
from humans_sim.nodes.common.diagnostics import BEAT
from humans_sim.nodes.common.model_node import ProcessNode
from humans_sim.nodes.common.process_end import deadline, remove_dead_segments

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
        stop: set it to end; it is set here when a callback fails.
    """

    def __init__(self, nodes: Sequence[ProcessNode], stop: threading.Event) -> None:
        self._stop = stop
        self._failures: list[tuple[str, BaseException]] = []
        self._spun: list[tuple[Any, threading.Thread]] = []
        for group in groups(nodes):
            executor = _executor()
            for node in group:
                executor.add_node(node)
                node.answer_parameters()
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
        """Wait a little for callbacks that still run; raises what failed in one."""
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


_CLOSING = 20.0
"""Wall time for robots and files; a bad serial line or a slow disk needs some [s]."""
_BREAKING = 1.5
"""Wall time in which a process that is still making its nodes ends [s]."""
_LEAVING = 1.0
"""Wall time in which the middleware must let the process go [s]."""


class StopEvent(threading.Event):
    """Set by SIGINT and SIGTERM, which it handles from its construction on."""

    def __init__(self) -> None:
        super().__init__()
        self._end: Callable[[], None] | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.set()
        self._call_end()

    def _call_end(self) -> None:
        end, self._end = self._end, None
        if end is not None:
            end()

    @contextmanager
    def ending(self, end: Callable[[], None]) -> Iterator[None]:
        """Call ``end`` at once when a signal comes in the block, or has come.

        Args:
            end: ends the process. It is called within whatever runs then, as a compiler
                that calls back from C, where an exception would do harm.
        """
        self._end = end
        if self.is_set():
            self._call_end()
        try:
            yield
        finally:
            self._end = None


Leave = Callable[[int], None]
"""Leaves the middleware; where that hangs, ends the process with an exit code."""


class CompilationLog:
    """Says that kernels are compiled, as nodes do not answer meanwhile.

    Once in the log, and each second on ``/diagnostics``, for all nodes of the process.
    """

    def __init__(self) -> None:
        self._reported_at = -math.inf

    def __call__(self, compilation: Compilation) -> None:
        """Take how far it is."""
        now = time.monotonic()
        if math.isinf(self._reported_at):
            rclpy.logging.get_logger("humans_sim").info(
                "compiling kernels, once: this may take a minute"
            )
        if now < self._reported_at + BEAT:
            return
        self._reported_at = now
        for node in [node for node in ProcessNode.living if node.context.ok()]:
            node.report_start(f"compiling kernels, {compilation.count} so far")


class NodeProcess:
    """rclpy and nodes in this process; a context that leaves the middleware at its end.

    Args:
        arguments: command line with ``--ros-args``.
        defer: is given the function that leaves the middleware, for the very end of the
            process: what is printed or written before is not lost should that hang.
            None: it is left when the context ends.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        stop: StopEvent,
        defer: Callable[[Leave], None] | None = None,
    ) -> None:
        self._arguments, self._stop, self._defer = arguments, stop, defer
        self._nodes: list[ProcessNode] = []
        self._spinning: Spinning | None = None

    def __enter__(self) -> NodeProcess:
        """Start rclpy."""
        remove_dead_segments()
        rclpy.init(
            args=["humans_sim", *self._arguments],
            signal_handler_options=SignalHandlerOptions.NO,
        )
        return self

    def run(
        self, factories: Sequence[Callable[[], Any]], seconds: float | None = None
    ) -> None:
        """Make nodes, spin them for some time or for ever, close what they hold."""
        try:
            with (
                self._stop.ending(self._break_off),
                report_compilation(CompilationLog()),
            ):
                for factory in factories:
                    self._nodes.append(factory())
            if not self._stop.is_set():
                self._spinning = Spinning(self._nodes, self._stop)
                self._spinning.wait(seconds)
        finally:
            with deadline(_CLOSING, 1):
                self._close()

    def _break_off(self) -> None:
        """End the process while nodes are made."""
        with deadline(_BREAKING, 0):
            self._close()
            for node in set(ProcessNode.living) - set(self._nodes):
                # It is not complete, so parts that it lacks may be asked for.
                with suppress(Exception):
                    node.destroy_node()
            self._leave(0)
            os._exit(0)

    def _close(self) -> None:
        for node in self._nodes:
            node.make_safe()
        try:
            if self._spinning is not None:
                self._spinning.finish()
        finally:
            for node in self._nodes:
                node.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the middleware, now or later."""
        if self._defer is not None:
            self._defer(self._leave)
        else:
            self._leave(0 if error is None else 1)

    def _leave(self, code: int) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        with deadline(_LEAVING, code):
            if self._spinning is not None and not self._spinning.leave():
                # A callback still runs, and destroying under it would crash.
                os._exit(code)
            for node in self._nodes:
                node.destroy_node()
            rclpy.try_shutdown()


def run_process(name: str, factory: Callable[[], ProcessNode]) -> None:
    """One node in this process, which ends with it; the name is for its errors."""
    code = 0
    leaves: list[Leave] = []
    try:
        with NodeProcess(sys.argv[1:], StopEvent(), leaves.append) as process:
            process.run([factory])
    except HumansError as error:
        print(f"{name}: {error}", file=sys.stderr)
        code = 1
    for leave in leaves:
        leave(code)
    # Libraries of the middleware still have threads, which an interpreter that ends in
    # the ordinary way can trip over.
    os._exit(code)
