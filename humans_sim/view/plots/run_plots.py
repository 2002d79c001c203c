# SPDX-License-Identifier: Apache-2.0
"""A picture of a run: contacts, forces, energy, coordinates, actuation over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from humans_sim.contact.problem.modes import OPEN, SLIDE, STICK
from humans_sim.core.errors import ParameterError
from humans_sim.results.contact_table import POINT
from humans_sim.results.events import IMPACT
from humans_sim.results.export import has_free_base
from humans_sim.view.plots.actuation_panels import SignalPanel, actuation_panels
from humans_sim.view.plots.figure_panels import save_figure

if TYPE_CHECKING:
    from humans_sim.results.run import Run

FORMATS = ("png", "pdf", "svg")
NAMED = 10
"""Curves of one panel that get a colour and a name; the others are grey."""
_MODES = {
    "sticking": (STICK, True, "tab:blue"),
    "sliding": (SLIDE, True, "tab:orange"),
    "closed": (STICK, False, "tab:gray"),
}
"""Mode, whether the contact has tangents to slide along, colour."""
_IMPACT = "tab:red"
_MOVES = 1e-6
"""Least range of a joint that is worth a curve [rad]."""
_LOADED = 1e-9
"""Least force or torque that is worth a curve [N, N m]."""
_FORCE_STATE = "/force"
"""How names of states end that are forces of muscles."""
_STIMULATION, _RECRUITMENT = "stimulation", "recruitment"
"""Kind of the events that are pulses on a muscle, and their detail, 0 to 1."""
_STYLES: tuple[Any, ...] = ("-", (0, (5, 2)))
_MARKS = 120
"""Places for impact lines along the time axis; one line each at most."""


def plot_run(run: Run, path: Path | str | None = None) -> Figure:
    """Draw contacts, normal forces, energy and coordinates over time.

    Contacts have a row where they are closed at a sample or hit in an impact. Forces
    are those of contact points; joint limits carry moments and are left out there. A
    biped shows the angles of the joints that move, or its base where none does. Where
    an actuation acts, its voltages and currents, set points or command signals follow,
    and its torques; where it is of muscles, their forces and the pulses that stimulate
    them.

    Args:
        run: what to draw.
        path: file to write the picture to (.png, .pdf, .svg), or None.

    Returns:
        The figure.

    Raises:
        ParameterError: the path ends in something else.
    """
    path = None if path is None else Path(path)
    suffix = "" if path is None else path.suffix.lower().removeprefix(".")
    if path is not None and suffix not in FORMATS:
        raise ParameterError(
            f"a picture is written to {', '.join('.' + f for f in FORMATS)}, "
            f"not to '{path.name}'"
        )
    figure = _draw(run)
    if path is not None:
        save_figure(figure, path)
    return figure


def _draw(run: Run) -> Figure:
    impacts = [event for event in run.events if event.kind == IMPACT]
    rows = _touching(run, impacts)
    height = 0.5 + 0.2 * max(len(rows), 2)
    panels: list[Callable[[Any, Run], None]] = [_energy, _coordinates]
    if POINT in run.table.kinds or not run.table.kinds:
        panels.insert(0, _forces)
    panels += [_signal_panel(shown) for shown in actuation_panels(run)]
    if (np.abs(np.nan_to_num(run.torques)) > _LOADED).any():
        panels.append(_torques)
    pulsed = _pulses(run)
    if _muscles(run):
        panels.append(_muscle_forces)
    heights = [height, *[2.4] * len(panels)]
    if pulsed:
        heights.append(0.5 + 0.2 * max(len(pulsed), 2))
    figure = Figure(figsize=(11.0, sum(heights) + 1.8), layout="constrained")
    contacts, *others = axes = figure.subplots(
        len(heights), 1, sharex=True, height_ratios=heights
    )
    _contacts(contacts, run, rows, impacts)
    for draw, panel in zip(panels, others, strict=False):
        draw(panel, run)
    if pulsed:
        _stimulation(others.pop(), pulsed)
    marks = _thinned([event.time for event in impacts], run.t)
    for panel in others:
        for time in marks:
            panel.axvline(time, color=_IMPACT, linewidth=0.6, alpha=0.3, zorder=1)
    for panel in axes:
        panel.set_axisbelow(True)
        panel.grid(axis="x", alpha=0.3)
        panel.tick_params(labelsize=8)
    for panel in others:
        panel.grid(axis="y", alpha=0.3)
    axes[-1].set_xlabel("time [s]")
    if len(run.t) > 1:
        contacts.set_xlim(run.t[0], run.t[-1])
    else:
        contacts.set_xlim(run.t[0] - 0.5, run.t[0] + 0.5)
    figure.suptitle(_title(run))
    figure.align_ylabels(others)
    return figure


def _title(run: Run) -> str:
    name = str(run.info.get("system", "run"))
    method = str(run.info.get("method", "")).replace("_", "-")
    return f"{name} ({method})" if method else name


def _touching(run: Run, impacts: Sequence[Any]) -> list[int]:
    """Contacts that are closed at a sample or hit in an impact."""
    hit = {name for event in impacts for name in event.subject.split(",")}
    closed = (run.contacts != OPEN).any(axis=0)
    return [k for k, name in enumerate(run.table.names) if closed[k] or name in hit]


def _thinned(times: Sequence[float], t: np.ndarray) -> list[float]:
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


def _contacts(
    panel: Any, run: Run, rows: Sequence[int], impacts: Sequence[Any]
) -> None:
    panel.set_title("contacts", fontsize=10)
    if not rows:
        _nothing(panel, "no contact closes")
        panel.set_yticks([])
        return
    names = [run.table.names[contact] for contact in rows]
    legend: dict[str, Any] = {}
    for row, (contact, name) in enumerate(zip(rows, names, strict=True)):
        for label, (mode, tangents, colour) in _MODES.items():
            on = run.contacts[:, contact] == mode
            if not on.any() or bool(run.table.tangents[contact]) != tangents:
                continue
            legend[label] = Patch(color=colour, label=label)
            # an edge, so that a single sample is seen, too
            panel.broken_barh(
                _stretches(run.t, on),
                (row - 0.35, 0.7),
                facecolor=colour,
                edgecolor=colour,
            )
        times = [e.time for e in impacts if name in e.subject.split(",")]
        panel.vlines(
            _thinned(times, run.t),
            row - 0.42,
            row + 0.42,
            color=_IMPACT,
            linewidth=1.2,
            zorder=3,
        )
    panel.set_yticks(range(len(rows)), names)
    panel.set_ylim(len(rows) - 0.4, -0.6)
    if impacts:
        legend["impact"] = Line2D([], [], color=_IMPACT, label="impact")
    _legend(panel, [legend[label] for label in (*_MODES, "impact") if label in legend])


def _forces(panel: Any, run: Run) -> None:
    panel.set_title("normal forces of the contact points", fontsize=10)
    panel.set_ylabel("force [N]")
    points = [k for k, kind in enumerate(run.table.kinds) if kind == POINT]
    normal = run.forces[:, points, 0]
    peaks = np.nan_to_num(np.abs(normal)).max(axis=0)
    if not (peaks > _LOADED).any():
        _nothing(panel, "no contact point carries a load at a sample")
        panel.set_yticks([])
        return
    names = [run.table.names[k] for k in points]
    loaded = peaks > _LOADED
    total: list[Any] = []
    if loaded.sum() > 1:
        total = panel.plot(
            run.t, normal.sum(axis=1), color="black", linewidth=2.2, label="total"
        )
    _curves(panel, run.t, normal, names, np.where(loaded, peaks, 0.0), total)


def _energy(panel: Any, run: Run) -> None:
    panel.set_title("energy, potential from its value at the start", fontsize=10)
    panel.set_ylabel("energy [J]")
    kinetic, potential = run.energy[:, 0], run.energy[:, 1] - run.energy[0, 1]
    lines = panel.plot(
        run.t, kinetic + potential, color="black", linewidth=2.2, label="total"
    )
    values = np.stack([kinetic, potential], axis=1)
    _curves(panel, run.t, values, ["kinetic", "potential"], np.ones(2), lines)


def _coordinates(panel: Any, run: Run) -> None:
    names: Sequence[str]
    if not has_free_base(run):
        names, values = run.position_names, run.q
        panel.set_title("coordinates", fontsize=10)
        panel.set_ylabel("coordinate [m, rad]")
        _curves(panel, run.t, values, names, 1.0 + np.ptp(values, axis=0))
        return
    # Joints have one name in q and v; coordinates of bodies beside the robot do not.
    joints = [k for k, n in enumerate(run.position_names) if n in run.velocity_names]
    span = np.ptp(run.q[:, joints], axis=0)
    if (span > _MOVES).any():
        names = [run.position_names[k] for k in joints]
        values = np.rad2deg(run.q[:, joints])
        panel.set_title("joint angles that change", fontsize=10)
        panel.set_ylabel("angle [°]")
        _curves(panel, run.t, values, names, np.where(span > _MOVES, span, 0.0))
        return
    values = run.q[:, :3] - run.q[0, :3]
    panel.set_title("base, from its place at the start (no joint moves)", fontsize=10)
    panel.set_ylabel("displacement [m]")
    _curves(panel, run.t, values, ("x", "y", "z"), np.ones(3))


def _signal_panel(shown: SignalPanel) -> Callable[[Any, Run], None]:
    """A panel of signals of the actuation; those that vary most have names."""
    known = np.nan_to_num(shown.values)

    def draw(panel: Any, run: Run) -> None:
        panel.set_title(shown.title, fontsize=10)
        panel.set_ylabel(shown.label)
        weights = 1.0 + np.ptp(known, axis=0)
        _curves(panel, run.t, shown.values, shown.names, weights)

    return draw


def _torques(panel: Any, run: Run) -> None:
    biped = has_free_base(run)
    panel.set_title(
        "joint torques" if biped else "forces of the actuation", fontsize=10
    )
    panel.set_ylabel("torque [N m]" if biped else "force [N m, N]")
    peaks = np.nan_to_num(np.abs(run.torques)).max(axis=0)
    weights = np.where(peaks > _LOADED, peaks, 0.0)
    _curves(panel, run.t, run.torques, run.velocity_names, weights)


def _muscles(run: Run) -> dict[str, int]:
    """Muscles with the columns of z that are their forces."""
    names = run.info.get("z_names", ())
    return {
        name.removesuffix(_FORCE_STATE): k
        for k, name in enumerate(names)
        if name.endswith(_FORCE_STATE) and k < run.z.shape[1]
    }


def _muscle_forces(panel: Any, run: Run) -> None:
    panel.set_title("forces of the contractile parts of the muscles", fontsize=10)
    panel.set_ylabel("force [N]")
    muscles = _muscles(run)
    forces = run.z[:, list(muscles.values())]
    weights = 1.0 + np.nan_to_num(np.abs(forces)).max(axis=0)
    _curves(panel, run.t, forces, tuple(muscles), weights)


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


def _curves(
    panel: Any,
    t: np.ndarray,
    values: np.ndarray,
    names: Sequence[str],
    weights: np.ndarray,
    before: Sequence[Any] = (),
) -> None:
    """Curves of weight above zero; the heaviest get colours and names."""
    order = [int(k) for k in np.argsort(-weights, kind="stable") if weights[k] > 0]
    named, others = sorted(order[:NAMED]), order[NAMED:]
    marker = "o" if len(t) == 1 else ""
    for line in before:
        line.set_marker(marker)
    handles = list(before)
    rest: list[Any] = []
    for k in others:
        rest = panel.plot(t, values[:, k], marker=marker, color="0.75", lw=0.8)
    for place, k in enumerate(named):
        handles += panel.plot(
            t,
            values[:, k],
            color=f"C{place}",
            linestyle=_STYLES[place % 2],  # two curves may lie on each other
            marker=marker,
            lw=1.3,
            label=names[k],
        )
    if rest:
        rest[0].set_label(f"{len(others)} smaller ones")
        handles += rest
    _legend(panel, handles)


def _legend(panel: Any, handles: Sequence[Any]) -> None:
    panel.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.005, 1.02),
        borderaxespad=0.0,
        fontsize=8,
        frameon=False,
    )


def _nothing(panel: Any, text: str) -> None:
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
