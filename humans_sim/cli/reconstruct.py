# SPDX-License-Identifier: Apache-2.0
"""``humans-sim calibrate`` and ``humans-sim reconstruct``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from humans_sim.cli.exit_codes import DoubtfulResultError
from humans_sim.cli.options import (
    Axis,
    Mode,
    Unit,
    checked_option,
    convention_names,
    marker_set_names,
    number,
    output_file,
    output_folder,
    positive,
)
from humans_sim.cli.output import console, described_os_errors, result, say
from humans_sim.cli.posture_tables import (
    print_calibration,
    print_details,
    print_outcomes,
)
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.core.output_paths import make_output_folder

if TYPE_CHECKING:
    from humans_sim.applications.batch.trial import Job, Outcome
    from humans_sim.observation.posture.calibrate import Calibration

_BECAME = {"failed": "failed", "doubtful": "gave doubtful results"}
_MarkerSet = Annotated[
    str | None,
    typer.Option(
        "--marker-set",
        help="Name of a marker set, or a file of your own.",
        autocompletion=marker_set_names,
    ),
]
_Height = Annotated[
    float | None, checked_option("Stature in metres, if known.", positive)
]
_Mass = Annotated[
    float | None,
    checked_option("Body mass in kilograms, if known.", positive),
]
_Correspondence = Annotated[
    Path | None,
    typer.Option(help="File that maps labels of the recordings to markers of the set."),
]
_Convention = Annotated[
    str,
    typer.Option(
        help="Names and signs of angles: humans, opensim, rajagopal, isb, "
        "plug-in-gait, or a file of your own.",
        autocompletion=convention_names,
    ),
]
_Up = Annotated[Axis | None, typer.Option(help="Axis of the files that points up.")]
_Units = Annotated[Unit | None, typer.Option(help="Of positions in the files.")]
_Force = Annotated[
    bool, typer.Option("--force", help="Also what cannot be this person.")
]
_Rate = Annotated[float | None, checked_option("Samples a second [Hz].", positive)]


def calibrate(
    trials: Annotated[
        list[Path] | None,
        typer.Argument(help="A trial of standing still, then motions if there are."),
    ] = None,
    marker_set: _MarkerSet = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The subject file.",
            callback=output_file(".yaml", ".yml"),
        ),
    ] = Path("subject.yaml"),
    height: _Height = None,
    mass: _Mass = None,
    correspondence: _Correspondence = None,
    force: _Force = False,
    up: _Up = None,
    units: _Units = None,
    rate: _Rate = None,
    title: Annotated[str, typer.Option(help="One line about the person.")] = "",
    osim: Annotated[
        Path | None,
        typer.Option(
            help="The person as an OpenSim model too.", callback=output_file(".osim")
        ),
    ] = None,
    convention: _Convention = "humans",
) -> None:
    """Measure a person from markers (without a file: list the marker sets)."""
    if not trials:
        _print_marker_sets()
        return
    if marker_set is None:
        raise ParameterError(
            "which markers are these? Give --marker-set NAME or a file of your own "
            "(humans-sim calibrate lists them)"
        )
    from humans_sim.applications.calibration import HUMAN, calibrate_recordings
    from humans_sim.cli.progress import display
    from humans_sim.models import load_model
    from humans_sim.models.conventions import load_convention
    from humans_sim.observation.markers.assemble import ReadOptions
    from humans_sim.observation.posture.osim_file import check_coordinates

    load_convention(convention, load_model(HUMAN))
    if osim is not None:
        check_coordinates(load_model(HUMAN), convention)
    reading = ReadOptions(
        None if up is None else up.value, None if units is None else units.value, rate
    )
    say("measuring")
    notes: list[str] = []
    with display():
        found = calibrate_recordings(
            trials,
            marker_set,
            height=height,
            mass=mass,
            reading=reading,
            correspondence=correspondence,
            title=title,
            note=notes.append,
            force=force,
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
    table = Table(title="marker sets")
    table.add_column("name")
    table.add_column("what it is")
    table.add_column("markers", justify="right")
    listed = []
    for name in all_names():
        found = load_marker_set(name, human)
        table.add_row(name, found.title, str(len(found.markers)))
        labels = [marker.name for marker in found.markers]
        listed.append({"name": name, "title": found.title, "markers": labels})
    result(marker_sets=listed)
    console.print(table)
    console.print("A file of your own is a marker set too: see docs/markers.md.")


def reconstruct(
    sources: Annotated[
        list[Path] | None, typer.Argument(help="Recordings, or folders of them.")
    ] = None,
    example: Annotated[
        bool,
        typer.Option("--example", help="The synthetic recording of the package."),
    ] = False,
    subject: Annotated[
        Path | None,
        typer.Option(help="File of the person; default: subject.yaml beside or above."),
    ] = None,
    marker_set: _MarkerSet = None,
    static: Annotated[
        Path | None,
        typer.Option(help="Recording of standing still: measure the person first."),
    ] = None,
    height: _Height = None,
    mass: _Mass = None,
    mode: Annotated[
        Mode, typer.Option(help="static: frame by frame; smooth: the whole trial.")
    ] = Mode.STATIC,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Folder of the results.", callback=output_folder
        ),
    ] = Path("reconstructed"),
    correspondence: _Correspondence = None,
    up: _Up = None,
    units: _Units = None,
    rate: _Rate = None,
    max_gap: Annotated[
        float | None,
        checked_option("Longest gap to fill, in seconds; 0: none.", number(least=0.0)),
    ] = None,
    cutoff: Annotated[
        float | None,
        checked_option("Of the low-pass filter [Hz]; 0: no filter.", number(least=0.0)),
    ] = None,
    frame_change: Annotated[
        str | None, typer.Option(help="standing, none or a .yaml file.")
    ] = None,
    pipeline: Annotated[
        Path | None, typer.Option(help="File with all choices about the markers.")
    ] = None,
    formats: Annotated[
        str,
        typer.Option(
            help="Of csv, mot, osim, trc, mcap, npz, bin, tab, glb, x3d, wrl."
        ),
    ] = "csv,mot,npz",
    report: Annotated[
        bool, typer.Option(help="A page for each recording; it takes longest.")
    ] = True,
    inverse_dynamics: Annotated[
        bool,
        typer.Option("--inverse-dynamics", help="Torques and the ground's reaction."),
    ] = False,
    force_file: Annotated[
        Path | None,
        typer.Option(help="Ground forces (.mot, .sto) for these, of one recording."),
    ] = None,
    plates: Annotated[
        bool, typer.Option(help="Use force plates for these, where there are any.")
    ] = True,
    reduce_residuals: Annotated[
        bool,
        typer.Option(
            "--reduce-residuals", help="Shift the body by mm to agree with the plates."
        ),
    ] = False,
    convention: _Convention = "humans",
    workers: Annotated[
        int | None,
        checked_option("Processes; default: one a core; 0: this one.", number(least=0)),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Address of a dask scheduler, instead.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Do again what is done.")
    ] = False,
    force: _Force = False,
) -> None:
    """Find a person's postures from markers; one recording or a tree of them."""
    from humans_sim.applications.batch.batches import plan_batch
    from humans_sim.applications.batch.settings import TrialSettings
    from humans_sim.applications.person import choose_person

    settings = TrialSettings(
        mode=mode.value,
        up=None if up is None else up.value,
        units=None if units is None else units.value,
        rate=rate,
        force=force,
        pipeline=pipeline,
        correspondence=correspondence,
        max_gap=max_gap,
        cutoff=cutoff,
        frame_change=frame_change,
        formats=tuple(word.strip() for word in formats.split(",") if word.strip()),
        report=report,
        inverse_dynamics=inverse_dynamics,
        force_file=force_file,
        plates=plates,
        reduce_residual=reduce_residuals,
        convention=convention,
    )
    if example:
        given = (sources, subject, marker_set, height, mass, static)
        if any(value is not None for value in given):
            raise ParameterError("--example has a recording and a person of its own")
        from humans_sim.applications import example_recording as shipped

        say("the example is synthetic: a simulated person, pushed while standing")
        sources, marker_set = [shipped.example_file()], shipped.MARKER_SET
        height, mass = shipped.HEIGHT, shipped.MASS
    if not sources:
        raise typer.BadParameter("give recordings or folders of them, or --example")
    person = choose_person(subject, marker_set, height, mass, static)
    jobs = plan_batch(sources, output, person, settings)
    if force_file is not None and len(jobs) > 1:
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
    from humans_sim.cli.progress import display

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
                    _print_failure(outcome)
    except KeyboardInterrupt:
        sound = sum(outcome.state != "failed" for outcome in outcomes)
        say(f"stopped: {sound} of {len(jobs)} are done; the same command resumes")
        raise
    order = {job.name: place for place, job in enumerate(jobs)}
    return sorted(outcomes, key=lambda outcome: order[outcome.name])


def _print_failure(outcome: Outcome) -> None:
    console.print(f"[red]{escape(outcome.name)}:[/] {escape(outcome.message)}",
                  highlight=False)  # fmt: skip


def _outcome(outcome: Outcome) -> dict[str, Any]:
    """What became of a trial, for ``--json``."""
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
