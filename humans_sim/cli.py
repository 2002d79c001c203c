"""The command ``humans-sim``."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from humans_sim import __version__
from humans_sim.doctor import examine, ros_hint
from humans_sim.errors import HumansError, MissingDependencyError
from humans_sim.graphs import Graph, graph_names, read_graph
from humans_sim.models import NAMES, load_model

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Simulate, observe and drive bipeds: humans and robots.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console()


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"humans_sim {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Say which."),
    ] = False,
) -> None:
    """Simulate, observe and drive bipeds: humans and robots."""


@app.command()
def doctor() -> None:
    """Tell what is installed, what is missing and how to mend it."""
    table = Table(title="humans-sim doctor")
    for column in ("", "what", "found", "what to do"):
        table.add_column(column, overflow="fold")
    group, missing = "", 0
    for finding in examine():
        if finding.group != group:
            group = finding.group
            table.add_section()
        ok = finding.found is not None
        missing += finding.needed and not ok
        mark = "[green]ok" if ok else "[red]no" if finding.needed else "[yellow]--"
        found = finding.found or "missing"
        table.add_row(mark, finding.name, found, "" if ok else finding.mend)
    console.print(table)
    if missing:
        console.print(f"[red]{missing} needed part(s) missing.")
        raise typer.Exit(1)
    console.print("Everything that is needed is here.")


@app.command()
def models() -> None:
    """List the models that come with the package."""
    table = Table(title="models")
    for column in ("name", "what it is"):
        table.add_column(column)
    for column in ("joints", "mass [kg]", "height [m]", "tags", "contacts"):
        table.add_column(column, justify="right")
    for name in NAMES:
        model = load_model(name)
        height = model.tags(model.neutral())[:, 2].max()
        table.add_row(
            name,
            model.title,
            str(len(model.joint_names)),
            f"{model.mass:.2f}",
            f"{height:.3f}",
            str(len(model.tag_names)),
            str(len(model.contact_names)),
        )
    console.print(table)
    console.print("Any two-legged URDF is a model too: give its path.")


@app.command()
def view(
    model: Annotated[str, typer.Argument(help="human36, bip, khr1 or a URDF file.")],
    height: Annotated[
        float | None, typer.Option(help="Stature of a human [m].")
    ] = None,
    mass: Annotated[float | None, typer.Option(help="Body mass [kg].")] = None,
    port: Annotated[int, typer.Option(help="First port to try; 0: any.")] = 8080,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; the default is this machine only."),
    ] = "127.0.0.1",
    move: Annotated[
        bool, typer.Option("--move", help="Let the joints sway, without ROS.")
    ] = False,
    seconds: Annotated[
        float | None, typer.Option(help="Close after so long; default: Ctrl-C.")
    ] = None,
) -> None:
    """Show a model in the browser, with a slider for each joint."""
    from humans_sim.control.sway import Sway
    from humans_sim.view.scene import Scene

    loaded = load_model(model, height=height, mass=mass)
    scene = Scene(loaded, host, port)
    console.print(f"{loaded.title}: open [bold]{scene.url}[/] (Ctrl-C ends)")
    sway = Sway.of_model(loaded) if move else None
    if sway is None:
        scene.add_sliders()
    start = time.monotonic()
    try:
        while seconds is None or time.monotonic() - start < seconds:
            if sway is not None:
                joints, _ = sway.at(time.monotonic() - start)
                scene.show(loaded.standing(joints))
            time.sleep(1 / 30 if sway is not None else 0.2)
    except KeyboardInterrupt:
        pass
    finally:
        scene.stop()


@app.command()
def up(
    graph: Annotated[
        str, typer.Argument(help="Name of a graph, or a graph file of your own.")
    ] = "",
    model: Annotated[str | None, typer.Option(help="Another model.")] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="Without the browser page.")
    ] = False,
    seconds: Annotated[
        float | None, typer.Option(help="Stop after so long; default: Ctrl-C.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Count messages; fail where a topic is silent."),
    ] = False,
    ros_args: Annotated[
        list[str] | None,
        typer.Option("--ros", help="A ROS argument pair, e.g. 'p viewer:port:=8090'."),
    ] = None,
) -> None:
    """Run a graph of ROS 2 nodes in this process (without a name: list them)."""
    if not graph:
        table = Table(title="graphs")
        table.add_column("name")
        table.add_column("what it runs")
        for name in graph_names():
            table.add_row(name, read_graph(name).title)
        console.print(table)
        return
    wanted = read_graph(graph)
    arguments: list[str] = []
    if model is not None:
        load_model(model)
        arguments += ["-p", f"model:={model}"]
    for pair in ros_args or []:
        flag, _, value = pair.partition(" ")
        arguments += [f"-{flag.lstrip('-')}", value]
    _run_graph(wanted, arguments, headless, seconds, check)


def _run_graph(
    graph: Graph,
    arguments: list[str],
    headless: bool,
    seconds: float | None,
    check: bool,
) -> None:
    try:
        from humans_sim.nodes.compose import run_graph
    except ImportError as error:
        raise MissingDependencyError(
            f"the nodes need ROS 2, and '{error.name}' is not here: {ros_hint()}"
        ) from None
    console.print(f"{graph.title} (Ctrl-C ends)")
    flows = run_graph(graph, arguments, not headless, seconds, check)
    if not check:
        return
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
    console.print("[green]All topics flowed.")


def main() -> None:
    """Entry point: errors of ours are one clear line."""
    try:
        app()
    except HumansError as error:
        Console(stderr=True).print(f"[red]humans-sim:[/] {error}", highlight=False)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
