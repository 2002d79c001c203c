# SPDX-License-Identifier: Apache-2.0
"""Tables that ``humans-sim`` prints of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console

    from humans_sim.analysis.gait import WalkSummary
    from humans_sim.cli.stored_runs import Stored
    from humans_sim.results.check import Check


_COLOURS = {"ok": "green", "no": "red", "n/a": "yellow"}


def print_events(console: Console, done: Stored) -> None:
    """How often what happened."""
    counts: dict[str, list[float]] = {}
    for event in done.events:
        counts.setdefault(event.kind, []).append(event.time)
    if not counts:
        return
    table = Table(title="events")
    table.add_column("kind")
    for column in ("number", "first [s]", "last [s]"):
        table.add_column(escape(column), justify="right")
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


def print_summary(console: Console, summary: WalkSummary) -> None:
    """The walk report."""
    table = Table(title=summary.headline)
    for column in ("", "what", "how much"):
        table.add_column(column, overflow="fold")
    section = ""
    for row in summary.rows():
        if row.section != section:
            table.add_section()
        table.add_row(
            row.section if row.section != section else "", row.name, row.value
        )
        section = row.section
    console.print(table)
