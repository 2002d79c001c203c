# SPDX-License-Identifier: Apache-2.0
"""Pictures of a reconstruction: distances, markers, joints, strides, forces.

Forces of each foot are drawn beside plates, with the residual; joints left and right
together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from humans_sim.analysis.footfalls import PERCENT, Stride, stretches
from humans_sim.analysis.force_comparison import ForceComparison, compared_rows
from humans_sim.analysis.inverse_dynamics import InverseDynamics
from humans_sim.core.arrays import by_rows, release, row_slices
from humans_sim.core.constants import GRAVITY
from humans_sim.models.angles import Column
from humans_sim.models.conventions import HUMANS
from humans_sim.models.points import frame_index
from humans_sim.observation.posture.export import Forces
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction
from humans_sim.view.plots.figure_panels import (
    GREY,
    LEFT,
    MIDDLE,
    RIGHT,
    WIDTH,
    dress,
    legend_above,
    plain_label,
    stacked,
)


def force_figures(
    dynamics: InverseDynamics, comparison: ForceComparison | None = None
) -> dict[str, Figure]:
    """The pictures, by their titles."""
    return {
        "Vertical force of each foot": vertical_forces(dynamics, comparison),
        "Residual at the base": residual(dynamics),
    }


def vertical_forces(
    dynamics: InverseDynamics, comparison: ForceComparison | None = None
) -> Figure:
    """Vertical force of each foot; with plates, theirs and that of markers alone."""

    def draw(sole: str, panel: Any) -> None:
        panel.set(title=sole, ylabel="force [body weights]")
        colour = LEFT if sole.startswith("l") else RIGHT
        force = dynamics.feet[sole][:, 2] / dynamics.weight
        if comparison is None:
            panel.plot(dynamics.t, force, color=colour, lw=1.4, label="estimated")
            return
        alone = comparison.alone.feet[sole][:, 2] / dynamics.weight
        plate = np.where(compared_rows(dynamics, sole), force, np.nan)
        panel.plot(dynamics.t, plate, color=MIDDLE, lw=2.2, label="plates")
        panel.plot(dynamics.t, alone, color=colour, lw=1.2, label="from markers alone")
        agreement = comparison.feet.get(sole)
        if agreement is not None:
            panel.set_title(
                f"{sole}: r {agreement.correlation:.3f}, "
                f"{100 * agreement.rms:.1f} % of body weight rms"
            )

    return stacked([partial(draw, sole) for sole in dynamics.feet], "time [s]")


def residual(dynamics: InverseDynamics) -> Figure:
    """Force and moment left over at the base; shaded where not all is measured."""
    t, left = dynamics.t, dynamics.residual

    def shade(panel: Any) -> None:
        if dynamics.loads is None:
            return
        for first, last in stretches(~dynamics.measured):
            panel.axvspan(t[first], t[last], color="0.93", lw=0, zorder=0)

    share = 100 * left[:, :3] / dynamics.weight
    force = _parts("force left over, of body weight", "force [%]", t, share, shade)
    title, label = "moment left over about the base", "moment [N m]"
    moment = _parts(title, label, t, left[:, 3:], shade)
    return stacked([force, moment], "time [s]")


def _parts(
    title: str,
    label: str,
    t: np.ndarray,
    values: np.ndarray,
    add: Callable[[Any], object] = lambda panel: None,
) -> Callable[[Any], None]:
    """Draws the three parts of a vector over time (n, 3), and what is added to it."""

    def draw(panel: Any) -> None:
        panel.set(title=title, ylabel=label)
        for k, axis in enumerate("xyz"):
            panel.plot(t, values[:, k], lw=1.2, label=axis)
        add(panel)

    return draw


_SIDES = {"l": ("left", LEFT), "r": ("right", RIGHT), "": ("", MIDDLE)}
INTERVAL = 1.96
"""Standard deviations on each side that hold 95 % of a normal distribution."""
_BAND = "95 % interval"
MOST_ROWS = 4000
"""Samples of a curve at most; of a longer trial every second, third, ... is drawn."""
_COLUMNS = 3
_SMALL = 1.75
"""Height of a small panel [inch]."""
_LEAST = 10.0
"""Least height of a panel of angles [°]."""


@dataclass(frozen=True)
class JointGroup:
    """A joint on the left and on the right, or one in the middle.

    Attributes:
        title: the common part of the names.
        joints: places among the columns, by side: ``l``, ``r``, or nothing.
    """

    title: str
    joints: dict[str, int]


def joint_groups(columns: Sequence[Column]) -> list[JointGroup]:
    """Angles of joints, left and right together, in their order."""
    groups: dict[str, dict[str, int]] = {}
    for place, column in enumerate(columns):
        groups.setdefault(column.title, {})[column.side] = place
    return [JointGroup(title, joints) for title, joints in groups.items()]


def joint_angles(result: Reconstruction, convention: str | Path = HUMANS) -> Figure:
    """Joints that markers see over time, left and right together.

    Bands are the 95 % intervals where standard deviations are known.
    """
    shown, rows = result.angles(convention), shown_rows(len(result.t))
    t, angles = result.t[rows], np.degrees(shown.values[rows])
    std = _column_stds(result, shown.joints, rows)
    low, high = np.degrees([column.limits for column in shown.joints]).T

    def draw(panel: Any, group: JointGroup) -> None:
        _over_time(panel, result, shown.joints, group, t, angles)
        chosen = list(group.joints.values())
        curves = angles[:, chosen]
        if std is not None:
            halves = INTERVAL * std
            for side, place in group.joints.items():
                if not _unseen(result, shown.joints[place]):
                    middle, half = angles[:, place], halves[:, place]
                    look = {"color": _SIDES[side][1], "alpha": 0.2, "zorder": 0}
                    panel.fill_between(t, middle - half, middle + half, lw=0, **look)
            panel.fill_between([], [], color="0.5", alpha=0.3, lw=0, label=_BAND)
            # Where a joint is hidden its band is seen, but does not flatten the rest.
            half = np.minimum(halves[:, chosen], np.ptp(curves) / 2)
            curves = np.vstack([curves - half, curves + half])
        finite = curves[np.isfinite(curves)]
        least, most = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
        margin = max(0.1 * (most - least), (_LEAST - (most - least)) / 2)
        bottom, top = least - margin, most + margin
        # Shade what lies beyond the limits, where the curves come near.
        for edge, end in ((low[chosen].max(), bottom), (high[chosen].min(), top)):
            if bottom < edge < top:
                panel.axhspan(edge, end, color="tab:red", alpha=0.10, lw=0)
                panel.axhline(edge, color="tab:red", alpha=0.5, lw=0.7)
        panel.set_ylim(bottom, top)

    return _grid(seen_groups(result, shown.joints), draw, "angle [°]", "time [s]")


def stride_curves(
    result: Reconstruction,
    strides: Sequence[Stride],
    convention: str | Path = HUMANS,
) -> Figure:
    """Joints of the legs from heel strike to heel strike of their own side."""
    tree = result.model.pin
    legs: set[str] = set()
    for sole in result.model.soles:
        joint = tree.frames[frame_index(tree, sole.name)].parentJoint
        legs |= {tree.names[j] for j in tree.supports[joint] if j >= 2}
    shown = result.angles(convention)
    groups = [
        group
        for group in joint_groups(shown.joints)
        if set(group.joints) == {"l", "r"}
        and all(set(shown.joints[k].joints) <= legs for k in group.joints.values())
    ]
    angles = np.degrees(shown.values)

    def draw(panel: Any, group: JointGroup) -> None:
        panel.set_title(group.title)
        for side, place in group.joints.items():
            word, colour = _SIDES[side]
            curves = np.array(
                [s.curve(result.t, angles[:, place]) for s in strides if s.side == side]
            )
            if not len(curves):
                continue
            if len(curves) > 1:
                panel.plot(PERCENT, curves.T, color=colour, lw=0.6, alpha=0.4)
            label = f"{word}, {len(curves)} stride{'s' if len(curves) > 1 else ''}"
            panel.plot(PERCENT, curves.mean(axis=0), color=colour, lw=2.0, label=label)
        panel.set_xlim(0, 100)
        low, high = panel.get_ylim()  # noise must not look like motion
        more = max((_LEAST - (high - low)) / 2, 0.0)
        panel.set_ylim(low - more, high + more)

    return _grid(groups, draw, "angle [°]", "stride [%]", height=2.1)


def joint_torques(result: Reconstruction, dynamics: Forces) -> Figure:
    """Torques of the model's joints over time, left and right together."""
    joints = result.angles().joints

    def draw(panel: Any, group: JointGroup) -> None:
        _over_time(panel, result, joints, group, dynamics.t, dynamics.torques)

    return _grid(seen_groups(result, joints), draw, "torque [N m]", "time [s]")


