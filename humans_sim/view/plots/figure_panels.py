# SPDX-License-Identifier: Apache-2.0
"""The common look of figures: their width, and panels over one axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from humans_sim.core.files import atomic_stream

LEFT, RIGHT, MIDDLE = "tab:blue", "tab:orange", "0.25"
"""Colours of what is on the left, on the right, and in between."""
GREY = "0.65"
"""Colour of what matters less."""
WIDTH = 11.0
"""Width of a figure [inch]."""
PANEL = 2.3
"""Height of a panel over time [inch]."""


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of its ending, whole or not at all."""
    with atomic_stream(path) as stream:
        figure.savefig(stream, format=path.suffix.lower().removeprefix("."), dpi=120)


def stacked(
    draws: Sequence[Callable[[Any], None]], xlabel: str, height: float = PANEL
) -> Figure:
    """Panels below each other over one axis, with their legends beside them."""
    size = (WIDTH, len(draws) * height + 0.5)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(draws), 1, sharex=True, squeeze=False)[:, 0]
    for draw, panel in zip(draws, panels, strict=True):
        draw(panel)
        dress(panel)
        panel.legend(
            loc="upper left",
            bbox_to_anchor=(1.005, 1.02),
            borderaxespad=0.0,
            fontsize=8,
            frameon=False,
        )
    panels[-1].set_xlabel(xlabel)
    figure.align_ylabels(panels)
    return figure


def dress(panel: Any) -> None:
    """Small letters and a light grid behind the curves."""
    panel.title.set_fontsize(10)
    panel.grid(alpha=0.3)
    panel.set_axisbelow(True)
    panel.tick_params(labelsize=8)
