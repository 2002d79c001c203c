# SPDX-License-Identifier: Apache-2.0
"""Two runs as one page: their numbers, how far they part, films beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from humans_sim.analysis.run_comparison import (
    RunComparison,
    difference_texts,
    value_texts,
)
from humans_sim.core.files import write_atomically
from humans_sim.results.event_states import ImpactSamples, with_event_samples
from humans_sim.results.export import has_free_base
from humans_sim.results.run import Run
from humans_sim.view.html_templates import render
from humans_sim.view.plots.figure_panels import (
    ANGLES,
    CONTACTS,
    JOINTS,
    PANEL,
    POSITIONS,
    WIDTH,
    CurvePanel,
    draw_curves,
    draw_lines,
    dress,
    legend_beside,
    legend_handles,
    plain_label,
    save_figure,
    styles_of,
)
from humans_sim.view.plots.run_plots import check_picture_path, run_panels
from humans_sim.view.reports.report import (
    LONGEST_FILM,
    Note,
    Table,
    check_table,
    figure_urls,
    film_part,
    physics_note,
    report_path,
)

_PALE: dict[str, Any] = {"lw": 3.2, "alpha": 0.4}
_THIN: dict[str, Any] = {"lw": 1.0}


def plot_comparison(
    comparison: RunComparison, path: Path | str | None = None
) -> Figure:
    """Draw how far two runs part, and what both have, over each other.

    Colours and dashes are those of :func:`plot_run`; the first run is wide and pale,
    the second thin.

    Args:
        comparison: the runs.
        path: file to write the picture to (.png, .pdf, .svg), or None.

    Raises:
        ParameterError: the path ends in something else.
    """
    path = check_picture_path(path)
    parts = _differences(comparison)
    runs = [with_event_samples(run) for run in (comparison.a, comparison.b)]
    pairs = _pairs(*runs)
    count = len(parts) + len(pairs)
    size = (WIDTH, count * (PANEL + 0.1) + 1.2)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    impacts = [ImpactSamples(run.t, run.events) for run in runs]
    styles = styles_of([*parts, *(first for first, _ in pairs)])
    meanings = [  # of wide and thin
        Line2D([], [], color="0.3", label=_short(label), **look)
        for label, look in zip(comparison.labels, (_PALE, _THIN), strict=True)
    ]
    here = ImpactSamples(comparison.t)
    for shown, panel in zip(parts, axes, strict=False):
        draw_curves(panel, shown, styles[shown.family], here)
    for pair, panel in zip(pairs, axes[len(parts) :], strict=True):
        own = styles[pair[0].family]
        panel.set_title(pair[0].title, fontsize=10)
        panel.set_ylabel(pair[0].label)
        named = pair[0].named
        looks = zip(pair, impacts, (_PALE, _THIN), comparison.labels, strict=True)
        for shown, samples, look, label in looks:
            draw_lines(panel, shown, named, own, samples, f"{label}: ", **look)
        handles = legend_handles([pair[0].names[k] for k in named], own)
        legend_beside(panel, [*handles, *meanings])
    for panel in axes:
        dress(panel)
    axes[-1].set_xlabel("time [s]")
    start, end = (f([run.t[k] for run in (comparison.a, comparison.b)])
                  for f, k in ((min, 0), (max, -1)))  # fmt: skip
    if end > start:
        axes[0].set_xlim(start, end)
    figure.suptitle(" and ".join(_short(label) for label in comparison.labels))
    figure.align_ylabels(axes)
    if path is not None:
        save_figure(figure, path)
    return figure


def _differences(comparison: RunComparison) -> list[CurvePanel]:
    """Second minus first: positions, and angles."""
    panels = []
    title = f"{_short(comparison.labels[1])} minus {_short(comparison.labels[0])}"
    for unit, scale, label, family in (
        ("rad", np.degrees(1.0), "difference [°]", JOINTS),
        ("m", 1e3, "difference [mm]", POSITIONS),
        ("", 1.0, "difference [m or rad]", ANGLES),
    ):
        chosen = [k for k, c in enumerate(comparison.coordinates) if c.unit == unit]
        if chosen:
            rms = np.array([comparison.coordinates[k].rms for k in chosen])
            panels.append(
                CurvePanel(
                    f"{title}: {'angles' if unit == 'rad' else 'positions'}",
                    label,
                    [comparison.coordinates[k].name for k in chosen],
                    scale * comparison.differences[:, chosen],
                    rms,
                    family,
                    nothing="they do not differ",
                )
            )
    return panels


def _pairs(a: Run, b: Run) -> list[tuple[CurvePanel, CurvePanel]]:
    """Panels that both runs have, with the same curves."""
    second = {shown.title: shown for shown in run_panels(b)}
    pairs = []
    for shown in run_panels(a):
        other = second.get(shown.title)
        if other is None or tuple(other.names) != tuple(shown.names):
            continue
        if shown.family == CONTACTS:
            shown, other = _total(shown), _total(other)
        if shown.named:
            pairs.append((shown, other))
    return pairs


def _total(forces: CurvePanel) -> CurvePanel:
    """All contact points as one: two runs of each point could not be read."""
    total = forces.values.sum(axis=1, keepdims=True)
    weight = forces.weights.max(initial=0.0, keepdims=True)
    return CurvePanel(
        "normal force of all contact points",
        forces.label,
        ("total",),
        total,
        weight,
        CONTACTS,
        forces.at_impact,
    )


def _short(label: str) -> str:
    """Short enough for a legend."""
    return plain_label(label, 24)


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
    end = min(float(t[-1]), float(t[0]) + LONGEST_FILM)

    def film(run: Run) -> dict[str, str] | None:
        """A film of the common time, the same for both."""
        first, last = np.searchsorted(run.t, [t[0], end])
        if not (animation and has_free_base(run)):
            return None
        return film_part(run[int(first) : int(last) + 1])

    values_rows = [("outcome", *comparison.verdicts, "")]
    values_rows += [(value.name, *value_texts(value)) for value in comparison.values]
    values: dict[str, Any] = {
        "title": title or f"{labels[0]} and {labels[1]}",
        "verdict": _verdict(comparison),
        "common": f"compared from {t[0]:.4g} s to {t[-1]:.4g} s, at {len(t)} times",
        "values": Table(values_rows, ("", *labels, "difference"), "numbers"),
        "coordinates": Table(
            [(c.name, *difference_texts(c)) for c in comparison.coordinates],
            ("coordinate", "rms", "largest", "at [s]"),
            "numbers",
        ),
        "runs": [
            {
                "label": label,
                "physics": physics_note(run.check()),
                "checks": check_table(run.check()),
                "film": film(run),
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
