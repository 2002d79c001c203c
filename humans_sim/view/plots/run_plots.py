# SPDX-License-Identifier: Apache-2.0
"""A picture of a run: contacts, forces, energy, coordinates, actuation over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from humans_sim.core.errors import ParameterError
from humans_sim.results.contact_table import POINT
from humans_sim.results.event_samples import ImpactSamples, with_event_samples
from humans_sim.results.export import has_free_base
from humans_sim.view.plots.actuation_panels import actuation_panels
from humans_sim.view.plots.contact_rows import (
    IMPACT_COLOUR,
    contact_rows,
    draw_contacts,
    impacts_of,
    rows_height,
    thinned,
)
from humans_sim.view.plots.coordinate_panels import coordinate_panels
from humans_sim.view.plots.curve_panels import (
    BASE,
    CONTACTS,
    ENERGY,
    HELD,
    JOINTS,
    JUMPS,
    KINETIC,
    OTHERS,
    CurvePanel,
    draw_curves,
    styles_of,
)
from humans_sim.view.plots.figure_panels import save_figure

if TYPE_CHECKING:
    from humans_sim.results.run import Run

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

    Returns:
        The figure.

    Raises:
        ParameterError: the path ends in something else.
    """
    path = check_picture_path(path)
    figure = _draw(run)
    if path is not None:
        save_figure(figure, path)
    return figure


def check_picture_path(path: Path | str | None) -> Path | None:
    """The path of a picture, or None.

    Raises:
        ParameterError: it does not end in one of :data:`FORMATS`.
    """
    path = None if path is None else Path(path)
    if path is not None and path.suffix.lower().removeprefix(".") not in FORMATS:
        raise ParameterError(
            f"a picture is written to {', '.join('.' + f for f in FORMATS)}, "
            f"not to '{path.name}'"
        )
    return path


def _draw(run: Run) -> Figure:
    run = with_event_samples(run)
    impacts = impacts_of(run)
    rows, pulsed = contact_rows(run, impacts), _pulses(run)
    shown = run_panels(run)
    heights = [0.5 + 0.2 * max(rows_height(rows), 2), *[_PANEL] * len(shown)]
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
    if len(run.t) > 1:
        contacts.set_xlim(run.t[0], run.t[-1])
    else:
        contacts.set_xlim(run.t[0] - 0.5, run.t[0] + 0.5)
    figure.suptitle(_title(run))
    figure.align_ylabels(others)
    return figure


def run_panels(run: Run) -> list[CurvePanel]:
    """The panels of curves that a run has something to show in."""
    panels = [_energy(run), *coordinate_panels(run)]
    if POINT in run.table.kinds or not run.table.kinds:
        panels.insert(0, _forces(run))
    panels += actuation_panels(run)
    panels += _torques(run)
    if _muscles(run):
        panels.append(_muscle_forces(run))
    return panels


def _title(run: Run) -> str:
    name = str(run.info.get("system", "run"))
    method = str(run.info.get("method", "")).replace("_", "-")
    return f"{name} ({method})" if method else name


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


def _muscle_forces(run: Run) -> CurvePanel:
    muscles = _muscles(run)
    forces = run.z[:, list(muscles.values())]
    return CurvePanel(
        "forces of the contractile parts of the muscles",
        "force [N]",
        tuple(muscles),
        forces,
        1.0 + _peaks(forces),
        JOINTS,
        HELD,
    )


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
