# SPDX-License-Identifier: Apache-2.0
"""Graphs composed in this process, for machines without ``ros2 launch``.

Also counts of the messages of a graph's topics, to see whether they flow.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile

from humans_sim.applications.graphs import Graph, Placing
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


_NODE_PARAMETER = re.compile(r"(?P<node>[A-Za-z_]\w*):(?!=)(?P<assignment>.+)", re.S)
_FLAGS = ("-p", "--param")


def node_parameters(overrides: Sequence[str]) -> tuple[list[str], str]:
    """Take parameters of one node out of ROS arguments, as text of a parameter file.

    ROS 2 matches ``-p node:name:=value`` with nodes that have no namespace; keys of a
    file match in any.

    Returns:
        The other arguments, and the text.
    """
    others, rows = list[str](), dict[str, list[str]]()
    for flag, value in zip(overrides[::2], overrides[1::2], strict=True):
        match = _NODE_PARAMETER.fullmatch(value) if flag in _FLAGS else None
        name, is_set, given = match["assignment"].partition(":=") if match else [""] * 3
        if match is None or not is_set:
            others += [flag, value]
            continue
        rows.setdefault(match["node"], []).append(f"    {name}: {given}")
    return others, "\n".join(
        f"/**/{node}:\n  ros__parameters:\n" + "\n".join(lines)
        for node, lines in rows.items()
    )


def run_graph(
    graph: Graph,
    overrides: Sequence[str] = (),
    pages: bool = True,
    seconds: float | None = None,
    check: bool = False,
    further: Sequence[Callable[[Callable[[], None]], Any]] = (),
    defer: Callable[[Leave], None] | None = None,
    placing: Placing = Placing(),  # noqa: B008
) -> list[Flow]:
    """Run a graph until Ctrl-C, or for some time.

    Args:
        graph: the graph.
        overrides: further ROS arguments, pairs of a flag and its value
            (``-p node:name:=value``, ``-r old:=new``).
        pages: whether nodes that open a page are run.
        seconds: how long to run; None runs until interrupted.
        check: count the messages of the graph's topics.
        further: makers of nodes that run besides; each is given a function that ends
            the graph.
        defer: see :class:`~humans_sim.nodes.common.process.NodeProcess`.
        placing: of the graph.

    Returns:
        What flowed, with ``check``; else nothing.
    """
    factories: list[Callable[[], Any]] = [
        partial(
            node_class(kind), cli_args=["--ros-args", *placing.within(own).arguments()]
        )
        if own
        else node_class(kind)
        for kind, own in zip(graph.nodes, graph.namespaces, strict=True)
        if pages or kind not in graph.pages
    ]
    checks: list[FlowCheck] = []

    def make_check() -> FlowCheck:
        checks.append(FlowCheck(graph.topics, set(graph.latched)))
        return checks[0]

    if check:
        factories.insert(0, make_check)
    stop = StopEvent()
    factories += [partial(make, stop.set) for make in further]
    others, own = node_parameters(overrides)
    arguments = ["--ros-args", "--params-file", str(graph.parameters)]
    arguments += placing.arguments()
    with ExitStack() as stack:
        with TemporaryDirectory() as folder:
            if own:
                file = Path(folder) / "parameters.yaml"
                file.write_text(own)
                arguments += ["--params-file", str(file)]
            process = stack.enter_context(
                NodeProcess([*arguments, *others], stop, defer)
            )
        process.run(factories, seconds)
    return checks[0].flows() if checks else []
