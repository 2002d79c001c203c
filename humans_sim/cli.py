"""The command ``humans-sim``."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from humans_sim import __version__
from humans_sim.cli_graphs import LONGEST_WALK, run_wanted, walk_wanted
from humans_sim.cli_kondo import app as kondo
from humans_sim.cli_reconstruct import calibrate, reconstruct
from humans_sim.cli_tables import print_check, print_events, print_summary
from humans_sim.doctor import examine
from humans_sim.errors import HumansError, ParameterError
from humans_sim.graphs import graph_names, read_graph
from humans_sim.models import NAMES, Model, load_model

if TYPE_CHECKING:
    from humans_sim.dynamics.run import Run

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
        float | None, typer.Option(help="Stature of a human in metres.")
    ] = None,
    mass: Annotated[float | None, typer.Option(help="Body mass in kilograms.")] = None,
    port: Annotated[int, typer.Option(help="First port to try; 0: any.")] = 8080,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; the default is this machine only."),
    ] = "127.0.0.1",
    move: Annotated[
        bool, typer.Option("--move", help="Let the joints sway, without ROS.")
    ] = False,
    walk: Annotated[
        bool, typer.Option("--walk", help="Let it walk, simulated, without ROS.")
    ] = False,
    seconds: Annotated[
        float | None, typer.Option(help="Close after so long; default: Ctrl-C.")
    ] = None,
) -> None:
    """Show a model in the browser: a slider for each joint, or a walk."""
    from humans_sim.control.sway import Sway
    from humans_sim.view.scene import Scene

    loaded = load_model(model, height=height, mass=mass)
    if walk:
        if move:
            raise ParameterError("a model walks or sways: --walk or --move, not both")
        _show_walk(loaded, host, port, seconds)
        return
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


def _show_walk(model: Model, host: str, port: int, seconds: float | None) -> None:
    from humans_sim.view.live import show_walk

    def tell(url: str) -> None:
        console.print(f"{model.title} walks: open [bold]{url}[/] (Ctrl-C ends)")

    show_walk(model, host, port, seconds, tell)


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
    steps: Annotated[
        int | None, typer.Option(help="Walk so many steps, then end (graph walk).")
    ] = None,
    speed: Annotated[float, typer.Option(help="Forwards, with --steps [m/s].")] = 0.05,
    folder: Annotated[
        Path | None, typer.Option(help="With --steps: where run.npz is written.")
    ] = None,
) -> None:
    """Run a graph of ROS 2 nodes in this process (without a name: list them)."""
    if not graph:
        titles = {name: read_graph(name).title for name in graph_names()}
        _print_titles("graphs", "what it runs", titles)
        return
    wanted = read_graph(graph)
    arguments: list[str] = []
    if model is not None:
        load_model(model)
        arguments += ["-p", f"model:={model}"]
    for pair in ros_args or []:
        flag, _, value = pair.partition(" ")
        arguments += [f"-{flag.lstrip('-')}", value]
    if steps is None:
        run_wanted(console, wanted, arguments, headless, seconds, check)
        return
    if steps < 1:
        raise ParameterError(f"--steps must be 1 or more, not {steps}")
    limit = LONGEST_WALK if seconds is None else seconds
    walk_wanted(console, wanted, arguments, headless, steps, speed, folder, limit)


@app.command()
def run(
    scenario: Annotated[
        str, typer.Argument(help="Name of a scenario, or a scenario file of your own.")
    ] = "",
    model: Annotated[str | None, typer.Option(help="Another biped model.")] = None,
    end: Annotated[
        float | None, typer.Option(help="Time at the end in seconds.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="event_driven or time_stepping.")
    ] = None,
    integrator: Annotated[str | None, typer.Option(help="dop853 or cvode.")] = None,
    friction: Annotated[
        float | None, typer.Option(help="Coulomb friction with this coefficient.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the run: .npz, .mcap or .csv.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the run: .png, .svg or .pdf.")
    ] = None,
    animate: Annotated[
        Path | None,
        typer.Option(help="Page .html, film .gif or film strip .png (bipeds)."),
    ] = None,
    view: Annotated[
        bool, typer.Option("--view", help="Play it in the browser (bipeds).")
    ] = False,
) -> None:
    """Simulate a scenario and check its physics (without a name: list them)."""
    from humans_sim.scenarios import read_scenario, scenario_names

    if not scenario:
        titles = {name: read_scenario(name).title for name in scenario_names()}
        _print_titles("scenarios", "what happens", titles)
        return
    changes: dict[str, Any] = {"model": model, "end": end, "method": method}
    changes["friction"] = friction
    if integrator is not None:
        changes["options"] = {"integrator": integrator}
    chosen = read_scenario(scenario).with_changes(**changes)
    if save is not None and save.suffix not in _WRITERS:
        raise ParameterError(f"--save writes {', '.join(_WRITERS)}, not '{save.name}'")
    shown = chosen.model is not None or chosen.has_bodies
    if not shown and (view or animate is not None):
        raise ParameterError(
            f"'{chosen.name}' has neither a biped model nor bodies: --view and "
            "--animate cannot show it; try --plot"
        )
    if animate is not None:
        from humans_sim.view.animation import animate as write_animation
        from humans_sim.view.animation import check_animation_path

        check_animation_path(animate)
    from humans_sim.dynamics.simulation import SimulationError

    start = time.perf_counter()
    failure = None
    try:
        done = chosen.run()
    except SimulationError as error:
        failure, done = error, error.run
    wall = time.perf_counter() - start
    span = float(done.t[-1] - done.t[0])
    console.print(f"{chosen.title}: {span:g} s simulated in {wall:.2f} s")
    print_events(console, done)
    print_check(console, done)
    if save is not None:
        getattr(done, _WRITERS[save.suffix])(save)
        console.print(f"written: {save}")
    if plot is not None:
        done.plot(plot)
        console.print(f"drawn: {plot}")
    if animate is not None:
        write_animation(done, animate)
        console.print(f"animated: {animate}")
    if failure is not None:
        raise failure
    if view:
        _play(done)
    if not done.check():
        raise HumansError("the run is not physically right: see the table")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A run file, .npz.")],
) -> None:
    """Check the physics of a run: gaps, forces, friction, energy, impacts."""
    from humans_sim.dynamics.run import load_run

    stored = load_run(file)
    console.print(f"{file}: {stored.info.get('system')}, {len(stored.t)} samples")
    print_check(console, stored)
    if not stored.check():
        raise HumansError("the run is not physically right: see the table")


@app.command()
def report(
    file: Annotated[Path, typer.Argument(help="A run file, .npz.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The page; default: beside the run."),
    ] = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "",
    animation: Annotated[
        bool, typer.Option(help="With a film and a scene to turn; they take longer.")
    ] = True,
    walked: Annotated[
        bool,
        typer.Option(
            "--walked", help="Fail unless it walked, did not fall, and is clean."
        ),
    ] = False,
) -> None:
    """Tell what a run was: steps, way, balance, checks; write it as one page."""
    from humans_sim.dynamics.run import load_run
    from humans_sim.view.report import write_report

    stored = load_run(file)
    page = file.with_suffix(".html") if output is None else output
    summary = write_report(stored, page, title, animation=animation)
    if summary is not None:
        print_summary(console, summary)
    print_check(console, stored)
    console.print(f"written: {page}")
    if walked and (summary is None or summary.verdict != "walked"):
        raise HumansError(f"{file} is no walk to the end")
    if walked and not stored.check():
        raise HumansError(f"{file} is not clean: see the checks above")


app.command()(calibrate)
app.command()(reconstruct)
app.add_typer(kondo, name="kondo", help="Drive a Kondo KHR-1, or an emulated one.")


def _print_titles(title: str, column: str, titles: dict[str, str]) -> None:
    table = Table(title=title)
    table.add_column("name")
    table.add_column(column)
    for name, text in titles.items():
        table.add_row(name, text)
    console.print(table)


_WRITERS = {".npz": "save", ".mcap": "to_mcap", ".csv": "to_csv"}


def _play(done: Run) -> None:
    """Show a run in the browser, again and again, in real time."""
    show, scene = _shown(done)
    console.print(f"open [bold]{scene.url}[/] (Ctrl-C ends)")
    pause = 1.0
    try:
        while True:
            start = time.monotonic()
            while (now := time.monotonic() - start + done.t[0]) < done.t[-1] + pause:
                k = min(int(np.searchsorted(done.t, now)), len(done.t) - 1)
                show(k)
                time.sleep(1 / 30)
    except KeyboardInterrupt:
        pass
    finally:
        scene.stop()


def _shown(done: Run) -> tuple[Callable[[int], None], Any]:
    """A page of a run: what shows a sample of it, and the page."""
    if "bodies" in done.info:
        from humans_sim.view.bodies_page import BodiesView

        bodies = BodiesView(done)
        return bodies.show, bodies
    from humans_sim.view.page import camera, show_sample
    from humans_sim.view.replay import Replay
    from humans_sim.view.scene import Scene

    replay = Replay(done)
    scene = Scene(replay.model, ground=replay.ground, axes=False)
    scene.look_at(*camera(replay))
    return lambda k: show_sample(scene, replay, k), scene


def main() -> None:
    """Entry point: errors of ours are one clear line."""
    try:
        app()
    except HumansError as error:
        Console(stderr=True).print(
            f"[red]humans-sim:[/] {escape(str(error))}", highlight=False
        )
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
