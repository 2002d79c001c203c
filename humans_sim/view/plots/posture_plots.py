# SPDX-License-Identifier: Apache-2.0
"""Pictures of a reconstruction: distances, markers, joints, strides, forces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from humans_sim.analysis.force_comparison import ForceComparison
from humans_sim.analysis.inverse_dynamics import InverseDynamics
from humans_sim.analysis.strides import Stride
from humans_sim.core.constants import GRAVITY
from humans_sim.core.disk_arrays import by_rows, release, row_slices
from humans_sim.models.conventions import HUMANS
from humans_sim.observation.posture.forces_csv import Forces
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction
from humans_sim.view.plots.figure_panels import (
    GREY,
    LEFT,
    MIDDLE,
    WIDTH,
    dress,
    stacked,
)
from humans_sim.view.plots.force_plots import force_figures
from humans_sim.view.plots.joint_plots import (
    joint_angles,
    joint_torques,
    seen_groups,
    shown_rows,
    stride_curves,
)

STATUS_COLOURS = {
    MarkerStatus.USED: "#e6efe9",
    MarkerStatus.OCCLUDED: "#4a5260",
    MarkerStatus.INTERPOLATED: "#8a63c9",
    MarkerStatus.REJECTED: "#d62728",
    MarkerStatus.UNKNOWN: "#c9ced6",
}
"""Colours of what became of a marker."""
MOST_COLUMNS = 1500
"""Columns of a picture of markers over time at most."""
_MOMENT = 0.1
"""Frames closer than this are one moment [s]."""


def posture_figures(
    result: Reconstruction,
    strides: Sequence[Stride] = (),
    dynamics: Forces | None = None,
    comparison: ForceComparison | None = None,
    convention: str | Path = HUMANS,
) -> dict[str, Figure]:
    """The pictures that a reconstruction has something to show in, by their titles."""
    figures = {
        "Distance between measured and reconstructed markers": distances(result),
        "Distance of each marker": marker_bars(result),
    }
    amiss = marker_map(result)
    if amiss is not None:
        figures["Occlusions and rejections"] = amiss
    if seen_groups(result, result.angles(convention).joints):
        figures["Joint angles"] = joint_angles(result, convention)
    if strides:
        figures["Strides, left and right"] = stride_curves(result, strides, convention)
    if dynamics is not None and len(dynamics.t):
        if seen_groups(result, result.angles().joints):
            figures["Joint torques"] = joint_torques(result, dynamics)
        if dynamics.ground is not None:
            figures["Ground reaction"] = ground_reaction(result, dynamics)
        if isinstance(dynamics, InverseDynamics):
            figures |= force_figures(dynamics, comparison)
    return figures


def worst_moments(result: Reconstruction, count: int) -> list[int]:
    """Rows with the largest rms, worst first; of neighbours only the worst."""
    chosen: list[int] = []
    frame_rms = result.frame_rms
    for row in result.worst_frames(len(result.t)):
        apart = np.abs(result.t[chosen] - result.t[row])
        if np.isfinite(frame_rms[row]) and (apart >= _MOMENT).all():
            chosen.append(int(row))
            if len(chosen) == count:
                break
    return chosen


def distances(result: Reconstruction) -> Figure:
    """Root mean square and largest distance in each frame, and how many were used."""
    t, part = result.t, shown_rows(len(result.t))
    largest = by_rows(_largest, result.differences, result.used)
    frame_rms = result.frame_rms

    def rms(panel: Any) -> None:
        panel.set_title("over the markers used in each frame")
        panel.set_ylabel("distance [mm]")
        panel.plot(t[part], 1e3 * largest[part], color=GREY, lw=1.0, label="largest")
        panel.plot(t[part], 1e3 * frame_rms[part], color=LEFT, lw=1.4, label="rms")
        panel.axhline(1e3 * result.rms, color=LEFT, lw=0.9, ls="--", label="rms of all")
        worst = worst_moments(result, 5)
        panel.plot(
            t[worst],
            1e3 * frame_rms[worst],
            "v",
            color="tab:red",
            ms=5,
            label="worst frames",
        )
        panel.set_ylim(bottom=0)

    def count(panel: Any) -> None:
        panel.set_title(f"markers used, of {len(result.names)}")
        panel.set_ylabel("number [1]")
        count = result.used.sum(axis=1)[part]
        panel.plot(t[part], count, color=MIDDLE, lw=1.2, label="used")
        rejected = (result.status == MarkerStatus.REJECTED).sum(axis=1)[part]
        if rejected.any():
            colour = STATUS_COLOURS[MarkerStatus.REJECTED]
            panel.plot(t[part], rejected, color=colour, lw=1.0, label="rejected")
        panel.set_ylim(0, len(result.names) + 1)

    panels = [rms] if result.used.all() else [rms, count]
    figure = stacked(panels, "time [s]")
    if len(t) > 1:
        figure.axes[0].set_xlim(t[0], t[-1])
    return figure


def _largest(differences: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Largest distance of the markers used in each frame (n,) [m]; NaN without any."""
    distances = np.where(used, np.linalg.norm(differences, axis=2), -np.inf)
    largest = np.nan_to_num(distances, nan=-np.inf, neginf=-np.inf).max(axis=1)
    return np.where(np.isfinite(largest), largest, np.nan)


