# SPDX-License-Identifier: Apache-2.0
"""``humans-sim export`` and ``compare``: files of other programs, two stored runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from humans_sim.cli.options import (
    ANIMATIONS,
    SCENES,
    Height,
    Mass,
    PageTitle,
    RunFile,
    model_names,
    output_file,
    output_option,
    picture_option,
)
from humans_sim.cli.output import console, described_os_errors, result, say, table_of
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import check_ending

if TYPE_CHECKING:
    from humans_sim.analysis.run_comparison import RunComparison
    from humans_sim.anatomy.wrist.wrist_run import WristRun
    from humans_sim.observation.posture.result import Reconstruction
    from humans_sim.results.run import Run


_RUNS = (*ANIMATIONS, ".mcap", ".csv")
_WRISTS = (*ANIMATIONS, ".mcap")
_RECONSTRUCTIONS = (*SCENES, ".mcap", ".mot", ".trc")
_EVERY = tuple(dict.fromkeys((*_RUNS, *_RECONSTRUCTIONS)))


def export(
    source: Annotated[
        str,
        typer.Argument(
            help="A model, as for view; a run or a reconstruction .npz.",
            autocompletion=model_names,
        ),
    ],
    file: Annotated[
        Path,
        typer.Argument(
            help="Scene .glb, .x3d, .wrl; of motions also .mcap and others.",
            callback=output_file(*_EVERY),
        ),
    ],
    height: Height = None,
    mass: Mass = None,
) -> None:
    """Write a model or a stored motion for other programs, by the file's ending."""
    if not source.lower().endswith(".npz"):
        check_ending("a model", file, SCENES)
        from humans_sim.models import load_model
        from humans_sim.view.scene_files.scenes import export_model

        model = load_model(source, height=height, mass=mass)
        with described_os_errors(file):
            export_model(model, file)
        result(kind="model", title=model.title, frames=1, duration=0.0)
    elif height is not None or mass is not None:
        raise ParameterError("--height and --mass are of models, not of stored motions")
    else:
        _export_motion(Path(source), file)
    say(f"written: {file}")
    result(source=source, written=[file])


def _export_motion(source: Path, file: Path) -> None:
    from humans_sim.observation.posture.result import Reconstruction
    from humans_sim.view.film.animation import animate

    motion = _load(source)
    if isinstance(motion, Reconstruction):
        kind, title = "reconstruction", motion.model.title
        endings: Sequence[str] = _RECONSTRUCTIONS
    else:
        kind, title, endings = "run", str(motion.info.get("system", "")), _RUNS
        if "wrist" in motion.info:
            kind, endings = "wrist", _WRISTS
    check_ending(f"a {kind}", file, endings)
    with described_os_errors(file):
        if file.suffix.lower() in ANIMATIONS:
            animate(motion, file)
        else:
            _write_table(motion, file)
    span = float(motion.t[-1] - motion.t[0])
    result(kind=kind, title=title, frames=len(motion.t), duration=span)


def _load(source: Path) -> Run | WristRun | Reconstruction:
    """A stored motion of any kind."""
    from humans_sim.cli.stored_runs import load_stored
    from humans_sim.observation.posture.result import (
        is_reconstruction,
        load_reconstruction,
    )

    if is_reconstruction(source):
        return load_reconstruction(source)
    return load_stored(source)


def _write_table(motion: Any, file: Path) -> None:
    """Write messages or numbers of a motion."""
    suffix = file.suffix.lower()
    if suffix == ".trc":
        from humans_sim.observation.markers.trc_file import write_trc

        write_trc(motion.trial, file)
    elif suffix == ".mcap" and "wrist" in getattr(motion, "info", ()):
        from humans_sim.view.wrist_topics import write_wrist_mcap

        write_wrist_mcap(motion, file)
    elif suffix == ".mcap" and not hasattr(motion, "to_mcap"):
        from humans_sim.observation.posture.export import write_mcap
        from humans_sim.view.run_topics import posture_topics

        write_mcap(motion, file, posture_topics(motion))
    else:
        getattr(motion, f"to_{suffix[1:]}")(file)


def compare(
    a: RunFile,
    b: Annotated[Path, typer.Argument(help="A run file of the same system.")],
    output: Annotated[
        Path | None, output_option("Write it as one page, too.", ".html")
    ] = None,
    plot: Annotated[
        Path | None, picture_option("Draw both runs over each other")
    ] = None,
    title: PageTitle = "",
    animation: Annotated[
        bool, typer.Option(help="Films of both on the page; they take longer.")
    ] = False,
) -> None:
    """Compare two runs: numbers, and how far joints part over the common time."""
    from humans_sim.analysis.run_comparison import compare_runs
    from humans_sim.anatomy.wrist.wrist_run import is_wrist_run

    for file in (a, b):
        if is_wrist_run(file):
            raise ParameterError(f"{file} is a motion of a wrist: only runs compare")
    comparison = compare_runs(a, b)
    print_comparison(comparison)
    written = []
    if plot is not None:
        from humans_sim.view.reports.comparison_report import plot_comparison

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
    title = f"how far they part, {t[0]:.4g} s to {t[-1]:.4g} s"
    parted = table_of(title, "coordinate", right=("rms", "largest", "at [s]"))
    for part in comparison.coordinates:
        parted.add_row(escape(part.name), *difference_texts(part))
    console.print(parted)
