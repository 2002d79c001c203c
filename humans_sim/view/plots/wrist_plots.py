# SPDX-License-Identifier: Apache-2.0
"""Plots of a wrist that moves: before and after, rotations, tensions, contacts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from humans_sim.anatomy.wrist.plausibility import DISTAL, turns_of
from humans_sim.anatomy.wrist.wrist_check import DEEP, TOUCHING
from humans_sim.anatomy.wrist.wrist_run import WristRun
from humans_sim.view.plots.figure_panels import WIDTH, dress
from humans_sim.view.raster.wrist_raster import WristRaster, view_of
from humans_sim.view.wrist_colours import CONTACT, bone_colours, tension_colours

_STRONGEST = 8
"""Ligaments that are drawn over the angle."""
_SMALL = {"fontsize": 7, "frameon": False}


def draw_wrist(panel: Any, raster: WristRaster, k: int) -> None:
    """A sample of a motion on axes of matplotlib, in millimetres.

    Args:
        panel: axes of matplotlib.
        raster: of the motion.
        k: number of the sample.
    """
    picture = raster.picture(k)
    panel.imshow(picture.pixels, extent=raster.extent, rasterized=True)
    left, right, bottom, top = raster.extent
    for name, (x, y) in picture.labels.items():
        label = panel.text(
            left + x * (right - left),
            top - y * (top - bottom),
            name,
            fontsize=7,
            ha="center",
            va="center",
            color="white",
        )
        label.set_path_effects([withStroke(linewidth=1.6, foreground="black")])
    panel.tick_params(labelsize=8)


def plot_wrist(run: WristRun, path: Path | str | None = None) -> Figure:
    """A motion as a figure.

    Before and after; rotations, tensions, balls in contact and energy over the angle.

    Args:
        run: the motion.
        path: file to write it to (.png, .pdf, .svg), or None.
    """
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
