# SPDX-License-Identifier: Apache-2.0
"""The common look of figures: their width, and panels over one axis.

Joints have one colour in all panels, left solid, right dashed. Panels choose which
curves get a colour, and their legends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from humans_sim.core.files import atomic_stream
from humans_sim.results.event_states import ImpactSamples

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
        legend_beside(panel)
    panels[-1].set_xlabel(xlabel)
    figure.align_ylabels(panels)
    return figure


def dress(panel: Any) -> None:
    """Small letters and a light grid behind the curves."""
    panel.title.set_fontsize(10)
    panel.grid(alpha=0.3)
    panel.set_axisbelow(True)
    panel.tick_params(labelsize=8)


LEFT_SIDE, RIGHT_SIDE, NO_SIDE = "l", "r", ""
PALETTE = (
    *(f"C{k}" for k in range(7)),
    *("C8", "C9", "#1b3a93", "#8c1d40", "#0b6e4f", "#b8860b", "#6a3d9a", "#555555"),
)
"""Colours of joints, in their order; grey is left to what has no name."""
DASHED: Any = (0, (4, 1.6))
"""Line style of what is on the right."""
_PLACES = (
    r"(?P<side>left|right|l|r)[_./ -](?P<rest>.+)",
    r"(?P<rest>.+)[_./ -](?P<side>left|right|l|r)",
    r"(?P<first>.+_)(?P<side>left|right|l|r)_(?P<rest>.+)",
)
_CAMEL = re.compile(r"(?P<side>Left|Right|L|R)(?P<rest>[A-Z].*)")
_SIDES = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _PLACES)


def part_and_side(name: str) -> tuple[str, str]:
    """A name without its side, and the side: ``l``, ``r`` or nothing.

    ``l_knee``, ``left_knee_joint``, ``knee_l`` and ``LKnee`` are on the left; where a
    name has two sides (``r_foot_toe_left``), the first counts.
    """
    for pattern in (_CAMEL, *_SIDES):
        match = pattern.fullmatch(name)
        if match:
            found = match.groupdict()
            part = f"{found.get('first') or ''}{found['rest']}"
            return part, found["side"][0].lower()
    return name, NO_SIDE


class CurveStyles:
    """Colours and dashes of curves by their names.

    Where no name has a side, every second curve is dashed: two may lie on each other.

    Args:
        names: of all curves that get a colour, whatever panel they are in.
    """

    def __init__(self, names: Iterable[str]) -> None:
        known = [part_and_side(name) for name in names]
        self._sided = any(side for _, side in known)
        parts = dict.fromkeys(part for part, _ in known)
        self._places = {part: k for k, part in enumerate(parts)}

    def colour(self, part: str) -> str:
        """Colour of a part of the body."""
        return PALETTE[self._places[part] % len(PALETTE)]

    def of(self, name: str) -> dict[str, Any]:
        """How a curve is drawn, as keywords of matplotlib."""
        part, side = part_and_side(name)
        dashed = side == RIGHT_SIDE if self._sided else self._places[part] % 2
        style = DASHED if dashed else "-"
        return {"color": self.colour(part), "linestyle": style}


_WIDTH, _THIN, _DENSE = 1.3, 0.7, 2000
"""Width of curves, and where they have so many samples."""
NAMED = 10
"""Curves of one panel that get a colour and a name; the others are grey."""
JOINTS, CONTACTS, BASE = "joints", "contacts", "base"
ENERGY, POSITIONS, ANGLES, OTHERS = "energy", "positions", "angles", "others"
"""Families of curves: within one, a name has one colour in all panels."""
HELD, JUMPS, BENDS, KINETIC = "held", "jumps", "bends", "kinetic"
"""What curves do at an impact; of the last kind the first one is kinetic energy."""
STEPS = "steps"
"""Of commands, which stay as they are until the next one."""


@dataclass(frozen=True)
class CurvePanel:
    """Curves of one quantity.

    Attributes:
        title: of the panel.
        label: of its axis, with the unit.
        names: of the curves.
        values: at the samples (n, k).
        weights: those above zero are drawn, the heaviest with names (k,).
        family: within which a name has one colour.
        at_impact: whether they jump or bend there.
        total: whether their sum is drawn, too.
        nothing: what the panel says where no curve is drawn.
    """

    title: str
    label: str
    names: Sequence[str]
    values: np.ndarray
    weights: np.ndarray
    family: str = OTHERS
    at_impact: str = HELD
    total: bool = False
    nothing: str = ""

    @property
    def named(self) -> list[int]:
        """Curves with a colour and a name: left and right together, the heaviest."""
        parts: dict[str, list[int]] = {}
        for k in map(int, np.flatnonzero(self.weights > 0)):
            parts.setdefault(part_and_side(self.names[k])[0], []).append(k)
        most = {part: float(self.weights[ks].max()) for part, ks in parts.items()}
        named: list[int] = []
        for part in sorted(parts, key=lambda part: -most[part]):
            if named and len(named) + len(parts[part]) > NAMED:
                break
            named += parts[part]
        return sorted(named)

    def curves(self, impacts: ImpactSamples) -> tuple[np.ndarray, np.ndarray]:
        """Times and values that are drawn, with what happens at impacts."""
        if self.at_impact == JUMPS:
            return impacts.t, impacts.jump(self.values)
        if self.at_impact == BENDS:
            return impacts.t, impacts.bend(self.values)
        if self.at_impact == KINETIC:
            drawn = impacts.bend(self.values)
            drawn[:, 0] = impacts.kinetic(self.values[:, 0])
            return impacts.t, drawn
        if self.at_impact == STEPS:
            t, values = impacts.sampled, np.asarray(self.values)
            return np.repeat(t, 2)[1:], np.repeat(values, 2, axis=0)[:-1]
        return impacts.sampled, self.values


def styles_of(panels: Sequence[CurvePanel]) -> dict[str, CurveStyles]:
    """Colours of all curves with names, by family."""
    names: dict[str, list[str]] = {}
    for panel in panels:
        family = names.setdefault(panel.family, [])
        family += [panel.names[k] for k in panel.named]
    return {family: CurveStyles(known) for family, known in names.items()}


def draw_curves(
    panel: Any, shown: CurvePanel, styles: CurveStyles, impacts: ImpactSamples
) -> None:
    """Draw curves on axes of matplotlib, with their legend beside them."""
    panel.set_title(shown.title, fontsize=10)
    panel.set_ylabel(shown.label)
    named = shown.named
    if not named:
        say_nothing(panel, shown.nothing)
        return
    t, values = shown.curves(impacts)
    marker = "o" if len(t) == 1 else ""
    drawn = np.flatnonzero(shown.weights > 0)
    handles: list[Any] = []
    if shown.total and len(drawn) > 1:
        handles += panel.plot(
            t, values.sum(axis=1), marker, color="black", lw=2.2, label="total"
        )
    others = [k for k in drawn if k not in named]
    rest = [panel.plot(t, values[:, k], marker, color="0.75", lw=0.8) for k in others]
    width = _WIDTH if len(t) < _DENSE else _THIN
    draw_lines(panel, shown, named, styles, impacts, lw=width)
    handles += legend_handles([shown.names[k] for k in named], styles)
    if rest:
        rest[-1][0].set_label(f"{len(others)} smaller ones")
        handles += rest[-1]
    legend_beside(panel, handles)


def draw_lines(
    panel: Any,
    shown: CurvePanel,
    chosen: Sequence[int],
    styles: CurveStyles,
    impacts: ImpactSamples,
    before: str = "",
    **look: Any,
) -> None:
    """Draw some curves in their colours.

    Args:
        panel: axes of matplotlib.
        shown: the curves.
        chosen: which of them.
        styles: their colours.
        impacts: of their run.
        before: what their labels begin with.
        look: width and more, as keywords of matplotlib.
    """
    t, values = shown.curves(impacts)
    marker = "o" if len(t) == 1 else ""
    for k in chosen:
        name = shown.names[k]
        style = {**styles.of(name), **look, "marker": marker}
        panel.plot(t, values[:, k], label=f"{before}{name}", **style)


def legend_handles(names: Sequence[str], styles: CurveStyles) -> list[Any]:
    """An entry a part of the body, and what solid and dashed mean."""
    sides: dict[str, dict[str, str]] = {}
    for name in names:
        part, side = part_and_side(name)
        sides.setdefault(part, {})[side] = name
    handles, pairs = [], False
    for part, own in sides.items():
        pair = {LEFT_SIDE, RIGHT_SIDE} <= own.keys()
        pairs |= pair
        entries: dict[str, Any] = {part: "-"} if pair else {}
        for name in () if pair else own.values():
            entries[name] = styles.of(name)["linestyle"]
        handles += [
            Line2D([], [], color=styles.colour(part), linestyle=style, label=label)
            for label, style in entries.items()
        ]
    if pairs:
        for label, dash in (("solid: left", (0, ())), ("dashed: right", DASHED)):
            handles.append(Line2D([], [], color="0.4", linestyle=dash, label=label))
    return handles


def legend_beside(panel: Any, handles: Sequence[Any] | None = None) -> None:
    """A legend on the right of a panel; of all that has a label unless given."""
    panel.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.005, 1.02),
        borderaxespad=0.0,
        fontsize=8,
        frameon=False,
    )


def legend_above(
    figure: Figure,
    handles: Sequence[Any],
    names: Sequence[str],
    fontsize: int = 8,
    ncols: int = 4,
) -> None:
    """One legend above all panels of a figure."""
    look = {"ncols": ncols, "fontsize": fontsize, "frameon": False}
    figure.legend(handles, names, loc="outside upper center", **look)


def plain_label(text: str, longest: int) -> str:
    """A label in which nothing is a formula, cut to so many characters."""
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    return short.replace("$", r"\$")


def say_nothing(panel: Any, text: str) -> None:
    """Say in the middle of a panel that there is nothing to draw."""
    look = {"ha": "center", "va": "center", "color": "0.4"}
    look["backgroundcolor"] = "white"
    panel.text(0.5, 0.5, text, transform=panel.transAxes, **look)
    panel.set_yticks([])
