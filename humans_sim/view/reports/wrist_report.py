# SPDX-License-Identifier: Apache-2.0
"""A wrist's motion as one page: motion of the bones, checks, a film.

Plots: before and after, rotations, tensions, contacts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from humans_sim.anatomy.wrist.plausibility import (
    CARPALS,
    DISTAL,
    plausibility,
    turns_of,
)
from humans_sim.anatomy.wrist.wrist_check import DEEP, TOUCHING
from humans_sim.anatomy.wrist.wrist_run import WristRun
from humans_sim.core.files import write_atomically
from humans_sim.core.version import __version__
from humans_sim.view.html_templates import render
from humans_sim.view.plots.figure_panels import WIDTH, dress
from humans_sim.view.reports.report import (
    Note,
    Table,
    check_table,
    figure_urls,
    physics_note,
    picture_part,
    report_path,
    scene_part,
)
from humans_sim.view.wrist_colours import CONTACT, bone_colours, tension_colours
from humans_sim.view.wrist_raster import WristRaster, view_of

_STRONGEST = 8
"""Ligaments that are drawn over the angle."""
_SMALL = {"fontsize": 7, "frameon": False}


def draw_wrist(panel: Any, raster: WristRaster, k: int) -> None:
    """A sample of a motion on axes of matplotlib, in millimetres."""
    picture = raster.picture(k)
    panel.imshow(picture.pixels, extent=raster.extent, rasterized=True)
    left, right, bottom, top = raster.extent
    for name, (x, y) in picture.labels.items():
        look = {"fontsize": 7, "ha": "center", "va": "center", "color": "white"}
        place = left + x * (right - left), top - y * (top - bottom)
        label = panel.text(*place, name, **look)
        label.set_path_effects([withStroke(linewidth=1.6, foreground="black")])
    panel.tick_params(labelsize=8)


def plot_wrist(run: WristRun, path: Path | str | None = None) -> Figure:
    """Draw bones before and after, rotations, tensions, contacts and energy."""
    figure = Figure(figsize=(WIDTH, 12.5), layout="constrained")
    grid = figure.add_gridspec(3, 2, height_ratios=(1.7, 1.0, 1.0))
    view = view_of(run.motion.kind)
    raster, panels = WristRaster(run, view, 520), []
    for column, n in ((0, 0), (1, len(run.t) - 1)):
        panels.append(figure.add_subplot(grid[0, column]))
        draw_wrist(panels[-1], raster, n)
        angle = np.degrees(run.angles[n])
        panels[-1].set_title(f"{run.motion.kind} {angle:.0f}°, {view} [mm]", fontsize=9)
    _legend(figure, raster.scale, panels)
    _turns(figure.add_subplot(grid[1, 0]), run)
    _tensions(figure.add_subplot(grid[1, 1]), run)
    _contacts(figure.add_subplot(grid[2, 0]), run)
    _energy(figure.add_subplot(grid[2, 1]), run)
    figure.suptitle(f"{run.wrist.title}: {run.motion.kind}, {run.method}", fontsize=11)
    if path is not None:
        figure.savefig(path, dpi=110)
    return figure


def _legend(figure: Figure, scale: float, panels: list[Any]) -> None:
    shares = np.linspace(1e-3, 1.0, 64)
    colours = LinearSegmentedColormap.from_list(
        "tension", [tuple(c) for c in tension_colours(scale * shares, scale)]
    )
    bar = figure.colorbar(
        ScalarMappable(Normalize(0.0, scale), colours), ax=panels, shrink=0.7, pad=0.01
    )
    bar.set_label("tension of a ligament [N]; grey: slack", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    dot = Line2D([], [], marker="o", linestyle="", color=CONTACT, label="contact")
    panels[-1].legend(handles=[dot], loc="lower right", **_SMALL)


def _hand(panel: Any, word: str) -> None:
    panel.set_xlabel("hand [deg]")
    panel.set_ylabel(word)
    dress(panel)


def _free(run: WristRun) -> list[tuple[int, str, Any, str]]:
    """Number, name, colour and style of the free bones."""
    colours = bone_colours(run.wrist)
    return [
        (n, bone.name, tuple(colours[n]), "--" if bone.name in DISTAL else "-")
        for n, bone in enumerate(run.wrist.bones)
        if bone.role == "free"
    ]


def _turns(panel: Any, run: WristRun) -> None:
    hand, turns = np.degrees(run.angles), turns_of(run)
    panel.plot(hand, hand, color="0.6", linestyle=":", label="hand")
    for _, name, colour, style in _free(run):
        panel.plot(hand, np.degrees(turns[name]), style, color=colour, label=name)
    panel.legend(ncols=2, **_SMALL)
    _hand(panel, "turn about the hand's axis [deg]")


def _tensions(panel: Any, run: WristRun) -> None:
    strongest = np.argsort(run.tensions.max(axis=0))[::-1][:_STRONGEST]
    for n in strongest:
        name = run.wrist.ligaments.names[n]
        panel.plot(np.degrees(run.angles), run.tensions[:, n], label=name)
    if len(strongest):
        panel.legend(**_SMALL)
    rest = run.tensions.shape[1] - len(strongest)
    if rest > 0:
        panel.set_title(f"the {_STRONGEST} strongest; {rest} others below", fontsize=8)
    _hand(panel, "tension [N]")


def _contacts(panel: Any, run: WristRun) -> None:
    hand = np.degrees(run.angles)
    for n, name, colour, style in _free(run):
        share = 100 * run.touching[:, n]
        panel.plot(hand, share, style, color=colour, label=name)
    panel.plot(hand, 100 * run.deep, color="black", label="deep contacts")
    for limit, word in ((TOUCHING, "in contact"), (DEEP, "deep")):
        panel.axhline(100 * limit, color="0.5", linestyle=":", linewidth=1)
        text = f" thesis: {word}"
        panel.text(hand[0], 100 * limit, text, fontsize=7, va="bottom", color="0.4")
    panel.set_ylim(-0.1, max(7.5, 130 * float(run.touching.max())))
    panel.legend(ncols=3, loc="upper right", **_SMALL)
    _hand(panel, "balls of a bone in contact [%]")


def _energy(panel: Any, run: WristRun) -> None:
    panel.plot(run.t, 1e3 * run.energy[:, 1], color="tab:red", label="in ligaments")
    panel.plot(run.t, 1e3 * run.energy[:, 0], color="tab:blue", label="kinetic")
    panel.set_yscale("log")
    panel.axvline(run.motion.duration, color="0.6", linestyle=":", linewidth=1)
    panel.set_xlabel("time [s]; dotted: the hand is held")
    panel.set_ylabel("energy [mJ]")
    panel.legend(**_SMALL)
    dress(panel)


def write_wrist_report(
    run: WristRun, path: Path | str, title: str = "", animation: bool = True
) -> None:
    """Write the report of a wrist's motion.

    Args:
        run: the motion.
        path: the file, ``.html``.
        title: heading of the page; that of the wrist by default.
        animation: whether the page has a film and a scene to turn.

    Raises:
        ParameterError: the path ends in something else.
    """
    path = report_path(path)
    checked = run.check()
    angle = np.degrees(run.angles[-1])
    values: dict[str, Any] = {
        "title": title or f"{run.wrist.title}: {run.motion.kind}",
        "verdict": Note("plain", f"{run.motion.kind} by {angle:.0f} degrees"),
        "failure": "",
        "physics": physics_note(checked),
        "extra": _plausible(run),
        "checks": check_table(checked),
        **dict.fromkeys(("summary", "film", "footprints", "steps", "joints")),
        "scene": scene_part(run) if animation else None,
        "events": Table([]),
        "provenance": _provenance(run),
    }
    if animation:
        from humans_sim.view.film.film import film
        from humans_sim.view.film.wrist_pictures import WristPainter

        text = "from two sides"
        values["film"] = picture_part(lambda: film(WristPainter(run)), "gif", text)
    figures = figure_urls({"Bones, ligaments and contacts": plot_wrist(run)})
    write_atomically(path, render("run_report", figures=figures, **values))


def _plausible(run: WristRun) -> Table:
    if not CARPALS <= set(run.wrist.names):
        return Table([("plausibility", "n/a: not all carpal bones are there")])
    report = plausibility(run)
    turns = ", ".join(f"{k} {np.degrees(v):.0f}°" for k, v in report.turns.items())
    coherent = {True: "yes", False: "no"}
    coupling = "n/a" if np.isnan(report.coupling) else f"{report.coupling:.2f}"
    return Table(
        [
            ("turned about the hand's axis", turns),
            ("lunate from radius, at most", f"{np.degrees(report.lunate_tilt):.0f}°"),
            ("capitate from hand, at most", f"{np.degrees(report.capitate_tilt):.0f}°"),
            ("first row turns together", coherent[report.proximal_coherent]),
            ("second row turns together", coherent[report.distal_coherent]),
            ("turn of the lunate over the scaphoid's", coupling),
            ("scaphoid and lunate part by", f"{1e3 * report.scapho_lunate_gap:.2f} mm"),
            ("bones that left", ", ".join(report.left) or "none"),
            ("compared with a person", "no: nothing here was validated"),
        ]
    )


def _provenance(run: WristRun) -> Table:
    wrist, numbers = run.wrist, run.numbers
    rows = [
        ("software", f"humans_sim {__version__}"),
        ("bones", f"{len(wrist.bones)}{', synthetic' if wrist.synthetic else ''}"),
        ("balls", str(sum(len(bone.model) for bone in wrist.bones))),
        ("ligaments", str(len(wrist.ligaments))),
        ("method", run.method),
        ("steps", f"{len(run.steps)}, {1e3 * float(run.steps.min()):.3g} ms and more"),
        ("computed in", f"{run.wall:.1f} s"),
    ]
    if numbers is not None:
        rows.append(
            ("friction, viscosity", f"{numbers.friction:g}, {numbers.viscosity:g} 1/s")
        )
    return Table(rows)
