# SPDX-License-Identifier: Apache-2.0
"""Pictures of joints, left and right together: angles, strides, torques."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from humans_sim.analysis.strides import PERCENT, Stride
from humans_sim.models.angles import Column
from humans_sim.models.conventions import HUMANS
from humans_sim.observation.posture.forces_csv import Forces
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.view.plots.figure_panels import GREY, LEFT, MIDDLE, RIGHT, WIDTH, dress

_SIDES = {"l": ("left", LEFT), "r": ("right", RIGHT), "": ("", MIDDLE)}
INTERVAL = 1.96
"""Standard deviations on each side that hold 95 % of a normal distribution."""
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
            seen = {
                side: place
                for side, place in group.joints.items()
                if not _unseen(result, shown.joints[place])
            }
            _bands(panel, JointGroup(group.title, seen), t, angles, std)
            # Where a joint is hidden its band is seen, but does not flatten the rest.
            half = np.minimum(INTERVAL * std[:, chosen], np.ptp(curves) / 2)
            curves = np.vstack([curves - half, curves + half])
        _show_limits(panel, curves, low[chosen].max(), high[chosen].min())

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
        joint = tree.frames[tree.getFrameId(sole.name)].parentJoint
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
        _not_flat(panel)

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


def _bands(
    panel: Any, group: JointGroup, t: np.ndarray, angles: np.ndarray, std: np.ndarray
) -> None:
    """95 % intervals of the joints of a group."""
    for side, place in group.joints.items():
        middle, half = angles[:, place], INTERVAL * std[:, place]
        panel.fill_between(
            t,
            middle - half,
            middle + half,
            color=_SIDES[side][1],
            alpha=0.2,
            lw=0,
            zorder=0,
        )
    panel.fill_between([], [], color="0.5", alpha=0.3, lw=0, label="95 % interval")


def shown_rows(count: int) -> slice:
    """Rows of a long trial that are drawn: no picture shows more."""
    return slice(None, None, max(1, -(-count // MOST_ROWS)))


def _show_limits(panel: Any, angles: np.ndarray, low: float, high: float) -> None:
    """Shade what lies beyond the limits, where the curves come near."""
    finite = angles[np.isfinite(angles)]
    least, most = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    margin = max(0.1 * (most - least), (_LEAST - (most - least)) / 2)
    bottom, top = least - margin, most + margin
    for edge, beyond in ((low, -math.inf), (high, math.inf)):
        if bottom < edge < top:
            end = bottom if beyond < 0 else top
            panel.axhspan(edge, end, color="tab:red", alpha=0.10, lw=0)
            panel.axhline(edge, color="tab:red", alpha=0.5, lw=0.7)
    panel.set_ylim(bottom, top)


def _not_flat(panel: Any) -> None:
    """A panel of angles is at least so high that noise does not look like motion."""
    low, high = panel.get_ylim()
    more = (_LEAST - (high - low)) / 2
    if more > 0:
        panel.set_ylim(low - more, high + more)


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
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="outside upper center",
            ncols=4,
            fontsize=9,
            frameon=False,
        )
    return figure
