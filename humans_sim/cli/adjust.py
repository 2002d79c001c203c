# SPDX-License-Identifier: Apache-2.0
"""``humans-sim adjust``: lengths, tags and labels by hand, in the browser."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from humans_sim.cli.options import (
    Axis,
    Seconds,
    Unit,
    checked_option,
    marker_set_names,
    output_folder,
    port_number,
    positive,
)
from humans_sim.cli.output import described_os_errors
from humans_sim.cli.signals import until_interrupted
from humans_sim.cli.view import print_address
from humans_sim.core.errors import ParameterError


def adjust(
    recording: Annotated[Path | None, typer.Argument(help="The recording.")] = None,
    example: Annotated[
        bool,
        typer.Option("--example", help="The synthetic recording of the package."),
    ] = False,
    subject: Annotated[
        Path | None,
        typer.Option(help="File of the person; default: subject.yaml beside it."),
    ] = None,
    marker_set: Annotated[
        str | None,
        typer.Option(
            "--marker-set",
            help="Name of a marker set, or a file of your own.",
            autocompletion=marker_set_names,
        ),
    ] = None,
    height: Annotated[
        float | None, checked_option("Stature in metres, if known.", positive)
    ] = None,
    mass: Annotated[
        float | None, checked_option("Body mass in kilograms, if known.", positive)
    ] = None,
    correspondence: Annotated[
        Path | None,
        typer.Option(help="File that maps labels of the recording to markers."),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Folder of what is saved.", callback=output_folder
        ),
    ] = Path("adjusted"),
    up: Annotated[
        Axis | None, typer.Option(help="Axis of the file that points up.")
    ] = None,
    units: Annotated[
        Unit | None, typer.Option(help="Of positions in the file.")
    ] = None,
    rate: Annotated[
        float | None, checked_option("Samples a second [Hz].", positive)
    ] = None,
    port: Annotated[
        int, checked_option("First port to try; 0: any.", port_number)
    ] = 8080,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; the default is this machine only."),
    ] = "127.0.0.1",
    seconds: Seconds = None,
) -> None:
    """Set lengths, tags and labels of a person by hand, and see the residual."""
    from humans_sim.applications import example_recording
    from humans_sim.applications.adjustment_files import open_adjustment
    from humans_sim.applications.person import (
        UnknownPersonError,
        choose_person,
        nearest_person,
    )
    from humans_sim.observation.markers.assemble import ReadOptions

    if example == (recording is not None):
        raise ParameterError("give a recording, or --example")
    if recording is None:
        recording = example_recording.example_file()
        if subject is None:
            marker_set = marker_set or example_recording.MARKER_SET
    person = choose_person(subject, marker_set, height, mass)
    person = person or nearest_person(recording.expanduser().absolute())
    if person is None:
        raise UnknownPersonError(recording)
    reading = ReadOptions(
        None if up is None else up.value, None if units is None else units.value, rate
    )
    with until_interrupted(), described_os_errors():
        adjustment = open_adjustment(recording, person, reading, correspondence)
        from humans_sim.view.browser.adjust_page import AdjustPage

        page = AdjustPage(adjustment, output, host, port)
        try:
            print_address(str(recording.name), page.url, host)
            start = time.monotonic()
            while seconds is None or time.monotonic() - start < seconds:
                time.sleep(0.2)
        finally:
            page.stop()
