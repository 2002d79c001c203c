# SPDX-License-Identifier: Apache-2.0
"""When contacts are closed: a row for each, those of a foot or body together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from humans_sim.contact.problem.modes import OPEN, SLIDE, STICK
from humans_sim.results.contact_table import LIMIT, LINK
from humans_sim.results.events import IMPACT, Event
from humans_sim.view.plots.curve_panels import legend_beside, say_nothing
from humans_sim.view.plots.curve_styles import part_and_side

if TYPE_CHECKING:
    from humans_sim.results.run import Run

IMPACT_COLOUR = "tab:red"
_MODES = {
    "sticking": (STICK, True, "tab:blue"),
    "sliding": (SLIDE, True, "tab:orange"),
    "closed": (STICK, False, "tab:gray"),
}
"""Mode, whether the contact has tangents to slide along, colour."""
_MARKS = 120
"""Places for impact lines along the time axis; one line each at most."""
_GAP = 0.5
"""Room between two groups of rows, in rows."""
_POINT_OF_BODY = re.compile(r"(?P<body>.+)\.\d+(?P<solid>/.+)?")
"""Name of a point that stands for a whole body, with the solid it touches."""


@dataclass(frozen=True)
class ContactRow:
    """Contacts that share a row: one, or all points of a body.

    Attributes:
        name: of the row.
        group: foot or body that it belongs to.
        contacts: places in the run's table.
        place: how far down it stands, in rows.
    """

    name: str
    group: str
    contacts: tuple[int, ...]
    place: float = 0.0


def impacts_of(run: Run) -> list[Event]:
    """The impacts of a run."""
    return [event for event in run.events if event.kind == IMPACT]


def contact_rows(run: Run, impacts: Sequence[Event]) -> list[ContactRow]:
    """A row for each contact that is closed at a sample or hit, group after group.

    Points that stand for a whole body share one row, so that a robot that lies on the
    ground can be read.
    """
    hit = {name for event in impacts for name in event.subject.split(",")}
    closed = (run.contacts != OPEN).any(axis=0)
    rows: dict[str, dict[str, list[int]]] = {}
    for k, name in enumerate(run.table.names):
        if closed[k] or name in hit:
            group, row = _group_and_row(name, run.table.kinds[k])
            rows.setdefault(group, {}).setdefault(row, []).append(k)
    placed, place = [], 0.0
    for group, own in rows.items():
        for name, contacts in own.items():
            many = f"{name}: {len(contacts)} points" if len(contacts) > 1 else name
            placed.append(ContactRow(many, group, tuple(contacts), place))
            place += 1.0
        place += _GAP
    return placed


def _group_and_row(name: str, kind: str) -> tuple[str, str]:
    if kind in (LIMIT, LINK):
        return kind, name
    point = _POINT_OF_BODY.fullmatch(name)
    if point:
        body = point["body"] + (point["solid"] or "")
        return body, body
    tag, _, solid = name.partition("/")
    side = part_and_side(tag)[1]
    return f"{side}/{solid}", name


def rows_height(rows: Sequence[ContactRow]) -> float:
    """Height that a panel of rows needs, in rows."""
    return rows[-1].place + 1.0 if rows else 0.0


def draw_contacts(
    panel: Any, run: Run, rows: Sequence[ContactRow], impacts: Sequence[Event]
) -> None:
    """Bars where contacts stick or slide, and lines where they are hit."""
    panel.set_title("contacts", fontsize=10)
    if not rows:
        say_nothing(panel, "no contact closes")
        panel.set_yticks([])
        return
    legend: dict[str, Any] = {}
    for row in rows:
        for label, (on, colour) in _shown_modes(run, row).items():
            legend[label] = Patch(color=colour, label=label)
            # an edge, so that a single sample is seen, too
            panel.broken_barh(
                _stretches(run.t, on),
                (row.place - 0.35, 0.7),
                facecolor=colour,
                edgecolor=colour,
            )
        names = {run.table.names[k] for k in row.contacts}
        times = [e.time for e in impacts if names & set(e.subject.split(","))]
        panel.vlines(
            thinned(times, run.t),
            row.place - 0.42,
            row.place + 0.42,
            color=IMPACT_COLOUR,
            linewidth=1.2,
            zorder=3,
        )
    for above, below in zip(rows, rows[1:], strict=False):
        if above.group != below.group:
            panel.axhline(
                (above.place + below.place) / 2, color="0.6", linewidth=0.6, zorder=1
            )
    panel.set_yticks([row.place for row in rows], [row.name for row in rows])
    panel.set_ylim(rows[-1].place + 0.6, -0.6)
    if impacts:
        legend["impact"] = Line2D([], [], color=IMPACT_COLOUR, label="impact")
    legend_beside(
        panel, [legend[label] for label in (*_MODES, "impact") if label in legend]
    )


def _shown_modes(run: Run, row: ContactRow) -> dict[str, tuple[np.ndarray, str]]:
    """Samples in which a row is in each mode, and the mode's colour."""
    modes, tangents = run.contacts[:, row.contacts], run.table.tangents
    has_tangents = bool(tangents[list(row.contacts)].any())
    slides = (modes == SLIDE).any(axis=1)
    shown = {}
    for label, (mode, needs_tangents, colour) in _MODES.items():
        on = (modes == mode).any(axis=1)
        if mode == STICK:
            on &= ~slides
        if on.any() and has_tangents == needs_tangents:
            shown[label] = (on, colour)
    return shown


def thinned(times: Sequence[float], t: np.ndarray) -> list[float]:
    """Times, without those that would fall onto a line already drawn."""
    span = float(t[-1] - t[0]) or 1.0
    kept: dict[int, float] = {}
    for time in times:
        kept.setdefault(int((time - float(t[0])) / span * _MARKS), time)
    return list(kept.values())


def _stretches(t: np.ndarray, on: np.ndarray) -> list[tuple[float, float]]:
    """Start and length of each stretch of samples; it lasts until the next sample."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(int)))
    ends = np.minimum(edges[1::2], len(t) - 1)
    return [
        (float(t[start]), float(t[end] - t[start]))
        for start, end in zip(edges[::2], ends, strict=True)
    ]
