# SPDX-License-Identifier: Apache-2.0
"""``humans-sim calibrate`` and ``humans-sim reconstruct``.

Also their tables of people measured and motions reconstructed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from humans_sim.cli.options import (
    Again,
    Cluster,
    Example,
    Workers,
    options_of,
    output_file,
    output_folder,
)
from humans_sim.cli.output import console, described_os_errors, result, say, table_of
from humans_sim.cli.signals import DoubtfulResultError
from humans_sim.core.errors import HumansError, ParameterError, printable
from humans_sim.core.files import make_output_folder
from humans_sim.observation.reconstruction_options import PERSON, ReconstructionOptions

if TYPE_CHECKING:
    from rich.console import Console

    from humans_sim.applications.batch.trial import Job, Outcome
    from humans_sim.observation.posture.calibrate import Calibration


_GRADES = {"good": "[green]ok", "doubtful": "[yellow]??", "failed": "[red]no"}


def print_calibration(
    console: Console, found: Calibration, convention: str = "humans"
) -> None:
    """Sizes, places of markers, standing in a convention, and what was not seen."""
    sizes = _table("sizes", ("", "name"), ("found [mm]", "usual [mm]", "± [mm]"))
    sizes.add_column("")
    for size in found.sizes:
        note = "on a bound" if size.bounded else "" if size.seen else "not seen"
        sizes.add_row(
            _mark(size.seen and not size.bounded),
            escape(size.name),
            _mm(size.value),
            _mm(size.usual),
            _mm(size.spread),
            note,
        )
    console.print(sizes)
    columns = ("moved [mm]", "± [mm]", "left over [mm]")
    markers = _table("markers", ("", "name", "segment"), columns)
    for marker in found.markers:
        markers.add_row(
            _mark(marker.seen),
            escape(marker.name),
            escape(marker.segment),
            _mm(marker.moved),
            _mm(marker.spread),
            _mm(marker.rms),
        )
    console.print(markers)
    subject = found.subject
    guess = "" if found.mass_given else " (a usual one for the stature)"
    console.print(
        f"stature {subject.height:.3f} m, mass {subject.mass:.1f} kg{guess}; "
        f"{_mm(found.rms)} mm rms over {found.frames} frames"
    )
    if found.standing:
        angles = ", ".join(
            f"{n} {math.degrees(a):+.0f}"
            for n, a in found.standing_angles(convention).items()
        )
        console.print(f"standing [deg]: {escape(angles)}")
    _tell(console, "not as of a person who stands: check labels and set", found.unusual)
    _tell(console, "could not be seen, and are as tables say", found.unseen)
    _tell(console, "of the set, in no trial", found.missing)
    _tell(console, "in the trials, unknown to the set", found.ignored)


def print_outcomes(console: Console, outcomes: Sequence[Outcome]) -> None:
    """A row for each trial."""
    # Narrow: it has to stand in 80 columns.
    table = Table(title="trials", box=SIMPLE_HEAD, padding=0, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("trial", overflow="fold", min_width=11)
    for column in ("frames", "rms\n[mm]"):
        table.add_column(escape(column), justify="right", no_wrap=True)
    table.add_column("worst\nmarker", overflow="ellipsis", no_wrap=True, max_width=16)
    for column in ("mean\n[mm]", "worst\nframe", "rms\n[mm]"):
        table.add_column(escape(column), justify="right", no_wrap=True)
    for column in ("occl.\n[%]", "rej.\n[%]", "time\n[s]"):
        table.add_column(escape(column), justify="right", no_wrap=True)
    for outcome in outcomes:
        summary = outcome.summary
        if not summary:
            table.add_row(_GRADES["failed"], escape(outcome.name))
            continue
        worst = summary["worst_frames"][0]
        kept = outcome.state == "kept" and summary["verdict"] == "good"
        table.add_row(
            "[blue]kept" if kept else _GRADES[summary["verdict"]],
            escape(outcome.name),
            str(summary["frames"]),
            _mm(summary["rms"]),
            escape(summary["worst_marker"]),
            _mm(summary["worst_marker_mean"]),
            str(worst["frame"]),
            _mm(worst["rms"]),
            _percent(summary["occluded"]),
            _percent(summary["rejected"]),
            f"{outcome.seconds:.1f}",
        )
    console.print(table)
    print_forces(console, outcomes)
    for outcome in outcomes:
        for note in outcome.summary.get("notes", ()):
            text = printable(f"{outcome.name}: {note}")
            console.print(f"[yellow]{escape(text)}[/]", soft_wrap=True)
        grade = outcome.summary.get("verdict", "good")
        if grade != "good":
            reasons = "; ".join(outcome.summary["reasons"])
            text = printable(f"{outcome.name}: {grade}: {reasons}")
            colour = "red" if grade == "failed" else "yellow"
            console.print(f"[{colour}]{escape(text)}[/]", soft_wrap=True)


def print_forces(console: Console, outcomes: Sequence[Outcome]) -> None:
    """A line for the forces of each trial that has some, and what is to be known."""
    for outcome in outcomes:
        for forces in outcome.summary.get("forces", ()):
            console.print(f"{escape(outcome.name)}: {_forces(forces)}", soft_wrap=True)
            for note in forces["notes"]:
                text = printable(f"{outcome.name}: {note}")
                console.print(f"[yellow]{escape(text)}[/]", soft_wrap=True)


def _forces(forces: Mapping[str, Any]) -> str:
    parts = [f"mass {forces['mass']:.1f} kg"]
    if forces["covered"]:
        parts.append(f"plates cover {_percent(forces['covered'])} % of the frames")
    if forces["rms"] is not None and forces["correlation"] is not None:
        parts.append(
            "vertical force from markers alone: "
            f"r {forces['correlation']:.3f}, {_percent(forces['rms'])} % of body weight"
        )
    if None not in forces["residual_force"]:
        values = " ".join(_percent(value) for value in forces["residual_force"])
        shift = 1e3 * forces["largest_shift"]
        after = f" after a shift of up to {shift:.1f} mm" if shift else ""
        parts.append(f"residual force x y z {values} % rms{after}")
    return "; ".join(parts)


def print_details(console: Console, outcome: Outcome) -> None:
    """Markers and worst frames of one trial."""
    summary: Mapping[str, Any] = outcome.summary
    columns = ("rms [mm]", "mean [mm]", "occluded [%]", "rejected [%]")
    markers = _table("markers", ("name",), columns)
    for row in summary["markers"]:
        markers.add_row(
            escape(row["name"]),
            _mm(row["rms"]),
            _mm(row["mean"]),
            _percent(row["occluded"]),
            _percent(row["rejected"]),
        )
    console.print(markers)
    frames = _table("worst frames", (), ("frame", "time [s]", "rms [mm]"))
    frames.add_column("worst marker")
    for column in ("its [mm]", "used"):
        frames.add_column(escape(column), justify="right")
    for row in summary["worst_frames"]:
        if row["rms"] is None:
            continue
        frames.add_row(
            str(row["frame"]),
            f"{row['time']:.3f}",
            _mm(row["rms"]),
            escape(row["marker"]),
            _mm(row["largest"]),
            str(row["used"]),
        )
    console.print(frames)
    restless = summary["frames"] - summary["converged"]
    if restless:
        console.print(f"{restless} of {summary['frames']} frames ended at no minimum")
    _tell(
        console, "joints that no marker sees, kept near rest", summary["unobservable"]
    )
    _tell(console, "of the set, not in the file", summary["missing"])
    _tell(console, "in the file, not used", summary["ignored"])


def _table(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(title=title)
    for column in words:
        table.add_column(escape(column), overflow="fold")
    for column in numbers:
        table.add_column(escape(column), justify="right", no_wrap=True)
    return table


def _tell(console: Console, what: str, names: Sequence[str]) -> None:
    if names:
        console.print(f"{what}: {', '.join(names)}", markup=False, highlight=False)


def _mark(good: bool) -> str:
    return "[green]ok" if good else "[yellow]--"


def _mm(distance: float | None) -> str:
    return "–" if distance is None else f"{1e3 * distance:.1f}"


def _percent(share: float) -> str:
    """A share; what is not quite nothing does not look like it."""
    percent = 100.0 * share
    return "< 0.1" if 0 < percent < 0.1 else f"{percent:.1f}"


_BECAME = {"failed": "failed", "doubtful": "gave doubtful results"}


@options_of(
    ReconstructionOptions,
    *("marker_set", "height", "mass", "correspondence", "force"),
    *("up", "units", "rate", "convention"),
)
def calibrate(
    trials: Annotated[
        list[Path] | None,
        typer.Argument(help="A trial of standing still, then motions if there are."),
    ] = None,
    *,
    options: ReconstructionOptions,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The subject file.",
            callback=output_file(".yaml", ".yml"),
        ),
    ] = Path("subject.yaml"),
    title: Annotated[str, typer.Option(help="One line about the person.")] = "",
    osim: Annotated[
        Path | None,
        typer.Option(
            help="The person as an OpenSim model too.", callback=output_file(".osim")
        ),
    ] = None,
) -> None:
    """Measure a person from markers (without a file: list the marker sets)."""
    if not trials:
        _print_marker_sets()
        return
    if options.marker_set is None:
        raise ParameterError(
            "which markers are these? Give --marker-set NAME or a file of your own "
            "(humans-sim calibrate lists them)"
        )
    from humans_sim.applications.person import HUMAN, calibrate_recordings
    from humans_sim.cli.output import display
    from humans_sim.models import load_model
    from humans_sim.models.conventions import load_convention
    from humans_sim.observation.posture.opensim_files import check_coordinates

    convention = options.convention
    load_convention(convention, load_model(HUMAN))
    if osim is not None:
        check_coordinates(load_model(HUMAN), convention)
    say("measuring")
    notes: list[str] = []
    with display():
        found = calibrate_recordings(
            trials,
            options.marker_set,
            height=options.height,
            mass=options.mass,
            reading=options.reading,
            correspondence=options.correspondence,
            title=title,
            note=notes.append,
            force=options.force,
        )
    for note in notes:
        say(note)
    print_calibration(console, found, convention)
    with described_os_errors(output):
        found.subject.save(output)
    say(f"written: {output}")
    written = [output]
    if osim is not None:
        with described_os_errors(osim):
            written.append(found.subject.to_osim(osim, convention))
        say(f"written: {osim}")
    result(**_contents(found, convention), written=written)


def _contents(found: Calibration, convention: str) -> dict[str, Any]:
    """A calibration, for ``--json``."""
    return {
        "height": found.subject.height,
        "mass": found.subject.mass,
        "mass_given": found.mass_given,
        "rms": found.rms,
        "frames": found.frames,
        "sizes": found.sizes,
        "markers": found.markers,
        "standing": found.standing_angles(convention),
        "unusual": found.unusual,
        "unseen": found.unseen,
        "missing": found.missing,
        "ignored": found.ignored,
    }


def _print_marker_sets() -> None:
    from humans_sim.models import load_model
    from humans_sim.observation.markers.marker_set import load_marker_set
    from humans_sim.observation.markers.marker_set import marker_set_names as all_names

    human = load_model("human36")
    table = table_of("marker sets", "name", "what it is", right=("markers",))
    listed = []
    for name in all_names():
        marker_set = load_marker_set(name, human)
        table.add_row(name, marker_set.title, str(len(marker_set.markers)))
        labels = [marker.name for marker in marker_set.markers]
        listed.append({"name": name, "title": marker_set.title, "markers": labels})
    result(marker_sets=listed)
    console.print(table)
    console.print("A file of your own is a marker set too: see docs/markers.md.")


_FIELDS = [
    field.name
    for field in fields(ReconstructionOptions)
    if field.name not in ("start", "end", "uncertainty")
]


@options_of(ReconstructionOptions, *_FIELDS)
def reconstruct(
    sources: Annotated[
        list[Path] | None, typer.Argument(help="Recordings, or folders of them.")
    ] = None,
    example: Example = False,
    *,
    options: ReconstructionOptions,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Folder of the results.", callback=output_folder
        ),
    ] = Path("reconstructed"),
    workers: Workers = None,
    cluster: Cluster = None,
    again: Again = False,
) -> None:
    """Find a person's postures from markers; one recording or a tree of them."""
    from humans_sim.applications.batch.batches import plan_batch

    if example:
        if sources is not None or options.has(PERSON):
            raise ParameterError("--example has a recording and a person of its own")
        from humans_sim.applications.example_recordings import WHO, example_file

        say("the example is synthetic: a simulated person, pushed while standing")
        sources, options = [example_file()], replace(options, **WHO)
    if not sources:
        raise typer.BadParameter("give recordings or folders of them, or --example")
    jobs = plan_batch(sources, output, settings=options)
    if options.force_file is not None and len(jobs) > 1:
        raise ParameterError(
            f"--force-file is of one recording, and there are {len(jobs)}"
        )
    if make_output_folder(output):
        say(f"folder made: {output}")
    say(f"{len(jobs)} recording{'s' if len(jobs) > 1 else ''}")
    outcomes = _run(jobs, workers, cluster, again)
    _print_all(outcomes, output)


