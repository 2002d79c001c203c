# SPDX-License-Identifier: Apache-2.0
"""Draw the picture of docs/markers.md: the marker sets on a standing person."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from scipy.spatial import ConvexHull

import humans_sim as hs
from humans_sim.observation.markers.marker_set import (
    MarkerSet,
    load_marker_set,
    marker_set_names,
)
from humans_sim.observation.markers.synthetic import marker_positions
from humans_sim.view.browser.scene_layers import Solid, solids

IMAGES = Path(__file__).parent / "images"
COLOURS = {"r": "#c2571a", "l": "#1f6fb4", "": "#333333"}
"""Of the person's right, left and middle."""
FRONT, SIDE = np.array([[0, 1, 0], [0, 0, 1]]), np.array([[1, 0, 0], [0, 0, 1]])
"""What of x (forward), y (left) and z (up) a view shows across and upward."""
MIDDLE = 0.004
"""Markers nearer than this to the plane of symmetry are in the middle [m]."""
REACH = {"front": 0.53, "side": 0.32}
"""Distance of the labels from the axis [m]."""
STEP, ROOM = 0.056, 0.38
"""Distance between two labels, and room for one [m]."""


def standing(model: hs.Model) -> np.ndarray:
    """Arms a little away from the body, so that markers do not hide each other."""
    q = model.neutral()
    for side in ("r", "l"):
        q[7 + model.joint_names.index(f"{side}_shoulder_roll")] = np.radians(22.0)
    return q


def body(axis: Axes, view: np.ndarray, parts: list[Solid], model: hs.Model) -> None:
    """Outlines of the model's solids, far ones first."""
    data = model.data()
    pin.framesForwardKinematics(model.pin, data, standing(model))
    depth = np.cross(view[0], view[1])
    outlines = []
    for part in parts:
        placement = data.oMi[part.joint] * part.placement
        points = part.mesh.vertices @ placement.rotation.T + placement.translation
        flat = points @ view.T
        outlines.append((float((points @ depth).mean()), flat))
    for _, flat in sorted(outlines, key=lambda item: item[0]):
        corners = flat[ConvexHull(flat).vertices]
        axis.add_patch(Polygon(corners, fc="#e9e6e1", ec="#bdb7ae", lw=0.6))


def spaced(heights: np.ndarray) -> np.ndarray:
    """Heights of labels, in falling order, apart from each other."""
    places = heights.copy()
    for _ in range(200):
        for i in range(len(places) - 1):
            lack = STEP - (places[i] - places[i + 1])
            if lack > 1e-6:
                places[i] += lack / 2
                places[i + 1] -= lack / 2
    return places


def labels(
    axis: Axes, names: list[str], flat: np.ndarray, colours: list[str], edge: float
) -> None:
    """Names in a column at an edge, each with a line to its marker."""
    order = np.argsort(-flat[:, 1], kind="stable")
    for row, height in zip(order, spaced(flat[order, 1]), strict=True):
        near = edge * 0.95
        axis.plot(
            [flat[row, 0], near], [flat[row, 1], height], color=colours[row], lw=0.45
        )
        axis.text(
            edge, height, names[row], color=colours[row], va="center", size=7.5,
            ha="left" if edge > 0 else "right",
        )  # fmt: skip


def panel(
    axis: Axes, kind: str, marker_set: MarkerSet, at: np.ndarray, model: hs.Model
) -> None:
    """A person from the front, or from its right with the markers there."""
    front = kind == "front"
    view = FRONT if front else SIDE
    body(axis, view, solids(model), model)
    sides = ["" if abs(y) < MIDDLE else "l" if y > 0 else "r" for y in at[:, 1]]
    flat = at @ view.T
    column: dict[float, list[int]] = {-1.0: [], 1.0: []}
    # In the middle of the trunk, what lies ahead is written on the right.
    ahead = at[:, 0] > np.median(at[:, 0])
    for row, marker in enumerate(marker_set.markers):
        if not front and sides[row] == "l":
            continue
        static = marker.calibration
        axis.plot(
            *flat[row], "o", ms=3.6, mec=COLOURS[sides[row]], mew=0.9,
            mfc="white" if static else COLOURS[sides[row]],
        )  # fmt: skip
        if front:
            # Seen from the front, the person's left is on the right.
            edge = {"l": 1.0, "r": -1.0}.get(sides[row])
            edge = (1.0 if ahead[row] else -1.0) if edge is None else edge
        else:
            edge = 1.0 if ahead[row] else -1.0
        column[edge].append(row)
    for edge, rows in column.items():
        if rows:
            names = [marker_set.markers[row].name for row in rows]
            colours = [COLOURS[sides[row]] for row in rows]
            labels(axis, names, flat[rows], colours, edge * REACH[kind])
    low = model.tags(standing(model))[:-1, 2].min()
    axis.plot([-0.3, 0.3], [low, low], color="#999999", lw=0.8, zorder=0)
    wide = REACH[kind] + ROOM
    axis.set(xlim=(-wide, wide), ylim=(low - 0.2, low + 1.85), aspect="equal")
    axis.axis("off")


def picture() -> Figure:
    """All sets, each from the front and from the right."""
    model = hs.load_model("human36")
    names = marker_set_names()
    rows = (len(names) + 1) // 2
    figure = Figure(figsize=(16.0, 5.5 * rows), layout="constrained")
    wide = [REACH["front"] + ROOM, REACH["side"] + ROOM] * 2
    grid = figure.subplots(rows, 4, gridspec_kw={"width_ratios": wide})
    for axis in grid.flat[2 * len(names) :]:
        axis.axis("off")
    for number, name in enumerate(names):
        marker_set = load_marker_set(name, model)
        at = marker_positions(model, marker_set, standing(model)[None])[0]
        pair = grid.flat[2 * number : 2 * number + 2]
        panel(pair[0], "front", marker_set, at, model)
        panel(pair[1], "side", marker_set, at, model)
        pair[0].set_title(name, fontweight="bold", loc="left")
        pair[1].set_title("from the right", loc="center", size=9)
    return figure


if __name__ == "__main__":
    picture().savefig(IMAGES / "marker_sets.png", dpi=100)