def seen_groups(result: Reconstruction, columns: Sequence[Column]) -> list[JointGroup]:
    """Joints of which markers see at least one side."""
    return [
        group
        for group in joint_groups(columns)
        if not all(_unseen(result, columns[k]) for k in group.joints.values())
    ]


def _unseen(result: Reconstruction, column: Column) -> bool:
    """Whether no marker sees any joint of an angle."""
    return bool(column.joints) and set(column.joints) <= set(result.unobservable)


def _over_time(
    panel: Any,
    result: Reconstruction,
    columns: Sequence[Column],
    group: JointGroup,
    t: np.ndarray,
    v: np.ndarray,
) -> None:
    """Curves of a group; that of a joint no marker sees is pale."""
    panel.set_title(group.title)
    for side, place in group.joints.items():
        word, colour = _SIDES[side]
        if _unseen(result, columns[place]):
            panel.plot(t, v[:, place], color=GREY, lw=1.0, ls="--")
        else:
            panel.plot(t, v[:, place], color=colour, lw=1.2, label=word or None)
    if len(t) > 1:
        panel.set_xlim(t[0], t[-1])


def _column_stds(
    result: Reconstruction, columns: Sequence[Column], rows: slice
) -> np.ndarray | None:
    """Standard deviations of columns (n, columns) [degrees]; None: not worked out.

    An angle that several joints make has none here: NaN.
    """
    if result.std is None:
        return None
    names = result.model.joint_names
    joints = np.degrees(result.std[rows, 6:].astype(float))
    std = np.full((len(joints), len(columns)), np.nan)
    for place, column in enumerate(columns):
        if len(column.joints) == 1:
            std[:, place] = joints[:, names.index(column.joints[0])]
    return std


