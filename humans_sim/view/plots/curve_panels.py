# SPDX-License-Identifier: Apache-2.0
"""Panels of curves over time: which curves get a colour, and their legends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from humans_sim.results.event_samples import ImpactSamples
from humans_sim.view.plots.curve_styles import (
    DASHED,
    LEFT_SIDE,
    RIGHT_SIDE,
    CurveStyles,
    part_and_side,
)

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
        panel.set_yticks([])
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
        entries = {part: "-"} if pair else {}
        for name in () if pair else own.values():
            entries[name] = styles.of(name)["linestyle"]
        handles += [
            Line2D([], [], color=styles.colour(part), linestyle=style, label=label)
            for label, style in entries.items()
        ]
    if pairs:
        for label, style in (("solid: left", "-"), ("dashed: right", DASHED)):
            handles.append(Line2D([], [], color="0.4", linestyle=style, label=label))
    return handles


def legend_beside(panel: Any, handles: Sequence[Any]) -> None:
    """A legend on the right of a panel."""
    panel.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.005, 1.02),
        borderaxespad=0.0,
        fontsize=8,
        frameon=False,
    )


def say_nothing(panel: Any, text: str) -> None:
    """Say in the middle of a panel that there is nothing to draw."""
    panel.text(
        0.5,
        0.5,
        text,
        transform=panel.transAxes,
        ha="center",
        va="center",
        color="0.4",
        backgroundcolor="white",
    )
