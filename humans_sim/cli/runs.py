# SPDX-License-Identifier: Apache-2.0
"""``humans-sim run``, ``check`` and ``report``: simulations, and stored ones."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from humans_sim.cli.options import (
    ANIMATIONS,
    SCENES,
    Drive,
    Feedback,
    Integrator,
    Method,
    PageTitle,
    RunFile,
    ScenarioName,
    checked_option,
    flag,
    model_names,
    number,
    numbers_of_option,
    output_file,
    output_option,
    picture_option,
    positive,
)
from humans_sim.cli.output import (
    console,
    described_os_errors,
    print_titles,
    result,
    say,
    table_of,
)
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.core.files import check_output_file

if TYPE_CHECKING:
    from rich.console import Console

    from humans_sim.cli.stored_runs import Stored
    from humans_sim.results.check import Check


_WRITERS = {".npz": "", ".mcap": "to_mcap", ".csv": "to_csv"}
"""What writes a run, by ending; run files are written while it is simulated."""
_NOT_RIGHT = "the run is not physically right: see the table"


def run(
    scenario: ScenarioName = "",
    model: Annotated[
        str | None,
        typer.Option(help="Another biped model.", autocompletion=model_names),
    ] = None,
    end: Annotated[
        float | None, checked_option("Time at the end in seconds.", positive)
    ] = None,
    method: Annotated[
        Method | None, typer.Option(help="How contacts are treated in time.")
    ] = None,
    integrator: Annotated[
        Integrator | None, typer.Option(help="Of the event-driven method.")
    ] = None,
    friction: Annotated[
        float | None,
        checked_option("Coulomb friction with this coefficient.", number(least=0.0)),
    ] = None,
    feedback: Annotated[
        Feedback | None, typer.Option(help="What the controller sees.")
    ] = None,
    actuation: Annotated[
        Drive | None, typer.Option(help="What moves the joints of a walk.")
    ] = None,
    walking: Annotated[
        Path | None, typer.Option(help="File of a walk, instead of the robot's own.")
    ] = None,
    pace: Annotated[
        str | None,
        typer.Option(help="Of a walk: shares of the fastest, FORWARDS,ASIDE,TURN."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="KEY=VALUE of its file, e.g. ground.slope=3."),
    ] = None,
    save: Annotated[
        Path | None,
        checked_option("Write the run: .npz, .mcap or .csv.", output_file(*_WRITERS)),
    ] = None,
    plot: Annotated[Path | None, picture_option("Draw the run")] = None,
    animate: Annotated[
        Path | None,
        checked_option(
            "Page .html, film .gif, film strip .png, 3D scene .glb, .x3d or .wrl.",
            output_file(*ANIMATIONS),
        ),
    ] = None,
    view: Annotated[bool, flag("--view", "Play it in the browser.")] = False,
) -> None:
    """Simulate a scenario and check its physics (without a name: list them)."""
    from humans_sim.applications.batch.variations import parse_settings
    from humans_sim.applications.scenarios import read_scenario
    from humans_sim.applications.scenarios import scenario_names as all_names

    if not scenario:
        print_titles("scenarios", "what happens", all_names(), read_scenario)
        return
    changes: dict[str, Any] = {"model": model, "end": end, "friction": friction}
    if method is not None:
        changes["method"] = method.value
    if feedback is not None:
        changes["feedback"] = feedback.value
    if actuation is not None:
        changes["actuation"] = actuation.value
    changes["walking"] = walking
    if pace is not None:
        changes["pace"] = numbers_of_option("--pace", pace)
    if integrator is not None:
        changes["options"] = {"integrator": integrator.value}
    chosen = read_scenario(scenario, parse_settings(settings or ()))
    chosen = chosen.with_changes(**changes)
    shown = chosen.model is not None or chosen.has_bodies
    shown = shown or chosen.has_wrist or chosen.has_network
    if not shown and (view or animate is not None):
        raise ParameterError(
            f"'{chosen.name}' has neither a biped model nor bodies: --view and "
            "--animate cannot show it; try --plot"
        )
    _check_animation(chosen, animate)
    if chosen.has_wrist and save is not None and save.suffix.lower() != ".npz":
        raise ParameterError(f"--save: a wrist is written to .npz, not '{save.name}'")
    say(f"{chosen.title}: {chosen.end:g} s, {chosen.method}")
    start = time.perf_counter()
    streamed = save is not None and save.suffix.lower() == ".npz"
    done, failure = _simulated(chosen, save if streamed else None)
    wall = time.perf_counter() - start
    checked = _print_run(chosen, done, wall)
    _write(done, save, plot, animate)
    if failure is not None:
        raise failure
    if view:
        from humans_sim.cli.view import play

        play([done])
    if not checked:
        raise HumansError(_NOT_RIGHT)


def _check_animation(chosen: Any, animate: Path | None) -> None:
    """Refuse what cannot be shown so, before it is simulated."""
    if animate is None:
        return
    suffix = animate.suffix.lower()
    if chosen.has_bodies and suffix in (".gif", ".png"):
        raise ParameterError(
            "--animate: free bodies are shown as a page .html or a scene .glb, .x3d, "
            f".wrl, not '{animate.name}'"
        )
    if chosen.has_network and suffix in SCENES:
        raise ParameterError(
            "--animate: a network of masses is shown as .html, .gif or .png, not "
            f"'{animate.name}'"
        )


def _simulated(chosen: Any, save: Path | None) -> tuple[Stored, HumansError | None]:
    """A run, to its end or to what stopped it; a run file is written on the way."""
    from humans_sim.cli.output import progress
    from humans_sim.dynamics.simulation import SimulationError

    with progress("simulating") as watch:
        try:
            return chosen.run(progress=watch, save=save), None
        except SimulationError as error:
            return error.run, error


def _print_run(chosen: Any, done: Stored, wall: float) -> Check:
    """Print what happened; return whether it is physically right."""
    from humans_sim.analysis.summary import incident_lines, incidents_of
    from humans_sim.cli.stored_runs import wrist_lines
    from humans_sim.dynamics.joints import dissipation_text
    from humans_sim.results.run import Run

    span = float(done.t[-1] - done.t[0])
    say(f"{span:g} s simulated in {wall:.2f} s")
    used = dissipation_text(done.info)
    if used:
        say(used)
    for piece in _worn(done).get("coat", ()):
        say(piece["report"])
    print_events(console, done)
    checked = done.check()
    print_check(console, checked)
    for line in wrist_lines(done):
        say(line)
    incidents = incidents_of(done) if isinstance(done, Run) else ()
    for line in incident_lines(incidents):
        say(line)
    result(
        incidents=incidents,
        scenario=chosen.name,
        title=chosen.title,
        method=chosen.method,
        simulated=span,
        wall_time=wall,
        **_contents(done, checked),
        written=[],
    )
    return checked


def _contents(done: Stored, checked: Check) -> dict[str, Any]:
    """The contents of a run, for ``--json``."""
    counts: dict[str, int] = {}
    for event in done.events:
        counts[event.kind] = counts.get(event.kind, 0) + 1
    return {
        "system": done.info.get("system"),
        "samples": len(done.t),
        "end_time": done.t[-1] if len(done.t) else None,
        "events": counts,
        "physically_right": bool(checked),
        "checks": checked.findings,
        **_worn(done),
    }


def _worn(done: Stored) -> dict[str, Any]:
    """Pieces that a body wears, for ``--json``: their influence on the body."""
    pieces = done.info.get("coat", {}).get("influences", ())
    keys = ("piece", "link", "mass", "carried_by", "report")
    rows = [{key: one[key] for key in keys} for one in pieces]
    return {"coat": rows} if rows else {}


def _write(
    done: Stored, save: Path | None, plot: Path | None, animate: Path | None
) -> None:
    written: list[Path] = []
    result(written=written)
    if save is not None:
        if writer := _WRITERS[save.suffix.lower()]:
            with described_os_errors(save):
                getattr(done, writer)(save)
        written.append(save)
        say(f"written: {save}")
    if plot is not None:
        from humans_sim.cli.stored_runs import plot_stored

        with described_os_errors(plot):
            plot_stored(done, plot)
        written.append(plot)
        say(f"drawn: {plot}")
    if animate is not None:
        from humans_sim.view.film.animation import animate as write_animation

        with described_os_errors(animate):
            write_animation(done, animate)
        written.append(animate)
        say(f"animated: {animate}")


def check(file: RunFile) -> None:
    """Check the physics of a run: gaps, forces, friction, energy, impacts."""
    from humans_sim.cli.stored_runs import load_stored

    stored = load_stored(file)
    checked = stored.check()
    say(f"{file}: {stored.info.get('system')}, {len(stored.t)} samples")
    print_check(console, checked)
    result(file=file, **_contents(stored, checked))
    if not checked:
        raise HumansError(_NOT_RIGHT)


def report(
    file: RunFile,
    output: Annotated[
        Path | None, output_option("The page; default: beside the run.", ".html")
    ] = None,
    title: PageTitle = "",
    animation: Annotated[
        bool, typer.Option(help="With a film and a scene to turn; they take longer.")
    ] = True,
    walked: Annotated[
        bool, flag("--walked", "Fail unless it walked, did not fall, and is clean.")
    ] = False,
) -> None:
    """Report a run: steps, distance, balance, checks; write it as one page."""
    from humans_sim.cli.stored_runs import load_stored, report_stored

    stored = load_stored(file)
    page = file.with_suffix(".html") if output is None else output
    check_output_file(page, (".html",))
    from humans_sim.cli.output import display

    say(f"writing {page}")
    with display(), described_os_errors(page):
        summary = report_stored(stored, page, title, animation)
    checked = stored.check()
    if summary is not None:
        # The walk report.
        table = table_of(summary.headline, "", "what", "how much")
        section = ""
        for row in summary.rows():
            if row.section != section:
                table.add_section()
            table.add_row(
                row.section if row.section != section else "", row.name, row.value
            )
            section = row.section
        console.print(table)
    print_check(console, checked)
    say(f"written: {page}")
    verdict = None if summary is None else summary.verdict
    walk = None if summary is None else summary.as_dict()
    result(file=file, written=[page], walk=walk, **_contents(stored, checked))
    if walked and verdict != "walked":
        raise HumansError(f"{file} is no walk to the end")
    if walked and not checked:
        raise HumansError(f"{file} is not clean: see the checks above")


_COLOURS = {"ok": "green", "no": "red", "n/a": "yellow"}


def print_events(console: Console, done: Stored) -> None:
    """How often what happened."""
    counts: dict[str, list[float]] = {}
    for event in done.events:
        counts.setdefault(event.kind, []).append(event.time)
    if not counts:
        return
    table = table_of("events", "kind", right=("number", "first [s]", "last [s]"))
    for kind, times in counts.items():
        table.add_row(
            escape(kind), str(len(times)), f"{times[0]:.9g}", f"{times[-1]:.9g}"
        )
    console.print(table)


def print_check(console: Console, checked: Check) -> None:
    """Whether the run is physically right."""
    table = Table(title="check")
    table.add_column("")
    table.add_column("what")
    for column in ("worst", "limit"):
        table.add_column(column, justify="right")
    table.add_column("unit")
    table.add_column("where")
    for finding in checked.findings:
        table.add_row(
            f"[{_COLOURS[finding.word]}]{finding.word}",
            finding.name,
            finding.value_text,
            finding.limit_text,
            finding.unit,
            escape(finding.where),
        )
    console.print(table)