def _run(
    jobs: Sequence[Job], workers: int | None, cluster: str | None, again: bool
) -> list[Outcome]:
    from humans_sim.applications.batch.batches import run_batch
    from humans_sim.cli.output import display

    outcomes: list[Outcome] = []
    try:
        with (
            display() as shown,
            closing(
                run_batch(
                    jobs,
                    workers=workers,
                    cluster=cluster,
                    again=again,
                    watch=shown.show,
                )
            ) as doing,
        ):
            shown.show("recordings", 0, len(jobs))
            for outcome in doing:
                outcomes.append(outcome)
                shown.show("recordings", len(outcomes), len(jobs))
                shown.remove(outcome.name)
                if outcome.state == "failed":
                    name, why = escape(outcome.name), escape(outcome.message)
                    console.print(f"[red]{name}:[/] {why}", highlight=False)
    except KeyboardInterrupt:
        sound = sum(outcome.state != "failed" for outcome in outcomes)
        say(f"stopped: {sound} of {len(jobs)} are done; the same command resumes")
        raise
    order = {job.name: place for place, job in enumerate(jobs)}
    return sorted(outcomes, key=lambda outcome: order[outcome.name])


def _outcome(outcome: Outcome) -> dict[str, Any]:
    """The outcome of a trial, for ``--json``."""
    return {
        "name": outcome.name,
        "state": outcome.state,
        "message": outcome.message,
        "seconds": outcome.seconds,
        "summary": outcome.summary or None,
    }


def _print_all(outcomes: Sequence[Outcome], output: Path) -> None:
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    result(output=output, trials=[_outcome(outcome) for outcome in outcomes])
    if len(outcomes) == 1 and not failed:
        print_details(console, outcomes[0])
    if len(failed) < len(outcomes):
        print_outcomes(console, outcomes)
    kept = sum(outcome.state == "kept" for outcome in outcomes)
    if kept:
        say(f"{kept} done before, kept (--again does such ones again)")
    if len(failed) < len(outcomes):
        say(f"written: {output}")
    grades = [outcome.summary.get("verdict", "failed") for outcome in outcomes]
    for grade, error in (("failed", HumansError), ("doubtful", DoubtfulResultError)):
        if grade in grades:
            raise error(
                f"{grades.count(grade)} of {len(grades)} recordings {_BECAME[grade]}: "
                "see above"
            )
