# SPDX-License-Identifier: Apache-2.0
"""Pictures of a walk: footprints from above, feet, body, joints, forces over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from humans_sim.analysis.gait import WalkSummary
from humans_sim.analysis.run_motion import RunMotion, SoleMotion
from humans_sim.control.walking.footsteps import Side
from humans_sim.models.legs import contacts_of, sole_named
from humans_sim.models.points import frame_index
from humans_sim.results.event_states import ImpactSamples, with_event_samples
from humans_sim.view.plots.figure_panels import (
    LEFT,
    NAMED,
    RIGHT,
    WIDTH,
    CurveStyles,
    dress,
    legend_above,
    stacked,
)

SIDES = {Side.LEFT: LEFT, Side.RIGHT: RIGHT}
"""Colours of the feet."""
_COM, _ZMP, _FALL = "black", "tab:green", "tab:red"
_MOST_ROWS = 5
"""Rows into which a long path is cut at most."""
_TALLEST = 8.0
"""Largest height of one row seen from above [inch]."""
_NUMBERED = 40
"""Footprints that get a number, and landings that get a line, at most."""
_MANY = 1500
"""Samples above which the dots of the zero-moment point are small."""
_CLOSE = 20
"""Steps that panels over time show of a walk of many."""
_SMOOTH = 1.0
"""Time over which speed is averaged where there are no steps [s]."""
_BLOW = 6.0
"""Forces above this are cut off, in weights."""


def walk_figures(motion: RunMotion, summary: WalkSummary) -> dict[str, Figure]:
    """The pictures that a run has something to show in, by their titles."""
    figures = {}
    if summary.on_feet:
        title = "Seen from above: footprints, centre of mass, zero-moment point"
        figures[title] = from_above(motion, summary)
    if len(motion.run.event_states):  # curves jump where they do
        motion = RunMotion.of_run(with_event_samples(motion.run))
    if summary.on_feet:
        figures["Feet"] = feet(motion, summary)
    figures["Body"] = body(motion, summary)
    if any(_leg(motion, sole.name) for sole in motion.soles):
        figures["Joints of the legs"] = legs(motion, summary)
    if summary.on_feet:
        figures["Contact forces"] = contact_forces(motion, summary)
    return figures


def from_above(motion: RunMotion, summary: WalkSummary) -> Figure:
    """Footprints, path of the centre of mass and of the zero-moment point.

    A path much longer than wide is cut into rows, each in the same scale.
    """
    prints = [
        (sole, place, 0)
        for sole, place in zip(motion.soles, summary.standing, strict=True)
    ]
    by_name = {sole.name: sole for sole in motion.soles}
    prints += [
        (by_name[step.sole], step.footprint, number)
        for number, step in enumerate(summary.steps, 1)
    ]
    outlines = [place.points(sole.corners) for sole, place, _ in prints]
    places = np.vstack([*outlines, motion.com[:, :2]])
    low, high = places.min(axis=0), places.max(axis=0)
    margin = 0.2 * float(np.ptp(outlines[0], axis=0).max())
    low, high = low - margin, high + margin
    wide, tall = high - low
    inches = WIDTH - 1.0
    rows = int(np.clip(round(math.sqrt(wide / tall / 2)), 1, _MOST_ROWS))
    row_width = wide / rows
    height = min(inches * tall / row_width, _TALLEST)
    figure = Figure(figsize=(WIDTH, rows * (height + 0.35) + 0.5), layout="constrained")
    panels = figure.subplots(rows, 1, squeeze=False)[:, 0]
    every = -(-len(prints) // _NUMBERED)
    for row, panel in enumerate(panels):
        left = low[0] + row * row_width
        panel.set_xlim(left, left + row_width)
        panel.set_ylim(low[1], high[1])
        panel.set_aspect("equal", adjustable="box")
        for (sole, _, number), outline in zip(prints, outlines, strict=True):
            _draw_print(panel, outline, sole.side, number, number % every == 0)
        panel.plot(*motion.com[:, :2].T, color=_COM, lw=1.2, label="centre of mass")
        panel.plot(
            *motion.zmp.T,
            ls="",
            marker=".",
            ms=2.5 if len(motion.zmp) < _MANY else 1.2,
            color=_ZMP,
            label="zero-moment point, each sample",
        )
        panel.set_ylabel("y [m]")
        dress(panel)
    panels[-1].set_xlabel("x [m]")
    handles, names = panels[0].get_legend_handles_labels()
    for side, colour in SIDES.items():
        handles.append(Polygon([(0, 0)], fc=colour, alpha=0.35, ec=colour))
        names.append(f"{side.name.lower()} foot (0: where it stood first)")
    legend_above(figure, handles, names)
    return figure


def _draw_print(
    panel: Any, outline: np.ndarray, side: Side, number: int, named: bool
) -> None:
    colour = SIDES[side]
    style = ":" if number == 0 else "-"
    if len(outline) < 3:
        panel.plot(*outline.T, "o-", color=colour, alpha=0.5)
    else:
        panel.add_patch(Polygon(outline, fc=colour, alpha=0.18, lw=0, zorder=1))
        panel.add_patch(Polygon(outline, fill=False, ec=colour, ls=style, lw=0.9))
    if named:
        x = float(outline[:, 0].mean())
        panel.annotate(
            str(number),
            (x, _outer_edge(outline, side, x)),
            xytext=(0, -8 * side),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=7,
            color=colour,
            clip_on=True,
            annotation_clip=True,
        )


def _outer_edge(outline: np.ndarray, side: Side, x: float) -> float:
    """Where the outer edge of a print is, at a place along it [m]."""
    ends = np.roll(outline, -1, axis=0)
    crossed = (outline[:, 0] - x) * (ends[:, 0] - x) < 0
    if not crossed.any():
        return float(outline[np.argmax(side * outline[:, 1]), 1])
    a, b = outline[crossed], ends[crossed]
    places = a[:, 1] + (x - a[:, 0]) / (b[:, 0] - a[:, 0]) * (b[:, 1] - a[:, 1])
    return float(places[np.argmax(side * places)])


def feet(motion: RunMotion, summary: WalkSummary) -> Figure:
    """Height of the soles, their loads, and the margin of the zero-moment point."""
    t, impacts = motion.run.t, ImpactSamples(motion.run.t, motion.run.events)

    def heights(panel: Any) -> None:
        panel.set(
            title="lowest point of each sole above the ground", ylabel="height [mm]"
        )
        for sole in motion.soles:
            panel.plot(t, 1e3 * sole.height, color=SIDES[sole.side], label=sole.name)

    def loads(panel: Any) -> None:
        panel.set(title="normal force on each sole", ylabel="force [N]")
        for sole in motion.soles:
            load = impacts.jump(sole.load[:, None])[:, 0]
            panel.plot(impacts.t, load, color=SIDES[sole.side], label=sole.name)
        panel.axhline(motion.weight, color="0.5", lw=1.0, ls="--", label="weight")
        _cut(panel, motion, [sole.load for sole in motion.soles])

    def margin(panel: Any) -> None:
        panel.set_title("zero-moment point, from the edge of the loaded soles")
        panel.set_ylabel("distance [mm]")
        panel.plot(t, 1e3 * motion.zmp_margin, color=_ZMP, label="distance")
        panel.axhline(0.0, color="0.5", lw=1.0, ls="--", label="edge")

    return _over_time(motion, summary, [heights, loads, margin])


def body(motion: RunMotion, summary: WalkSummary) -> Figure:
    """Attitude of the base, its height and its speed."""
    t = motion.run.t

    def attitude(panel: Any) -> None:
        panel.set_title("attitude of the base; heading from its value at the start")
        panel.set_ylabel("angle [°]")
        roll, pitch = np.degrees(motion.attitude).T
        turned = np.degrees(motion.footprint[:, 2] - motion.footprint[0, 2])
        for name, values in (("roll", roll), ("pitch", pitch), ("heading", turned)):
            panel.plot(t, values, label=name)

    def height(panel: Any) -> None:
        panel.set(title="height above the lower sole", ylabel="height [m]")
        panel.plot(t, motion.base_height, label="base")

    def speed(panel: Any) -> None:
        panel.set_title("speed of the base along its heading and to the left")
        panel.set_ylabel("speed [m/s]")
        window = _stride(summary)
        for k, (name, colour) in enumerate((("ahead", "C0"), ("left", "C1"))):
            raw = motion.velocity[:, k]
            panel.plot(t, raw, color=colour, lw=0.7, alpha=0.45, label=name)
            # The mean over a window around each time; NaN where it does not fit.
            area = np.cumsum(np.diff(t) * (raw[1:] + raw[:-1]) / 2)
            area = np.concatenate([[0.0], area])
            low, high = t - window / 2, t + window / 2
            mean = (np.interp(high, t, area) - np.interp(low, t, area)) / window
            mean = np.where((low >= t[0]) & (high <= t[-1]), mean, np.nan)
            if np.isfinite(mean).any():
                label = f"{name}, mean of {window:.2g} s"
                panel.plot(t, mean, color=colour, lw=2.0, label=label)

    return _over_time(motion, summary, [attitude, height, speed], whole=True)


def legs(motion: RunMotion, summary: WalkSummary) -> Figure:
    """Angles of the joints that carry each sole."""
    impacts = ImpactSamples(motion.run.t, motion.run.events)
    names = motion.model.joint_names
    chains = [_leg(motion, sole.name) for sole in motion.soles]
    styles = CurveStyles(names[joint] for chain in chains for joint in chain)

    def draw(sole: SoleMotion, panel: Any) -> None:
        panel.set(title=f"{sole.side.name.lower()} leg", ylabel="angle [°]")
        chain = _leg(motion, sole.name)
        columns = [7 + joint for joint in chain]
        angles = impacts.bend(np.degrees(motion.run.q[:, columns]))
        for joint, values in zip(chain, angles.T, strict=True):
            panel.plot(impacts.t, values, label=names[joint], **styles.of(names[joint]))

    return _over_time(motion, summary, [partial(draw, sole) for sole in motion.soles])


def _heaviest(forces: np.ndarray) -> list[int]:
    """Points that get a colour and a name: those with the largest forces (n, k) [N]."""
    peaks = np.nan_to_num(forces).max(axis=0, initial=0.0)
    return sorted(np.argsort(-peaks, kind="stable")[:NAMED].tolist())


def contact_forces(motion: RunMotion, summary: WalkSummary) -> Figure:
    """Normal force on each point of the soles, and how much of the friction is used."""
    run, impacts = motion.run, ImpactSamples(motion.run.t, motion.run.events)
    points = {sole.name: _point_names(motion, sole) for sole in motion.soles}
    styles = CurveStyles(name for names in points.values() for name in names)

    def normal(sole: SoleMotion, panel: Any) -> None:
        title = f"normal forces on the points of {sole.name}"
        panel.set(title=title, ylabel="force [N]")
        forces, names = impacts.jump(sole.forces[:, :, 0]), points[sole.name]
        named = _heaviest(forces)
        others = [k for k in range(len(names)) if k not in named]
        for n, k in enumerate(others):
            label = f"{len(others)} smaller ones" if n == 0 else "_"
            panel.plot(impacts.t, forces[:, k], color="0.75", lw=0.7, label=label)
        for k in named:
            look = {"lw": 1.0, "label": names[k], **styles.of(names[k])}
            panel.plot(impacts.t, forces[:, k], **look)
        _cut(panel, motion, [sole.forces[:, :, 0]])

    def friction(panel: Any) -> None:
        panel.set(title="tangential over normal force of each sole", ylabel="ratio [1]")
        for sole in motion.soles:
            along = np.linalg.norm(sole.forces[:, :, 1:].sum(axis=1), axis=1)
            loaded = sole.load > 0.05 * motion.weight
            ratio = np.where(loaded, along / np.where(loaded, sole.load, 1.0), np.nan)
            panel.plot(run.t, ratio, color=SIDES[sole.side], lw=1.0, label=sole.name)
        finite = run.table.friction[np.isfinite(run.table.friction)]
        if 0.0 < (most := finite.max(initial=0.0)) < 3.0:
            look = {"color": "0.5", "lw": 1.0, "ls": "--"}
            panel.axhline(most, label=f"friction {most:g}", **look)

    panels = [partial(normal, sole) for sole in motion.soles]
    return _over_time(motion, summary, [*panels, friction])


def _over_time(
    motion: RunMotion,
    summary: WalkSummary,
    draws: Sequence[Callable[[Any], None]],
    whole: bool = False,
) -> Figure:
    """Panels below each other, with the landings and a fall marked.

    Of a walk of many steps they show some, unless the whole must be seen.
    """
    start, end, note = _shown(motion.run.t, summary, whole)

    few = not whole or len(summary.steps) <= _NUMBERED

    def marked(draw: Callable[[Any], None], panel: Any) -> None:
        draw(panel)
        for step in summary.steps:
            if start <= step.landing <= end and few:
                look = {"color": SIDES[step.side], "lw": 0.6, "alpha": 0.5}
                panel.axvline(step.landing, zorder=1, **look)
        if summary.fallen:
            panel.axvline(summary.fall_time, color=_FALL, lw=1.5, label="fall")

    figure = stacked([partial(marked, draw) for draw in draws], f"time [s]{note}")
    if end > start:
        figure.axes[0].set_xlim(start, end)
    return figure


def _cut(panel: Any, motion: RunMotion, forces: Sequence[np.ndarray]) -> None:
    """End a panel of forces where single blows would make all else flat."""
    most = _BLOW * motion.weight
    beyond = sum(int((force > most).sum()) for force in forces)
    if beyond:
        rest = max(float(force[force <= most].max(initial=0.0)) for force in forces)
        panel.set_ylim(-0.05 * rest, 1.1 * rest)
        panel.set_title(
            f"{panel.get_title()} (above {most:.3g} N and not drawn: {beyond})"
        )


def _shown(
    t: np.ndarray, summary: WalkSummary, whole: bool
) -> tuple[float, float, str]:
    """Start and end of what panels show [s], and what is to be said of it."""
    start, end = float(t[0]), float(t[-1])
    if not summary.steps:
        return start, end, ""
    marks = "; thin upright lines: landings, in the colours of the feet"
    if len(summary.steps) <= _NUMBERED:
        return start, end, marks
    if whole:
        return start, end, "; the whole run"
    half = _CLOSE * _stride(summary) / 4
    middle = summary.fall_time - half if summary.fallen else (start + end) / 2
    cut = f"; {2 * half:.3g} s of {end - start:.3g} s{marks}"
    return max(middle - half, start), min(middle + half + 0.5, end), cut


def _leg(motion: RunMotion, sole: str) -> list[int]:
    """Joints between the base and a sole, by their places in ``joint_names``."""
    model = motion.model.pin
    joint = model.frames[frame_index(model, sole)].parentJoint
    return [int(j) - 2 for j in model.supports[joint] if j >= 2]


def _point_names(motion: RunMotion, sole: SoleMotion) -> list[str]:
    """Names of the points of a sole that are contacts of the run."""
    table = motion.run.table
    return list(contacts_of(sole_named(motion.model, sole.name), table.names))


def _stride(summary: WalkSummary) -> float:
    """Time of two steps [s]."""
    durations = summary.step_values("duration")
    durations = durations[np.isfinite(durations)]
    return 2 * float(np.median(durations)) if len(durations) else _SMOOTH
