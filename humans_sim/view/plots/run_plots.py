# SPDX-License-Identifier: Apache-2.0
"""A picture of a run: contacts, forces, energy, coordinates, actuation over time.

Panels: voltages, set points, command signals; positions in metres, angles in degrees;
closed contacts, a row for each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from humans_sim.contact.problem.law import OPEN, SLIDE, STICK
from humans_sim.core.files import check_ending
from humans_sim.results.event_states import ImpactSamples, with_event_samples
from humans_sim.results.export import has_free_base
from humans_sim.results.record import (
    METRE,
    RADIAN,
    UNKNOWN,
    Coordinates,
    shown_coordinates,
)
from humans_sim.results.records import IMPACT, LIMIT, LINK, POINT, Event
from humans_sim.view.plots.figure_panels import (
    ANGLES,
    BASE,
    BENDS,
    CONTACTS,
    ENERGY,
    HELD,
    JOINTS,
    JUMPS,
    KINETIC,
    OTHERS,
    POSITIONS,
    STEPS,
    CurvePanel,
    draw_curves,
    legend_beside,
    part_and_side,
    save_figure,
    say_nothing,
    styles_of,
)

if TYPE_CHECKING:
    from humans_sim.results.run import Run


_QUANTITIES = {
    ("motors", "voltage"): ("voltages of the motors", "voltage", HELD),
    ("motors", "current"): ("currents of the motors", "current", JUMPS),
    ("servos", "set_point"): ("set points of the servos", "angle", HELD),
    ("muscles", "u"): ("command signals u", "u", STEPS),
    ("muscles", "alpha"): ("recruitment alpha", "alpha", STEPS),
    ("hoist", "tension"): ("tensions of the cables", "force", HELD),
}
"""Title of the panel, word of its axis and what its curves do, by kind and quantity of
signals: what follows the speed of a joint jumps with it, commands make steps."""


def actuation_panels(run: Run) -> list[CurvePanel]:
    """The quantities of a run's actuation that are worth a panel, in a fixed order."""
    names = list(run.info.get("signal_names", ()))
    units = list(run.info.get("signal_units", ()))
    columns: dict[tuple[str, str], dict[str, int]] = {key: {} for key in _QUANTITIES}
    for k, name in enumerate(names[: run.signals.shape[1]]):
        kind, _, rest = name.partition("/")
        driven, _, quantity = rest.rpartition("/")
        if driven and (kind, quantity) in columns:
            columns[kind, quantity][driven] = k
    panels = []
    for key, driven_columns in columns.items():
        if driven_columns:
            title, word, at_impact = _QUANTITIES[key]
            places = list(driven_columns.values())
            unit, values = units[places[0]], run.signals[:, places]
            if unit == "rad":
                unit, values = "°", np.degrees(values)
            panels.append(
                CurvePanel(
                    title,
                    f"{word} [{unit}]",
                    tuple(driven_columns),
                    values,
                    1.0 + np.ptp(np.nan_to_num(values), axis=0),
                    JOINTS,
                    at_impact,
                )
            )
    return panels


_MOVES = 1e-6
"""Least range of a joint that is worth a curve [rad]."""


def coordinate_panels(run: Run) -> list[CurvePanel]:
    """The coordinates of a run, a panel for each unit.

    A biped shows the angles of the joints that move, or its base where none does, and
    then the bodies beside it.
    """
    if not has_free_base(run):
        return _by_unit(shown_coordinates(run), "")
    joints = [k for k, n in enumerate(run.position_names) if n in run.velocity_names]
    span = np.ptp(run.q[:, joints], axis=0)
    title, label = "joint angles that change", "angle [°]"
    names = [run.position_names[k] for k in joints]
    values = np.rad2deg(run.q[:, joints])
    weights, family = np.where(span > _MOVES, span, 0.0), JOINTS
    if not (span > _MOVES).any():
        title = "base, from its place at the start (no joint moves)"
        label, names = "displacement [m]", ["x", "y", "z"]
        values = run.q[:, :3] - run.q[0, :3]
        weights, family = np.ones(3), BASE
    panels = [CurvePanel(title, label, names, values, weights, family, BENDS)]
    beside = 7 + len(joints)
    if beside < run.q.shape[1]:
        panels += _by_unit(shown_coordinates(run, beside), " of the bodies")
    return panels


def _by_unit(shown: Coordinates, of_what: str) -> list[CurvePanel]:
    panels = []
    for unit, title, label, family in (
        (METRE, "positions", "position [m]", POSITIONS),
        (RADIAN, "angles", "angle [°]", ANGLES),
        (UNKNOWN, "coordinates", "coordinate [m or rad]", OTHERS),
    ):
        others = unit == UNKNOWN
        chosen = [
            k
            for k, own in enumerate(shown.units)
            if own == unit or (others and own not in (METRE, RADIAN))
        ]
        if not chosen:
            continue
        values = shown.values[:, chosen]
        if unit == RADIAN:
            values = np.degrees(values)
        names = [shown.names[k] for k in chosen]
        weights = 1.0 + np.ptp(values, axis=0)
        panels.append(
            CurvePanel(title + of_what, label, names, values, weights, family, BENDS)
        )
    return panels


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


