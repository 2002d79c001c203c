"""Runs a graph composed in this process, for machines without ``ros2 launch``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from humans_sim.graphs import Graph
from humans_sim.nodes.flow_check import Flow, FlowCheck
from humans_sim.nodes.model_node import node_class
from humans_sim.nodes.process import NodeProcess, StopEvent


def run_graph(
    graph: Graph,
    overrides: Sequence[str] = (),
    pages: bool = True,
    seconds: float | None = None,
    check: bool = False,
    further: Sequence[Callable[[Callable[[], None]], Any]] = (),
    report: Callable[[list[Flow]], None] = lambda _: None,
) -> None:
    """Run a graph until Ctrl-C, or for some time.

    Args:
        graph: the graph.
        overrides: further ROS arguments (``-p name:=value``, ``-r old:=new``).
        pages: whether nodes that open a page are run.
        seconds: how long to run; None runs until interrupted.
        check: count the messages of the graph's topics.
        further: makers of nodes that run besides; each is given a function that ends
            the graph.
        report: called with what flowed (with ``check``; else nothing) when the nodes
            are closed. The middleware is left only after it: should that hang, the
            process ends there, with the exit code of what this function raised.
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
    with NodeProcess(arguments, stop) as process:
        process.run(factories, seconds)
        report(checks[0].flows() if checks else [])
