# SPDX-License-Identifier: Apache-2.0
"""A sweep drawn: a metric over one value as a line, over two as a heat map.

The success rate has the 95 % interval of Wilson, the mean of another metric the 95 %
interval of Student's t.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from scipy.special import stdtrit

from humans_sim.core.errors import ParameterError
from humans_sim.view.plots.figure_panels import LEFT, dress

if TYPE_CHECKING:
    from humans_sim.applications.batch.variations import Variation

SUCCESS = "success"
"""Metric: share of the runs that finished."""
FINISHED = "finished"
_Z = 1.959963984540054
"""Of the 95 % interval of a normal distribution."""
_UNITS = {
    "end_time": "end of the run [s]",
    "fall_time": "time of the fall [s]",
    "steps": "steps",
    "distance": "distance [m]",
    "speed": "speed [m/s]",
    "heading_deg": "change of heading [deg]",
    "cost_of_transport": "cost of transport",
    "drift": "drift to the left [m/m]",
    "slip_mm": "longest slip of a contact [mm]",
    "largest_tilt_deg": "largest tilt of the trunk [deg]",
    "wall_time": "time to simulate [s]",
    SUCCESS: "share of runs that finished",
}
_LABELS = {
    "friction": "friction of the floor",
    "push": "push [N s]",
    "end": "end of the run [s]",
}


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a probability (Wilson, 1927).

    Raises:
        ParameterError: there was no trial, or there are more successes than trials.
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise ParameterError(f"{successes} successes of {trials} trials cannot be")
    share, square = successes / trials, _Z * _Z / trials
    middle = (share + square / 2) / (1 + square)
    half = _Z * math.sqrt(share * (1 - share) / trials + square / (4 * trials))
    half /= 1 + square
    low = 0.0 if successes == 0 else middle - half  # exact, whatever rounding does
    return low, 1.0 if successes == trials else middle + half


def draw_sweep(
    rows: Sequence[Mapping[str, Any]], axes: Sequence[Variation], metric: str = SUCCESS
) -> Figure:
    """Draw a metric of a sweep over what was varied.

    Args:
        rows: of its table.
        axes: one or two of the varied keys.
        metric: ``success`` or a column with numbers.

    Raises:
        ParameterError: there are none or more than two axes, or no numbers.
    """
    if not 1 <= len(axes) <= 2:
        raise ParameterError(f"one or two axes can be drawn, not {len(axes)}")
    if metric != SUCCESS and all(row.get(metric) is None for row in rows):
        raise ParameterError(f"no run has a number for '{metric}'")
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    panel = figure.subplots()
    if len(axes) == 1:
        _line(panel, rows, axes[0], metric)
    else:
        _map(figure, panel, rows, axes, metric)
    return figure


def _estimate(rows: Sequence[Mapping[str, Any]], metric: str) -> tuple[float, ...]:
    """Mean of a metric and its 95 % interval; NaN where there are no numbers."""
    if metric == SUCCESS and rows:
        good = sum(row["outcome"] == FINISHED for row in rows)
        return good / len(rows), *wilson(good, len(rows))
    numbers = [row[metric] for row in rows if row[metric] is not None]
    if not numbers:
        return math.nan, math.nan, math.nan
    mean = float(np.mean(numbers))
    if len(numbers) < 2:
        return mean, mean, mean
    spread = float(np.std(numbers, ddof=1)) / math.sqrt(len(numbers))
    half = float(stdtrit(len(numbers) - 1, 0.975)) * spread
    return mean, mean - half, mean + half


def _line(
    panel: Any, rows: Sequence[Mapping[str, Any]], axis: Variation, metric: str
) -> None:
    groups = [[row for row in rows if row[axis.key] == v] for v in axis.values]
    middle, low, high = np.array([_estimate(group, metric) for group in groups]).T
    panel.set_xlabel(_LABELS.get(axis.key, axis.key))
    if axis.numeric:
        places = np.array(axis.values, float)
        order = np.argsort(places)
        places, middle = places[order], middle[order]
        low, high = low[order], high[order]
        panel.fill_between(places, low, high, color=LEFT, alpha=0.2, lw=0,
                           label="95 % interval")  # fmt: skip
        panel.plot(places, middle, "o-", color=LEFT, label=_UNITS[metric])
    else:
        places = np.arange(len(axis.values), dtype=float)
        panel.set_xticks(places, [_shown(value) for value in axis.values])
        error = np.maximum([middle - low, high - middle], 0.0)
        panel.errorbar(places, middle, error, fmt="o", color=LEFT, capsize=4,
                       label="95 % interval")  # fmt: skip
        panel.set_xlim(-0.5, len(places) - 0.5)
    if metric == SUCCESS:
        panel.set_ylim(-0.03, 1.03)
    panel.set_ylabel(_UNITS[metric])
    panel.set_title(_counted([len(group) for group in groups]))
    panel.legend(fontsize=8, frameon=False)
    dress(panel)


def _map(
    figure: Figure,
    panel: Any,
    rows: Sequence[Mapping[str, Any]],
    axes: Sequence[Variation],
    metric: str,
) -> None:
    across, up = axes
    groups = [
        [
            [row for row in rows if row[across.key] == x and row[up.key] == y]
            for x in across.values
        ]
        for y in up.values
    ]
    values = np.array(
        [[_estimate(cell, metric)[0] for cell in line] for line in groups]
    )
    limits = {"vmin": 0.0, "vmax": 1.0} if metric == SUCCESS else {}
    picture = panel.imshow(
        values, origin="lower", aspect="auto", cmap="viridis", **limits
    )
    for axis, word in ((across, "x"), (up, "y")):
        labels = [_shown(value) for value in axis.values]
        getattr(panel, f"set_{word}ticks")(range(len(labels)), labels, fontsize=8)
        getattr(panel, f"set_{word}label")(_LABELS.get(axis.key, axis.key))
    middle = np.nanmean(picture.get_clim())
    for (i, j), value in np.ndenumerate(values):
        text = "" if math.isnan(value) else f"{value:.2g}"
        colour = "white" if value < middle else "black"
        panel.text(j, i, text, ha="center", va="center", color=colour, fontsize=8)
    panel.set_title(_counted([len(cell) for line in groups for cell in line]))
    panel.title.set_fontsize(10)
    figure.colorbar(picture, label=_UNITS[metric])


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _counted(counts: Sequence[int]) -> str:
    least, most = min(counts), max(counts)
    each = f"{least}" if least == most else f"{least} to {most}"
    return f"{each} run{'' if most == 1 else 's'} each"