def contact_rows(run: Run, impacts: Sequence[Event]) -> list[ContactRow]:
    """A row for each contact that is closed at a sample or hit, group after group.

    Points that stand for a whole body share one row, so that a robot that lies on the
    ground can be read.
    """
    hit = {name for event in impacts for name in event.subject.split(",")}
    closed = (run.contacts != OPEN).any(axis=0)
    rows: dict[str, dict[str, list[int]]] = {}
    for k, name in enumerate(run.table.names):
        if not closed[k] and name not in hit:
            continue
        row, kind = name, run.table.kinds[k]
        if kind in (LIMIT, LINK):
            group = kind
        elif point := _POINT_OF_BODY.fullmatch(name):
            group = row = point["body"] + (point["solid"] or "")
        else:
            tag, _, solid = name.partition("/")
            group = f"{part_and_side(tag)[1]}/{solid}"
        rows.setdefault(group, {}).setdefault(row, []).append(k)
    placed, place = [], 0.0
    for group, own in rows.items():
        for name, contacts in own.items():
            many = f"{name}: {len(contacts)} points" if len(contacts) > 1 else name
            placed.append(ContactRow(many, group, tuple(contacts), place))
            place += 1.0
        place += _GAP
    return placed


def draw_contacts(
    panel: Any, run: Run, rows: Sequence[ContactRow], impacts: Sequence[Event]
) -> None:
    """Bars where contacts stick or slide, and lines where they are hit."""
    panel.set_title("contacts", fontsize=10)
    if not rows:
        say_nothing(panel, "no contact closes")
        return
    legend: dict[str, Any] = {}
    for row in rows:
        modes = run.contacts[:, row.contacts]
        has_tangents = bool(run.table.tangents[list(row.contacts)].any())
        slides = (modes == SLIDE).any(axis=1)
        for label, (mode, needs_tangents, colour) in _MODES.items():
            on = (modes == mode).any(axis=1)
            if mode == STICK:
                on &= ~slides
            if not on.any() or has_tangents != needs_tangents:
                continue
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
        low, high = row.place - 0.42, row.place + 0.42
        look = {"color": IMPACT_COLOUR, "linewidth": 1.2, "zorder": 3}
        panel.vlines(thinned(times, run.t), low, high, **look)
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
    start, end = t[edges[::2]], t[np.minimum(edges[1::2], len(t) - 1)]
    return list(zip(start.tolist(), (end - start).tolist(), strict=True))


FORMATS = ("png", "pdf", "svg")
_LOADED = 1e-9
"""Least force or torque that is worth a curve [N, N m]."""
_FORCE_STATE = "/force"
"""How names of states end that are forces of muscles."""
_STIMULATION, _RECRUITMENT = "stimulation", "recruitment"
"""Kind of the events that are pulses on a muscle, and their detail, 0 to 1."""
_PANEL = 2.4
"""Height of a panel of curves [inch]."""


def plot_run(run: Run, path: Path | str | None = None) -> Figure:
    """Draw contacts, normal forces, energy and coordinates over time.

    Contacts have a row where they are closed at a sample or hit in an impact, those of
    a foot or body together. Forces are those of contact points; joint limits carry
    moments and are left out there. A joint has one colour in all panels, solid on the
    left and dashed on the right; at an impact, curves jump. A
    biped shows the angles of the joints that move, or its base where none does. Where
    an actuation acts, its voltages and currents, set points or command signals follow,
    and its torques; where it is of muscles, their forces and the pulses that stimulate
    them.

    Args:
        run: what to draw.
        path: file to write the picture to (.png, .pdf, .svg), or None.

    Raises:
        ParameterError: the path ends in something else.
    """
    path = check_picture_path(path)
    run = with_event_samples(run)
    impacts = [event for event in run.events if event.kind == IMPACT]
    rows, pulsed = contact_rows(run, impacts), _pulses(run)
    shown = run_panels(run)
    tall = rows[-1].place + 1.0 if rows else 0.0
    heights = [0.5 + 0.2 * max(tall, 2), *[_PANEL] * len(shown)]
    if pulsed:
        heights.append(0.5 + 0.2 * max(len(pulsed), 2))
    figure = Figure(figsize=(11.0, sum(heights) + 1.8), layout="constrained")
    contacts, *others = axes = figure.subplots(
        len(heights), 1, sharex=True, height_ratios=heights
    )
    draw_contacts(contacts, run, rows, impacts)
    styles, samples = styles_of(shown), ImpactSamples(run.t, run.events)
    for curves, panel in zip(shown, others, strict=False):
        draw_curves(panel, curves, styles[curves.family], samples)
    if pulsed:
        _stimulation(others.pop(), pulsed)
    marks = thinned([event.time for event in impacts], run.t)
    for panel in others:
        for time in marks:
            panel.axvline(time, color=IMPACT_COLOUR, linewidth=0.6, alpha=0.3, zorder=1)
    for panel in axes:
        panel.set_axisbelow(True)
        panel.grid(axis="x", alpha=0.3)
        panel.tick_params(labelsize=8)
    for panel in others:
        panel.grid(axis="y", alpha=0.3)
    axes[-1].set_xlabel("time [s]")
    room = 0.5 if len(run.t) == 1 else 0.0
    contacts.set_xlim(run.t[0] - room, run.t[-1] + room)
    method = str(run.info.get("method", "")).replace("_", "-")
    figure.suptitle(f"{run.info.get('system', 'run')}" + f" ({method})" * bool(method))
    figure.align_ylabels(others)
    if path is not None:
        save_figure(figure, path)
    return figure


