# SPDX-License-Identifier: Apache-2.0
"""``humans-sim marker-set`` and ``adjust``: marker sets, and persons by hand.

Lengths, tags and labels are adjusted in the browser.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from humans_sim.cli.options import (
    Example,
    Overwrite,
    PageHost,
    PagePort,
    Seconds,
    checked_option,
    number,
    options_of,
    output_folder,
)
from humans_sim.cli.output import (
    Group,
    console,
    described_os_errors,
    register,
    result,
    say,
)
from humans_sim.cli.signals import until_interrupted
from humans_sim.cli.view import print_address
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import check_output_file
from humans_sim.observation.reconstruction_options import ReconstructionOptions

if TYPE_CHECKING:
    from humans_sim.observation.draft.draft_set import MarkerSetDraft


app = typer.Typer(cls=Group, no_args_is_help=True)
_COLOURS = {"sure": "green", "likely": "blue", "uncertain": "yellow", "left out": "red"}


@options_of(ReconstructionOptions, "up", "units", "rate")
def draft(
    trials: Annotated[
        list[Path],
        typer.Argument(help="A trial of standing still, then motions if there are."),
    ],
    *,
    options: ReconstructionOptions,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file of the set.")
    ] = Path("marker_set.yaml"),
    height: Annotated[
        float | None,
        checked_option("Stature in metres, if known.", number(least=1.0, most=2.3)),
    ] = None,
    title: Annotated[str, typer.Option(help="One line about the set.")] = "",
    overwrite: Overwrite = False,
) -> None:
    """Propose a marker set from a recording, for you to correct."""
    check_output_file(output, (".yaml", ".yml"), overwrite)
    from humans_sim.applications.adjustment import draft_from_recordings
    from humans_sim.cli.output import display

    say("looking for the person in the markers")
    notes: list[str] = []
    with display():
        drafted = draft_from_recordings(
            trials,
            height=height,
            reading=options.reading,
            title=title,
            note=notes.append,
        )
    for text in notes:
        say(text)
    _print_draft(drafted)
    with described_os_errors(output):
        drafted.save(output)
    say(f"written: {output}: look through it, then use it by --marker-set {output}")
    result(**_contents(drafted), written=[output])


def _print_draft(drafted: MarkerSetDraft) -> None:
    table = Table(title="draft of a marker set", box=SIMPLE_HEAD)
    for column in ("marker", "segment", "", "why"):
        table.add_column(column)
    for entry in drafted.markers:
        segment = "" if entry.marker is None else entry.marker.segment
        if entry.marker is not None and entry.marker.calibration:
            segment += " (static only)"
        word = entry.certainty.value
        table.add_row(
            escape(entry.name), segment, f"[{_COLOURS[word]}]{word}",
            escape(entry.comment),
        )  # fmt: skip
    console.print(table)
    counts = drafted.counts
    said = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    say(
        f"stature {drafted.model.height:.2f} m, markers {1e3 * drafted.rms:.0f} mm "
        f"from their places; {said}"
    )


def _contents(drafted: MarkerSetDraft) -> dict[str, Any]:
    """A draft, for ``--json``."""
    return {
        "height": drafted.model.height,
        "rms": drafted.rms,
        "counts": drafted.counts,
        "markers": [
            {
                "name": entry.name,
                "segment": None if entry.marker is None else entry.marker.segment,
                "at": None if entry.marker is None else entry.marker.at,
                "calibration": bool(entry.marker and entry.marker.calibration),
                "certainty": entry.certainty,
                "reason": entry.reason,
                "comment": entry.comment,
                "distance": entry.distance,
            }
            for entry in drafted.markers
        ],
    }


register(app, draft)


@options_of(
    ReconstructionOptions,
    *("subject", "marker_set", "height", "mass", "correspondence"),
    *("up", "units", "rate"),
)
def adjust(
    recording: Annotated[Path | None, typer.Argument(help="The recording.")] = None,
    example: Example = False,
    *,
    options: ReconstructionOptions,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Folder of what is saved.", callback=output_folder
        ),
    ] = Path("adjusted"),
    port: PagePort = 8080,
    host: PageHost = "127.0.0.1",
    seconds: Seconds = None,
) -> None:
    """Set lengths, tags and labels of a person by hand, and see the residual."""
    from humans_sim.applications import example_recordings
    from humans_sim.applications.adjustment import open_adjustment
    from humans_sim.applications.person import (
        UnknownPersonError,
        choose_person,
        nearest_person,
    )

    if example == (recording is not None):
        raise ParameterError("give a recording, or --example")
    if recording is None:
        recording = example_recordings.example_file()
        if options.subject is None:
            marker_set = options.marker_set or example_recordings.MARKER_SET
            options = replace(options, marker_set=marker_set)
    person = choose_person(options)
    person = person or nearest_person(recording.expanduser().absolute())
    if person is None:
        raise UnknownPersonError(recording)
    with until_interrupted(), described_os_errors():
        adjustment = open_adjustment(
            recording, person, options.reading, options.correspondence
        )
        from humans_sim.view.browser.adjust_page import AdjustPage

        page = AdjustPage(adjustment, output, host, port)
        try:
            print_address(str(recording.name), page.url, host)
            start = time.monotonic()
            while seconds is None or time.monotonic() - start < seconds:
                time.sleep(0.2)
        finally:
            page.stop()
