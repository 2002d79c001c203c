# SPDX-License-Identifier: Apache-2.0
"""``humans-sim compare``: two stored runs beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from humans_sim.cli.options import output_file
from humans_sim.cli.output import console, described_os_errors, result, say
from humans_sim.core.errors import ParameterError

if TYPE_CHECKING:
    from humans_sim.analysis.run_comparison import RunComparison


def compare(
    a: Annotated[Path, typer.Argument(help="A run file, .npz.")],
    b: Annotated[Path, typer.Argument(help="A run file of the same system.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write it as one page, too.",
            callback=output_file(".html"),
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw both runs over each other.",
            callback=output_file(".png", ".pdf", ".svg"),
        ),
    ] = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "",
    animation: Annotated[
        bool, typer.Option(help="Films of both on the page; they take longer.")
    ] = False,
) -> None:
    """Compare two runs: numbers, and how far joints part over the common time."""
    from humans_sim.analysis.run_comparison import compare_runs
    from humans_sim.anatomy.wrist.wrist_run_files import is_wrist_run

    for file in (a, b):
        if is_wrist_run(file):
            raise ParameterError(f"{file} is a motion of a wrist: only runs compare")
    comparison = compare_runs(a, b)
    print_comparison(comparison)
    written = []
    if plot is not None:
        from humans_sim.view.plots.comparison_plots import plot_comparison

        with described_os_errors(plot):
            plot_comparison(comparison, plot)
        written.append(plot)
    if output is not None:
        from humans_sim.view.reports.comparison_report import write_comparison

        with described_os_errors(output):
            write_comparison(comparison, output, title, animation)
        written.append(output)
    for path in written:
        say(f"written: {path}")
    result(
        a=a,
        b=b,
        system=comparison.a.info.get("system"),
        start=comparison.t[0],
        end=comparison.t[-1],
        samples=len(comparison.t),
        identical=comparison.identical,
        outcomes=comparison.verdicts,
        values=[
            {**vars(value), "difference": value.difference}
            for value in comparison.values
        ],
        coordinates=[vars(part) for part in comparison.coordinates],
        written=written,
    )


def print_comparison(comparison: RunComparison) -> None:
    """Both tables, on the console."""
    from humans_sim.analysis.run_comparison import difference_texts, value_texts

    numbers = Table(title="numbers")
    numbers.add_column("what")
    for label in (*comparison.labels, "difference"):
        numbers.add_column(escape(label), justify="right", overflow="fold")
    numbers.add_row("outcome", *comparison.verdicts, "")
    for value in comparison.values:
        numbers.add_row(value.name, *value_texts(value))
    console.print(numbers)
    t = comparison.t
    parted = Table(title=f"how far they part, {t[0]:.4g} s to {t[-1]:.4g} s")
    parted.add_column("coordinate")
    for column in ("rms", "largest", "at [s]"):
        parted.add_column(escape(column), justify="right")
    for part in comparison.coordinates:
        parted.add_row(escape(part.name), *difference_texts(part))
    console.print(parted)