def check_picture_path(path: Path | str | None) -> Path | None:
    """The path of a picture, or None.

    Raises:
        ParameterError: it does not end in one of :data:`FORMATS`.
    """
    path = None if path is None else Path(path)
    if path is not None:
        check_ending("a picture", path, (f".{word}" for word in FORMATS))
    return path


def run_panels(run: Run) -> list[CurvePanel]:
    """The panels of curves that a run has something to show in."""
    panels = [_energy(run), *coordinate_panels(run)]
    if POINT in run.table.kinds or not run.table.kinds:
        panels.insert(0, _forces(run))
    panels += [*actuation_panels(run), *_torques(run)]
    if muscles := _muscles(run):
        forces = run.z[:, list(muscles.values())]
        title = "forces of the contractile parts of the muscles"
        peaks = 1.0 + _peaks(forces)
        panels.append(
            CurvePanel(title, "force [N]", tuple(muscles), forces, peaks, JOINTS, HELD)
        )
    return panels


def _forces(run: Run) -> CurvePanel:
    points = [k for k, kind in enumerate(run.table.kinds) if kind == POINT]
    normal = run.forces[:, points, 0]
    peaks = _peaks(normal)
    return CurvePanel(
        "normal forces of the contact points",
        "force [N]",
        [run.table.names[k] for k in points],
        normal,
        np.where(peaks > _LOADED, peaks, 0.0),
        CONTACTS,
        JUMPS,
        total=True,
        nothing="no contact point carries a load at a sample",
    )


def _energy(run: Run) -> CurvePanel:
    kinetic, potential = run.energy[:, 0], run.energy[:, 1] - run.energy[0, 1]
    return CurvePanel(
        "energy, potential from its value at the start",
        "energy [J]",
        ("kinetic", "potential"),
        np.stack([kinetic, potential], axis=1),
        np.ones(2),
        ENERGY,
        KINETIC,
        total=True,
    )


def _torques(run: Run) -> list[CurvePanel]:
    """Forces of the actuation; those on a free base apart from those of joints."""
    peaks = _peaks(run.torques)
    weights = np.where(peaks > _LOADED, peaks, 0.0)
    if not has_free_base(run):
        parts = [("forces of the actuation", "force [N or N m]", slice(None), OTHERS)]
    else:
        parts = [
            ("joint torques", "torque [N m]", slice(6, None), JOINTS),
            ("forces of the actuation on the base", "force [N]", slice(3), BASE),
            ("moments on the base", "moment [N m]", slice(3, 6), BASE),
        ]
    return [
        CurvePanel(
            title,
            label,
            tuple("xyz") if family == BASE else run.velocity_names[part],
            run.torques[:, part],
            weights[part],
            family,
            JUMPS,
        )
        for title, label, part, family in parts
        if weights[part].any()
    ]


def _peaks(values: np.ndarray) -> np.ndarray:
    """Largest sizes that are known (k,)."""
    sizes: np.ndarray = np.nan_to_num(np.abs(values)).max(axis=0)
    return sizes


def _muscles(run: Run) -> dict[str, int]:
    """Muscles with the columns of z that are their forces."""
    names = run.info.get("z_names", ())
    return {
        name.removesuffix(_FORCE_STATE): k
        for k, name in enumerate(names)
        if name.endswith(_FORCE_STATE) and k < run.z.shape[1]
    }


def _pulses(run: Run) -> dict[str, list[tuple[float, float]]]:
    """Time and recruitment of the pulses on each muscle that gets any."""
    by_muscle: dict[str, list[tuple[float, float]]] = {
        name: [] for name in _muscles(run)
    }
    for event in run.events:
        if event.kind == _STIMULATION:
            recruitment = float(event.detail.get(_RECRUITMENT, 1.0))
            by_muscle.setdefault(event.subject, []).append((event.time, recruitment))
    return {name: pulses for name, pulses in by_muscle.items() if pulses}


def _stimulation(panel: Any, pulsed: dict[str, list[tuple[float, float]]]) -> None:
    """A row for each muscle, a line for each pulse."""
    panel.set_title("stimulation pulses, as high as what they recruit", fontsize=10)
    for row, pulses in enumerate(pulsed.values()):
        times, recruitment = np.array(pulses).T
        foot = row + 0.4
        panel.axhline(foot, color="0.85", linewidth=0.6, zorder=1)
        panel.vlines(
            times, foot - 0.8 * recruitment, foot, color="tab:green", linewidth=1.0
        )
    panel.set_yticks(range(len(pulsed)), list(pulsed))
    panel.set_ylim(len(pulsed) - 0.4, -0.6)
