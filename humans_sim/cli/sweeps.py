# SPDX-License-Identifier: Apache-2.0
"""``humans-sim sweep``: a scenario with many values and seeds."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from humans_sim.cli.options import (
    Again,
    Cluster,
    ScenarioName,
    Workers,
    checked_option,
    number,
    output_option,
    picture_option,
)
from humans_sim.cli.output import console, described_os_errors, result, say
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.core.files import make_output_folder

if TYPE_CHECKING:
    from humans_sim.applications.batch.sweeps import RunOutcome, SweptRun

_SHOWN = 3
"""Errors of runs that are printed while a sweep runs; the others are in its table."""


def sweep(
    scenario: ScenarioName,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="KEY=FROM:TO:COUNT or KEY=A,B,C; several: all combinations."),
    ] = None,
    seeds: Annotated[
        int,
        checked_option(
            "Runs of each combination that differ by chance; 0: one, without.",
            number(least=0),
        ),
    ] = 0,
    output: Annotated[
        Path,
        output_option(
            "The table: .csv or .parquet; its .runs folder keeps what is done.",
            ".csv",
            ".parquet",
        ),
    ] = Path("sweep.csv"),
    plot: Annotated[
        Path | None, picture_option("Draw a metric over one or two values")
    ] = None,
    metric: Annotated[
        str, typer.Option(help="Drawn: success, or a column of the table.")
    ] = "success",
    workers: Workers = None,
    cluster: Cluster = None,
    again: Again = False,
) -> None:
    """Simulate a scenario with many values and seeds; one table, and a plot."""
    from humans_sim.applications.batch.sweep_table import (
        METRICS,
        check_table,
        write_table,
    )
    from humans_sim.applications.batch.sweeps import plan_sweep, table_rows
    from humans_sim.applications.batch.variations import parse_variation
    from humans_sim.core.processors import cores

    variations = [parse_variation(text) for text in vary or ()]
    if not variations and not seeds:
        raise ParameterError("nothing varies: give --vary KEY=FROM:TO:COUNT or --seeds")
    if metric not in METRICS:
        raise ParameterError(f"--metric: '{metric}' is not one of {', '.join(METRICS)}")
    axes = [variation for variation in variations if len(variation.values) > 1]
    if plot is not None and not 1 <= len(axes) <= 2:
        raise ParameterError(
            f"--plot: one or two keys with several values can be drawn, not {len(axes)}"
        )
    check_table(output)
    folder = output.with_suffix(".runs")
    runs = plan_sweep(scenario, variations, seeds, folder)
    make_output_folder(folder)
    crew = cores() if workers is None else max(workers, 1)
    say(f"{len(runs)} runs; what is done is kept in {folder}")
    start = time.perf_counter()
    outcomes = _run(runs, workers, cluster, again)
    wall = time.perf_counter() - start
    rows = table_rows(runs, outcomes)
    with described_os_errors(output):
        write_table(rows, output)
    written = [output]
    say(f"written: {output}")
    if plot is not None:
        from humans_sim.view.plots.figure_panels import save_figure
        from humans_sim.view.plots.sweep_plots import draw_sweep

        with described_os_errors(plot):
            save_figure(draw_sweep(rows, axes, metric), plot)
        written.append(plot)
        say(f"drawn: {plot}")
    _print_all(outcomes, None if cluster else crew, wall)
    result(scenario=scenario, written=written)
    lost = [row for row in rows if row["outcome"] == "error"]
    if lost:
        raise HumansError(
            f"{len(lost)} of {len(rows)} runs ended by an error, the first one: "
            f"{lost[0]['message']}"
        )


def _run(
    runs: Sequence[SweptRun], workers: int | None, cluster: str | None, again: bool
) -> list[RunOutcome]:
    from humans_sim.applications.batch.sweeps import run_sweep
    from humans_sim.cli.output import display

    outcomes: list[RunOutcome] = []
    start, kept = time.monotonic(), 0
    try:
        with (
            display() as shown,
            closing(
                run_sweep(runs, workers=workers, cluster=cluster, again=again)
            ) as doing,
        ):
            shown.show("runs", 0, len(runs))
            for outcome in doing:
                outcomes.append(outcome)
                kept += outcome.state == "kept"
                done, elapsed = len(outcomes) - kept, time.monotonic() - start
                text = _pace(done, len(runs) - len(outcomes), elapsed)
                shown.rate("runs", len(outcomes), len(runs), text)
                if outcome.state == "failed" and _failures(outcomes) <= _SHOWN:
                    console.print(f"[red]{escape(outcome.message)}[/]", highlight=False)
    except KeyboardInterrupt:
        sound = len(outcomes) - _failures(outcomes)
        say(f"stopped: {sound} of {len(runs)} runs are done; the same command resumes")
        raise
    return outcomes


def _pace(done: int, left: int, elapsed: float) -> str:
    """Runs a second, and the time that is left."""
    if not done or elapsed <= 0:
        return "kept"
    seconds = left * elapsed / done
    minutes = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
    return f"{done / elapsed:.2f} a second, {minutes} left"


def _failures(outcomes: Sequence[RunOutcome]) -> int:
    return sum(outcome.state == "failed" for outcome in outcomes)


def _print_all(
    outcomes: Sequence[RunOutcome], workers: int | None, wall: float
) -> None:
    """Outcomes of the runs; how busy the workers were."""
    counts = Counter(outcome.row["outcome"] for outcome in outcomes)
    new = [outcome for outcome in outcomes if outcome.state == "done"]
    kept = sum(outcome.state == "kept" for outcome in outcomes)
    if kept:
        say(f"{kept} done before, kept (--again does such ones again)")
    say(", ".join(f"{count} {word}" for word, count in counts.most_common()))
    busy = cpu = None
    if new and workers is not None:
        crew = workers * wall
        busy = sum(outcome.seconds for outcome in new) / crew
        cpu = sum(outcome.row["cpu_time"] for outcome in new) / crew
        say(
            f"{len(new)} runs in {wall:.1f} s on {workers} workers, which simulated "
            f"{100 * busy:.0f} % of the time ({100 * cpu:.0f} % on a processor)"
        )
    result(
        runs=len(outcomes),
        new=len(new),
        outcomes=dict(counts),
        wall_time=wall,
        workers=workers,
        busy=busy,
        processor=cpu,
    )
