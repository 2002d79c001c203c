"""How ``humans-sim up`` runs graphs, and tells how that went."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from humans_sim.doctor import ros_hint
from humans_sim.errors import HumansError, MissingDependencyError
from humans_sim.graphs import Graph

if TYPE_CHECKING:
    from humans_sim.nodes.flow_check import Flow
    from humans_sim.nodes.walk_trial import WalkOutcome

LONGEST_WALK = 600.0
"""Wall time after which a walk of some steps is given up [s]."""


def walk_wanted(
    console: Console,
    graph: Graph,
    arguments: list[str],
    headless: bool,
    steps: int,
    speed: float,
    folder: Path | None,
    limit: float,
) -> None:
    """Let a graph walk, and tell how it went."""
    try:
        from humans_sim.control.walking import Velocity
        from humans_sim.nodes.walk_trial import walk_trial
    except ImportError as error:
        raise _no_ros(error) from None
    console.print(f"{graph.title}: {steps} steps at {speed:g} m/s")

    def report(walk: WalkOutcome) -> None:
        _report_walk(console, walk)

    walk_trial(
        graph,
        arguments,
        not headless,
        steps=steps,
        velocity=Velocity(speed),
        folder=folder,
        timeout=limit,
        report=report,
    )


def _report_walk(console: Console, walk: WalkOutcome) -> None:
    _print_flows(console, walk.flows)
    console.print(
        f"{walk.outcome}: {walk.steps} steps, {walk.forwards:.3f} m forwards, "
        f"{1000 * walk.sideways:.0f} mm to the left, turned by "
        f"{np.degrees(walk.turn):.1f} degrees; {walk.duration:.2f} s at "
        f"{walk.speed:.3f} m/s, real-time factor {walk.real_time_factor:.2f}"
    )
    if walk.run is not None:
        console.print(f"written: {walk.run}")
    if not walk.done:
        raise HumansError(f"the walk {walk.outcome}: {walk.message}")


def _no_ros(error: ImportError) -> HumansError:
    return MissingDependencyError(
        f"the nodes need ROS 2, and '{error.name}' is not here: {ros_hint()}"
    )


def run_wanted(
    console: Console,
    graph: Graph,
    arguments: list[str],
    headless: bool,
    seconds: float | None,
    check: bool,
) -> None:
    """Run a graph until it is told to end."""
    try:
        from humans_sim.nodes.compose import run_graph
    except ImportError as error:
        raise _no_ros(error) from None
    console.print(f"{graph.title} (Ctrl-C ends)")

    def report(flows: Sequence[Flow]) -> None:
        if check:
            _print_flows(console, flows)
            console.print("[green]All topics flowed.")

    run_graph(graph, arguments, not headless, seconds, check, report=report)


def _print_flows(console: Console, flows: Sequence[Flow]) -> None:
    """Print what was seen on topics; a silent one is an error."""
    table = Table(title="topics")
    table.add_column("topic")
    table.add_column("messages", justify="right")
    table.add_column("rate [Hz]", justify="right")
    for flow in flows:
        table.add_row(flow.topic, str(flow.count), f"{flow.rate:.1f}")
    console.print(table)
    silent = [flow.topic for flow in flows if flow.count == 0]
    if silent:
        raise HumansError(f"nothing came on {', '.join(silent)}")
