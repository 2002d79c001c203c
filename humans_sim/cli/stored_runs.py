# SPDX-License-Identifier: Apache-2.0
"""Runs of bipeds, problems, bodies and wrists alike: loaded, drawn, reported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from humans_sim.results.run import Run, load_run

if TYPE_CHECKING:
    from humans_sim.analysis.gait import WalkSummary
    from humans_sim.anatomy.wrist.wrist_run import WristRun

Stored: TypeAlias = "Run | WristRun"
"""What commands run, store and show."""


def load_stored(path: Path) -> Stored:
    """Read a run of any kind.

    Raises:
        RunFileError, WristRunFileError: it is missing, damaged or no run.
    """
    from humans_sim.anatomy.wrist.wrist_run import is_wrist_run, load_wrist_run

    return load_wrist_run(path) if is_wrist_run(path) else load_run(path, lazy=True)


def plot_stored(run: Stored, path: Path) -> None:
    """Draw a run."""
    if isinstance(run, Run):
        run.plot(path)
    else:
        from humans_sim.view.reports.wrist_report import plot_wrist

        plot_wrist(run, path)


def wrist_lines(run: Stored) -> list[str]:
    """How the bones of a wrist moved, for people; nothing of other runs."""
    if isinstance(run, Run):
        return []
    from humans_sim.anatomy.wrist.plausibility import CARPALS, plausibility

    if CARPALS <= set(run.wrist.names):
        return plausibility(run).lines()
    return ["plausibility: n/a, not all carpal bones of two rows are there"]


def report_stored(
    run: Stored, path: Path, title: str, animation: bool
) -> WalkSummary | None:
    """Write the report of a run; the walk of a biped."""
    if isinstance(run, Run):
        from humans_sim.view.reports.report import write_report

        return write_report(run, path, title, animation=animation)
    from humans_sim.view.reports.wrist_report import write_wrist_report

    write_wrist_report(run, path, title, animation)
    return None
