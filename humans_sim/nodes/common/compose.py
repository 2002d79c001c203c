# SPDX-License-Identifier: Apache-2.0
"""Graphs composed in this process, for machines without ``ros2 launch``.

Also counts of the messages of a graph's topics, to see whether they flow.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile

from humans_sim.applications.graphs import Graph
from humans_sim.nodes.common.conversions import message_class
from humans_sim.nodes.common.model_node import ProcessNode, node_class
from humans_sim.nodes.common.process import Leave, NodeProcess, StopEvent

_DEPTH = 50


@dataclass(frozen=True)
class Flow:
    """Messages seen on a topic.

    Attributes:
        rate: messages a second, from the first to the last.
    """

    topic: str
    count: int
    rate: float


@dataclass
class _Seen:
    """Messages of a topic so far: how many, and when the first and the last came."""

    count: int = 0
    first: float = 0.0
    last: float = 0.0

    def add(self, now: float) -> None:
        if not self.count:
            self.first = now
        self.count, self.last = self.count + 1, now

    @property
    def rate(self) -> float:
        """Messages a second, from the first to the last."""
        if self.count < 2:
            return 0.0
        return (self.count - 1) / max(self.last - self.first, 1e-9)


class FlowCheck(ProcessNode):
    """Subscribes to topics and counts."""

    def __init__(self, topics: Mapping[str, str], latched: set[str]) -> None:
        super().__init__("flow_check")
        self._lock = threading.Lock()
        self._seen = {topic: _Seen() for topic in topics}
        for topic, kind in topics.items():
            qos = QoSProfile(depth=_DEPTH)
            if topic in latched:
                qos.durability = DurabilityPolicy.TRANSIENT_LOCAL
            # Raw: what is only counted need not be unpacked.
            self.create_subscription(
                message_class(kind), topic, partial(self._count, topic), qos, raw=True
            )

    def _count(self, topic: str, _: Any) -> None:
        with self._lock:
            self._seen[topic].add(time.monotonic())

    def flows(self) -> list[Flow]:
        """Counts so far."""
        with self._lock:
            return [
                Flow(topic, seen.count, seen.rate) for topic, seen in self._seen.items()
            ]


def run_graph(
    graph: Graph,
    overrides: Sequence[str] = (),
    pages: bool = True,
    seconds: float | None = None,
    check: bool = False,
    further: Sequence[Callable[[Callable[[], None]], Any]] = (),
    defer: Callable[[Leave], None] | None = None,
) -> list[Flow]:
    """Run a graph until Ctrl-C, or for some time.

    Args:
        graph: the graph.
        overrides: further ROS arguments (``-p name:=value``, ``-r old:=new``).
        pages: whether nodes that open a page are run.
        seconds: how long to run; None runs until interrupted.
        check: count the messages of the graph's topics.
        further: makers of nodes that run besides; each is given a function that ends
            the graph.
        defer: see :class:`~humans_sim.nodes.common.process.NodeProcess`.

    Returns:
        What flowed, with ``check``; else nothing.
    """
    kinds = [kind for kind in graph.nodes if pages or kind not in graph.pages]
    factories: list[Callable[[], Any]] = [node_class(kind) for kind in kinds]
    checks: list[FlowCheck] = []

    def make_check() -> FlowCheck:
        checks.append(FlowCheck(graph.topics, set(graph.latched)))
        return checks[0]

    if check:
        factories.insert(0, make_check)
    stop = StopEvent()
    factories += [partial(make, stop.set) for make in further]
    arguments = ["--ros-args", "--params-file", str(graph.parameters), *overrides]
    with NodeProcess(arguments, stop, defer) as process:
        process.run(factories, seconds)
    return checks[0].flows() if checks else []
