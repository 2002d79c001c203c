# SPDX-License-Identifier: Apache-2.0
"""Runs a graph composed in this process, for machines without ``ros2 launch``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from humans_sim.applications.graphs import Graph
from humans_sim.nodes.common.flow_check import Flow, FlowCheck
from humans_sim.nodes.common.model_node import node_class
from humans_sim.nodes.common.process import Leave, NodeProcess, StopEvent


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
