# SPDX-License-Identifier: Apache-2.0
"""Draw the picture of docs/walking.md: a walk of the KHR-1 from above and over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

import humans_sim as hs
from humans_sim.control.trajectories.trajectory import ContactPhase
from humans_sim.control.walking import PatternPoint, WalkPattern
from humans_sim.control.walking.footsteps import Side, SolePair

IMAGES = Path(__file__).parent / "images"
COM, ZMP = "C0", "C3"
FOOT = {Side.LEFT: "C2", Side.RIGHT: "C1"}


def walk(pattern: WalkPattern) -> list[PatternPoint]:
    """Eight steps forwards with a speed of 0.08 m/s, sampled."""
    pattern.walk(8, 0.08)
    return [pattern.tick(t) for t in np.arange(0.0, 5.3, 0.005)]


def from_above(axis: Axes, points: list[PatternPoint], soles: SolePair) -> None:
    """Footprints, centre of mass and zero-moment point on the ground [mm]."""
    drawn = set()
    for point in points:
        for side, foot in ((Side.LEFT, point.left), (Side.RIGHT, point.right)):
            x, y, height = foot.pose.translation
            place = (side, round(x, 6), round(y, 6))
            if height > 0.0 or place in drawn:
                continue
            drawn.add(place)
            corners = 1e3 * (soles.corners[side] + (x, y))
            axis.add_patch(Polygon(corners, fc=FOOT[side], ec="none", alpha=0.13))
            axis.add_patch(Polygon(corners, fc="none", ec=FOOT[side], lw=0.9))
    com = 1e3 * np.array([point.com for point in points])
    zmp = 1e3 * np.array([point.zmp for point in points])
    axis.plot(zmp[:, 0], zmp[:, 1], color=ZMP, lw=1.0, label="zero-moment point")
    axis.plot(com[:, 0], com[:, 1], color=COM, lw=2.0, label="centre of mass")
    axis.plot(*com[0, :2], "o", color=COM, ms=5)
    axis.set(xlabel="x [mm]", ylabel="y [mm]", aspect="equal")
    axis.set(xlim=(-55, 365), ylim=(-95, 95))
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)


def over_time(
    axis: Axes, points: list[PatternPoint], soles: SolePair, which: int
) -> None:
    """One coordinate, with the room of the zero-moment point at each time [mm]."""
    times = np.array([point.time for point in points])
    low = [1e3 * (p.support_polygon[:, which].min() + soles.margin) for p in points]
    high = [1e3 * (p.support_polygon[:, which].max() - soles.margin) for p in points]
    axis.fill_between(
        times, low, high, color="0.88", lw=0, label="where the zero-moment point may be"
    )
    axis.plot(times, [1e3 * p.zmp[which] for p in points], color=ZMP, lw=1.2)
    axis.plot(times, [1e3 * p.com[which] for p in points], color=COM, lw=2.0)
    axis.set_ylabel(f"{'xy'[which]} [mm]")


def heights(axis: Axes, points: list[PatternPoint]) -> None:
    """Heights of the feet [mm], and bars for the feet on the ground."""
    times = np.array([point.time for point in points])
    for side, name in ((Side.LEFT, "left"), (Side.RIGHT, "right")):
        feet = [p.left if side is Side.LEFT else p.right for p in points]
        curve = [1e3 * foot.pose.translation[2] for foot in feet]
        axis.plot(times, curve, color=FOOT[side], label=f"{name} foot")
        air = ContactPhase.RIGHT_FOOT if side is Side.LEFT else ContactPhase.LEFT_FOOT
        down = [point.support is not air for point in points]
        base = -3.0 if side is Side.LEFT else -5.5
        axis.fill_between(
            times, base - 1.5, base, where=down, color=FOOT[side], alpha=0.6, lw=0
        )
    axis.text(
        times[-1] - 0.05, 0.6, "bars: on the ground", va="bottom", ha="right", size=9
    )
    axis.set(ylabel="height [mm]", xlabel="time [s]", ylim=(-8, 18))
    axis.legend(loc="upper right", frameon=False, fontsize=9)


def picture() -> Figure:
    """The walk from above, then over time."""
    model = hs.load_model("khr1")
    pattern = WalkPattern(model)
    soles = SolePair.of_model(model, pattern.settings)
    points = walk(pattern)
    figure = Figure(figsize=(8.5, 10.0), layout="constrained")
    top, forward, across, feet = figure.subplots(
        4, 1, gridspec_kw={"height_ratios": [2.4, 1.2, 1.2, 1.0]}
    )
    from_above(top, points, soles)
    over_time(forward, points, soles, 0)
    over_time(across, points, soles, 1)
    heights(feet, points)
    for axis in (forward, across, feet):
        axis.set_xlim(points[0].time, points[-1].time)
        axis.grid(alpha=0.3)
    forward.legend(loc="upper left", frameon=False, fontsize=9)
    figure.align_ylabels()
    return figure


if __name__ == "__main__":
    picture().savefig(IMAGES / "walk_pattern.png", dpi=110)
