# SPDX-License-Identifier: Apache-2.0
"""Two runs as one page: their numbers, how far they part, films beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.analysis.run_comparison import (
    RunComparison,
    difference_texts,
    value_texts,
)
from humans_sim.core.errors import HumansError
from humans_sim.core.files import write_atomically
from humans_sim.results.export import has_free_base
from humans_sim.results.run import Run
from humans_sim.view.html_templates import render
from humans_sim.view.plots.comparison_plots import plot_comparison
from humans_sim.view.reports.report import LONGEST_FILM, check_table, physics_note
from humans_sim.view.reports.report_parts import (
    Note,
    Table,
    figure_urls,
    image_url,
    report_path,
)


def write_comparison(
    comparison: RunComparison,
    path: Path | str,
    title: str = "",
    animation: bool = False,
) -> Path:
    """Write a comparison of two runs as one page.

    Args:
        comparison: the runs.
        path: the file, ``.html``.
        title: heading of the page.
        animation: whether it has films of both runs beside each other.

    Raises:
        ParameterError: the path ends in something else.
    """
    path = report_path(path)
    labels, t = comparison.labels, comparison.t
    values: dict[str, Any] = {
        "title": title or f"{labels[0]} and {labels[1]}",
        "verdict": _verdict(comparison),
        "common": f"compared from {t[0]:.4g} s to {t[-1]:.4g} s, at {len(t)} times",
        "values": _values(comparison),
        "coordinates": _coordinates(comparison),
        "runs": [
            {
                "label": label,
                "physics": physics_note(run.check()),
                "checks": check_table(run.check()),
                "film": _film(run, t) if animation and has_free_base(run) else None,
            }
            for label, run in zip(labels, (comparison.a, comparison.b), strict=True)
        ],
    }
    figures = figure_urls({"Over time": plot_comparison(comparison)})
    write_atomically(path, render("comparison_report", figures=figures, **values))
    return path


def _verdict(comparison: RunComparison) -> Note:
    if comparison.identical:
        return Note("plain", "The same motion, as far as both go")
    parts = []
    for unit in sorted({c.unit for c in comparison.coordinates}, reverse=True):
        own = [c for c in comparison.coordinates if c.unit == unit]
        worst = max(own, key=lambda c: abs(c.largest))
        _, largest, time = difference_texts(worst)
        parts.append(f"{largest} ({worst.name}, at {time} s)")
    far = f"Largest differences: {', '.join(parts)}"
    first, second = comparison.verdicts
    if first == second:
        return Note("plain", far)
    ends = zip(comparison.labels, (first, second), strict=True)
    outcomes = ", ".join(f"{label}: {outcome}" for label, outcome in ends)
    return Note("bad", f"Other outcomes ({outcomes}). {far}")


def _values(comparison: RunComparison) -> Table:
    rows = [("outcome", *comparison.verdicts, "")]
    rows += [(value.name, *value_texts(value)) for value in comparison.values]
    return Table(rows, ("", *comparison.labels, "difference"), "numbers")


def _coordinates(comparison: RunComparison) -> Table:
    rows = [(c.name, *difference_texts(c)) for c in comparison.coordinates]
    return Table(rows, ("coordinate", "rms", "largest", "at [s]"), "numbers")


def _film(run: Run, t: np.ndarray) -> dict[str, str]:
    """A film of the common time, the same for both."""
    from humans_sim.view.browser.replay import Replay
    from humans_sim.view.film.pictures import film

    end = min(float(t[-1]), float(t[0]) + LONGEST_FILM)
    first, last = np.searchsorted(run.t, [t[0], end])
    shown = run[int(first) : int(last) + 1]
    try:
        content = film(Replay(shown))
    except HumansError as error:
        return {"url": "", "text": f"None: {error}"}
    text = f"from {shown.t[0]:.2f} s to {shown.t[-1]:.2f} s"
    return {"url": image_url(content, "gif"), "text": text}