def shown_rows(count: int) -> slice:
    """Rows of a long trial that are drawn: no picture shows more."""
    return slice(None, None, max(1, -(-count // MOST_ROWS)))


def _grid(
    groups: Sequence[JointGroup],
    draw: Callable[[Any, JointGroup], None],
    ylabel: str,
    xlabel: str,
    height: float = _SMALL,
) -> Figure:
    """Small panels beside and below each other, with one legend."""
    rows = -(-len(groups) // _COLUMNS)
    figure = Figure(figsize=(WIDTH, rows * height + 0.6), layout="constrained")
    panels = figure.subplots(rows, _COLUMNS, squeeze=False, sharex=True)
    handles: dict[str, Any] = {}
    for place, panel in enumerate(panels.flat):
        if place >= len(groups):
            panel.set_visible(False)
            # the panel above is the last of its column and labels the axis
            panels[rows - 2, place % _COLUMNS].tick_params(labelbottom=True)
            panels[rows - 2, place % _COLUMNS].set_xlabel(xlabel, fontsize=9)
            continue
        draw(panel, groups[place])
        dress(panel)
        panel.title.set_fontsize(9)
        if place % _COLUMNS == 0:
            panel.set_ylabel(ylabel, fontsize=9)
        if place // _COLUMNS == rows - 1:
            panel.set_xlabel(xlabel, fontsize=9)
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        legend_above(figure, list(handles.values()), list(handles), 9)
    return figure


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
        panel.set(title="over the markers used in each frame", ylabel="distance [mm]")
        panel.plot(t[part], 1e3 * largest[part], color=GREY, lw=1.0, label="largest")
        panel.plot(t[part], 1e3 * frame_rms[part], color=LEFT, lw=1.4, label="rms")
        panel.axhline(1e3 * result.rms, color=LEFT, lw=0.9, ls="--", label="rms of all")
        worst = worst_moments(result, 5)
        look = {"color": "tab:red", "ms": 5, "label": "worst frames"}
        panel.plot(t[worst], 1e3 * frame_rms[worst], "v", **look)
        panel.set_ylim(bottom=0)

    def count(panel: Any) -> None:
        panel.set(title=f"markers used, of {len(result.names)}", ylabel="number [1]")
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
    panel.set_yticks(rows, [plain_label(result.names[k], 30) for k in order])
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
    panel.set_yticks(range(m), [plain_label(result.names[k], 30) for k in shown])
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
    legend_above(
        figure, handles, [str(handle.get_label()) for handle in handles], ncols=5
    )
    return figure


def ground_reaction(result: Reconstruction, dynamics: Forces) -> Figure:
    """Force and moment that the ground must give for the motion."""
    ground = np.asarray(dynamics.ground)
    weight, t = GRAVITY * result.model.mass, dynamics.t

    def mark(panel: Any) -> None:
        panel.axhline(weight, color="0.5", lw=1.0, ls="--", label="weight")

    title = "{} of the ground on the body"
    force = _parts(title.format("force"), "force [N]", t, ground[:, :3], mark)
    moment = _parts(title.format("moment"), "moment [N m]", t, ground[:, 3:6])
    return stacked([force, moment], "time [s]")