def largest_of_markers(result: Reconstruction) -> np.ndarray:
    """Largest distance of each marker where it was used (m,) [m]; NaN without any."""
    largest = np.full(len(result.names), -np.inf)
    for rows in row_slices(len(result.q)):
        distances = np.linalg.norm(result.differences[rows], axis=2)
        distances = np.where(result.used[rows], distances, -np.inf)
        np.fmax(largest, distances.max(axis=0), out=largest)
    release(result.differences)
    return np.where(np.isfinite(largest), largest, np.nan)


def marker_bars(result: Reconstruction) -> Figure:
    """Root mean square, mean and largest distance of each marker, worst first."""
    rms = 1e3 * result.marker_rms
    order = np.argsort(-np.nan_to_num(rms, nan=-1.0), kind="stable")
    largest = 1e3 * largest_of_markers(result)
    height = 0.19 * len(order) + 0.9
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    panel = figure.subplots()
    rows = np.arange(len(order))
    panel.barh(rows, rms[order], color="#7fb2d9", height=0.72, label="rms")
    panel.plot(
        1e3 * result.marker_means[order], rows, "|", color="black", ms=7, label="mean"
    )
    panel.plot(largest[order], rows, ".", color="tab:red", ms=4, label="largest")
    panel.set_yticks(rows, [_plain(result.names[k]) for k in order])
    panel.invert_yaxis()
    panel.set_ylim(len(order) - 0.4, -0.6)
    panel.set_xlim(left=0)
    panel.set_xlabel("distance [mm]")
    dress(panel)
    panel.grid(axis="y", alpha=0)
    panel.legend(loc="lower right", fontsize=8, frameon=False)
    return figure


def marker_map(result: Reconstruction) -> Figure | None:
    """Occluded, interpolated or rejected: over time, each marker that ever was.

    None where every marker was used in every frame.
    """
    status = result.status
    shown = np.flatnonzero((status != MarkerStatus.USED).any(axis=0))
    if not len(shown):
        return None
    n, m = len(status), len(shown)
    # Of frames that share a column of the picture the worst is shown.
    starts = np.arange(0, n, -(-n // MOST_COLUMNS))
    picture = np.maximum.reduceat(status[:, shown], starts, axis=0).T
    figure = Figure(figsize=(WIDTH, 0.17 * m + 1.1), layout="constrained")
    panel = figure.subplots()
    colours = np.array([to_rgba(STATUS_COLOURS[kind]) for kind in MarkerStatus])
    t = result.t
    half = (t[-1] - t[0]) / max(n - 1, 1) / 2 or 0.5
    panel.imshow(
        np.rint(255 * colours).astype(np.uint8)[picture],
        aspect="auto",
        interpolation="nearest",
        extent=(t[0] - half, t[-1] + half, m - 0.5, -0.5),
    )
    panel.set_yticks(range(m), [_plain(result.names[k]) for k in shown])
    others = len(result.names) - m
    note = f"; markers not shown, used in every frame: {others}" if others else ""
    panel.set_xlabel(f"time [s]{note}")
    panel.tick_params(labelsize=8)
    panel.hlines(np.arange(m - 1) + 0.5, t[0] - half, t[-1] + half, color="w", lw=0.5)
    handles = [
        Patch(fc=colour, ec="0.7", lw=0.5, label=kind.name.lower())
        for kind, colour in STATUS_COLOURS.items()
        if (status == kind).any()
    ]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=5, fontsize=8, frameon=False
    )
    return figure


def ground_reaction(result: Reconstruction, dynamics: Forces) -> Figure:
    """Force and moment that the ground must give for the motion."""
    ground = np.asarray(dynamics.ground)
    weight = GRAVITY * result.model.mass
    axes = ("x", "y", "z")

    def force(panel: Any) -> None:
        panel.set_title("force of the ground on the body")
        panel.set_ylabel("force [N]")
        for k, name in enumerate(axes):
            panel.plot(dynamics.t, ground[:, k], lw=1.2, label=name)
        panel.axhline(weight, color="0.5", lw=1.0, ls="--", label="weight")

    def moment(panel: Any) -> None:
        panel.set_title("moment of the ground on the body")
        panel.set_ylabel("moment [N m]")
        for k, name in enumerate(axes):
            panel.plot(dynamics.t, ground[:, 3 + k], lw=1.2, label=name)

    return stacked([force, moment], "time [s]")


def _plain(name: str) -> str:
    """A name in which nothing is a formula, and short enough for an axis."""
    short = name if len(name) <= 30 else name[:29] + "…"
    return short.replace("$", r"\$")
