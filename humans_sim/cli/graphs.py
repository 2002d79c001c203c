# SPDX-License-Identifier: Apache-2.0
"""``humans-sim up``: graphs of ROS 2 nodes in one process, and how that went."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from humans_sim.cli.options import (
    Seconds,
    checked_option,
    graph_names,
    model_names,
    number,
    output_folder,
)
from humans_sim.cli.output import console, print_titles, result, say
from humans_sim.cli.signals import at_end, own_handling
from humans_sim.core.doctor import no_ros
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.core.output_paths import make_output_folder

if TYPE_CHECKING:
    from humans_sim.applications.graphs import Graph
    from humans_sim.nodes.common.flow_check import Flow

LONGEST_WALK = 600.0
"""Wall time after which a walk of some steps is given up [s]."""


def up(
    graph: Annotated[
        str,
        typer.Argument(
            help="Name of a graph, or a graph file of your own.",
            autocompletion=graph_names,
        ),
    ] = "",
    model: Annotated[
        str | None, typer.Option(help="Another model.", autocompletion=model_names)
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="Without the browser page.")
    ] = False,
    seconds: Seconds = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Count messages; fail where a topic is silent."),
    ] = False,
    ros_args: Annotated[
        list[str] | None,
        typer.Option("--ros", help="A ROS argument pair, e.g. 'p viewer:port:=8090'."),
    ] = None,
    steps: Annotated[
        int | None,
        checked_option("Walk so many steps, then end (graph walk).", number(least=1)),
    ] = None,
    speed: Annotated[
        float, checked_option("Forwards, with --steps [m/s].", number())
    ] = 0.05,
    folder: Annotated[
        Path | None,
        checked_option("With --steps: where run.npz is written.", output_folder),
    ] = None,
) -> None:
    """Run a graph of ROS 2 nodes in this process (without a name: list them)."""
    from humans_sim.applications.graphs import graph_names as all_names
    from humans_sim.applications.graphs import read_graph

    if not graph:
        print_titles("graphs", "what it runs", all_names(), read_graph)
        return
    chosen = read_graph(graph)
    arguments: list[str] = []
    if model is not None:
        from humans_sim.models import load_model

        load_model(model)
        arguments += ["-p", f"model:={model}"]
    for pair in ros_args or []:
        flag, _, value = pair.partition(" ")
        arguments += [f"-{flag.lstrip('-')}", value]
    if folder is not None and steps is None:
        raise ParameterError("--folder is for a walk of some steps: add --steps")
    result(graph=chosen.name, title=chosen.title)
    with own_handling():
        if steps is None:
            _run_graph(chosen, arguments, headless, seconds, check)
        else:
            limit = LONGEST_WALK if seconds is None else seconds
            _walk(chosen, arguments, headless, steps, speed, folder, limit)


def _walk(
    graph: Graph,
    arguments: list[str],
    headless: bool,
    steps: int,
    speed: float,
    folder: Path | None,
    limit: float,
) -> None:
    """Let a graph walk, and print how it went."""
    try:
        from humans_sim.control.walking import Velocity
        from humans_sim.nodes.walk.trial import walk_trial
    except ImportError as error:
        raise no_ros(error) from None
    if folder is not None and make_output_folder(folder):
        say(f"folder made: {folder}")
    say(f"{graph.title}: {steps} steps at {speed:g} m/s")
    walk = walk_trial(
        graph,
        arguments,
        not headless,
        steps=steps,
        velocity=Velocity(speed),
        folder=folder,
        timeout=limit,
        defer=at_end,
    )
    result(
        outcome=walk.outcome,
        message=walk.message,
        steps=walk.steps,
        forwards=walk.forwards,
        sideways=walk.sideways,
        turn=walk.turn,
        duration=walk.duration,
        speed=walk.speed,
        wall_time=walk.wall_time,
        real_time_factor=walk.real_time_factor,
        written=[] if walk.run is None else [walk.run],
    )
    _print_flows(walk.flows)
    say(
        f"{walk.outcome}: {walk.steps} steps, {walk.forwards:.3f} m forwards, "
        f"{1000 * walk.sideways:.0f} mm to the left, turned by "
        f"{math.degrees(walk.turn):.1f} degrees; {walk.duration:.2f} s at "
        f"{walk.speed:.3f} m/s, real-time factor {walk.real_time_factor:.2f}"
    )
    if walk.run is not None:
        say(f"written: {walk.run}")
    if not walk.done:
        raise HumansError(f"the walk {walk.outcome}: {walk.message}")


def _run_graph(
    graph: Graph,
    arguments: list[str],
    headless: bool,
    seconds: float | None,
    check: bool,
) -> None:
    """Run a graph until it is asked to end."""
    try:
        from humans_sim.nodes.common.compose import run_graph
    except ImportError as error:
        raise no_ros(error) from None
    say(f"{graph.title} (Ctrl-C ends)")
    flows = run_graph(graph, arguments, not headless, seconds, check, defer=at_end)
    if check:
        _print_flows(flows)
        console.print("[green]All topics flowed.")


def _print_flows(flows: Sequence[Flow]) -> None:
    """Print what was seen on topics; a silent one is an error."""
    result(
        topics=[
            {"topic": flow.topic, "messages": flow.count, "rate": flow.rate}
            for flow in flows
        ]
    )
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
