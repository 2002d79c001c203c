"""What the nodes share: the model named by a parameter, and their process."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from humans_sim.errors import HumansError
from humans_sim.models import load_model
from humans_sim.observation.posture.subject import load_subject


class ModelNode(Node):
    """A node that works on one model, given by the parameter ``model``.

    The parameter ``subject``, the file of a calibrated person, goes over it.

    Attributes:
        model: what it works on.
        subject: the person, or None.
    """

    usual_model = "khr1"
    """The model where no parameter names one."""

    def __init__(self, name: str, **options: Any) -> None:
        """Declare ``model`` and ``subject``, and load what they name."""
        super().__init__(name, **options)
        model = str(self.declare_parameter("model", self.usual_model).value)
        subject = str(self.declare_parameter("subject", "").value)
        self.subject = load_subject(subject) if subject else None
        self.model = load_model(model) if not self.subject else self.subject.model()

    def close(self) -> None:
        """Free what the node holds beside its topics."""


def spin_all(
    nodes: Sequence[ModelNode], stop: threading.Event, seconds: float | None = None
) -> None:
    """Spin nodes until ``stop`` is set or ``seconds`` are over.

    Each node has a single-threaded executor and a thread of its own.

    (rclpy's multi-threaded executor loses most of its rate to any subscription.)

    Raises:
        HumansError: a callback of a node failed; the others are stopped.
    """
    failures: list[tuple[str, BaseException]] = []
    executors: list[SingleThreadedExecutor] = []
    threads: list[threading.Thread] = []

    def spin(node: ModelNode, executor: SingleThreadedExecutor) -> None:
        try:
            while not stop.is_set():
                executor.spin_once(timeout_sec=0.2)
        except ExternalShutdownException:
            pass
        except Exception as error:  # reported to the caller, whatever it is
            if rclpy.ok():
                failures.append((node.get_name(), error))
        finally:
            stop.set()

    for node in nodes:
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        executors.append(executor)
        threads.append(threading.Thread(target=spin, args=(node, executor)))
    for thread in threads:
        thread.start()
    # Short waits, so that signals are handled in between.
    end = math.inf if seconds is None else time.monotonic() + seconds
    while not stop.wait(0.1) and time.monotonic() < end:
        pass
    stop.set()
    for thread in threads:
        thread.join()
    for node, executor in zip(nodes, executors, strict=True):
        executor.remove_node(node)
        executor.shutdown(timeout_sec=1.0)
    if failures:
        name, error = failures[0]
        raise HumansError(f"the node {name} stopped: {error}") from error


def stop_on_signals() -> threading.Event:
    """An event that SIGINT and SIGTERM set."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop


def run_nodes(
    factories: Sequence[Callable[[], ModelNode]],
    arguments: Sequence[str],
    stop: threading.Event,
    seconds: float | None = None,
) -> None:
    """Start rclpy, make the nodes, spin them, and leave everything closed.

    Args:
        factories: make one node each.
        arguments: command line with ``--ros-args``.
        stop: set it to end.
        seconds: how long to spin; None spins until ``stop``.
    """
    rclpy.init(
        args=["humans_sim", *arguments], signal_handler_options=SignalHandlerOptions.NO
    )
    nodes: list[ModelNode] = []
    try:
        for factory in factories:
            nodes.append(factory())
        spin_all(nodes, stop, seconds)
    finally:
        for node in nodes:
            node.close()
            node.destroy_node()
        rclpy.try_shutdown()


def run_process(factory: Callable[[], ModelNode]) -> None:
    """Body of a node's ``main``: one node in this process, clear errors."""
    try:
        run_nodes([factory], sys.argv[1:], stop_on_signals())
    except HumansError as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        raise SystemExit(1) from None
