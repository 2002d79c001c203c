# SPDX-License-Identifier: Apache-2.0
"""Pictures of a wrist that moves: its bones shaded, its rotations and tensions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from humans_sim.anatomy.wrist.hand_motion import AXES
from humans_sim.anatomy.wrist.plausibility import DISTAL, PROXIMAL
from humans_sim.anatomy.wrist.wrist import Wrist
from humans_sim.anatomy.wrist.wrist_run import WristRun
from humans_sim.view.plots.figure_panels import WIDTH, dress

_LIGHT = np.array([0.3, 0.45, 0.84])
_COLOURS = (
    *("#6baed6", "#4a90c2", "#2f6f9f", "#9ecae1", "#f4a259", "#e8853b"),
    *("#d1495b", "#b5651d", "#e6dcc8", "#ddd0b6", "#e6dcc8", "#ddd0b6"),
    *("#e6dcc8", "#cfc4ae", "#bdb29c"),
)
"""Rows of the carpus in blues and oranges, other bones in ivory."""
VIEWS = {
    "palmar": np.eye(3),
    "dorsal": np.diag([-1.0, 1.0, -1.0]),
    "radial": np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
}
"""Rows: to the right, up, and towards the eye."""


def draw_wrist(
    panel: Any,
    wrist: Wrist,
    places: tuple[np.ndarray, np.ndarray] | None = None,
    view: str = "palmar",
    tensions: np.ndarray | None = None,
) -> None:
    """Bones of a wrist, shaded, with ligaments as lines.

    Args:
        panel: axes of matplotlib.
        wrist: its bones.
        places: centres of mass (b, 3) [m] and rotations (b, 3, 3); at rest unless
            given.
        view: ``palmar``, ``dorsal`` or ``radial``.
        tensions: of the ligaments (l,) [N]: the taut are red, the stronger the wider.
    """
    eye = VIEWS[view]
    x, frames = places or (wrist.centres, np.tile(np.eye(3), (len(wrist.bones), 1, 1)))
    polygons, colours, depths = [], [], []
    for n, bone in enumerate(wrist.bones):
        turned = eye @ frames[n]
        corners = (np.asarray(bone.mesh.vertices) - bone.mass.center) @ turned.T
        corners = 1e3 * (corners + eye @ x[n])
        normals = np.asarray(bone.mesh.face_normals) @ turned.T
        seen = normals[:, 2] > 0
        faces = corners[np.asarray(bone.mesh.faces)[seen]]
        light = 0.4 + 0.6 * np.clip(normals[seen] @ _LIGHT, 0.0, 1.0)
        colour = _rgb(_COLOURS[n % len(_COLOURS)])
        polygons.append(faces[:, :, :2])
        colours.append(light[:, None] * colour)
        depths.append(faces[:, :, 2].mean(axis=1))
    order = np.argsort(np.concatenate(depths))
    shades = np.concatenate(colours)[order]
    panel.add_collection(
        PolyCollection(
            list(np.concatenate(polygons)[order]),
            facecolors=shades,
            edgecolors=shades,
            linewidths=0.2,
            rasterized=True,
        )
    )
    if tensions is not None and len(tensions):
        panel.add_collection(_strings(wrist, x, frames, eye, tensions))
    panel.set_aspect("equal")
    panel.autoscale()
    panel.set_title(f"{view} [mm]", fontsize=10)
    panel.tick_params(labelsize=8)


def _strings(
    wrist: Wrist, x: np.ndarray, frames: np.ndarray, eye: np.ndarray, pull: np.ndarray
) -> LineCollection:
    ties = wrist.ligaments
    ends = []
    for bones, points in zip((ties.body_i, ties.body_j), ties.points, strict=True):
        place = x[bones] + np.einsum("nij,nj->ni", frames[bones], points)
        ends.append(1e3 * place @ eye.T)
    lines = np.stack([ends[0][:, :2], ends[1][:, :2]], axis=1)
    wide = 0.5 + 2.5 * np.sqrt(np.clip(pull, 0, None) / max(float(pull.max()), 1e-9))
    colours = ["tab:red" if one > 0 else "0.6" for one in pull]
    return LineCollection(list(lines), colors=colours, linewidths=list(wide))


def _rgb(colour: str) -> np.ndarray:
    return np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255


def plot_wrist(run: WristRun, path: Path | str) -> None:
    """A run as a figure: before and after, rotations, tensions."""
    figure = Figure(figsize=(WIDTH, 10.0), layout="constrained")
    view = "palmar" if run.motion.kind in ("adduction", "abduction") else "radial"
    grid = figure.add_gridspec(2, 2, height_ratios=(1.5, 1.0))
    panels = [figure.add_subplot(grid[0, column]) for column in (0, 1)]
    for panel, n in zip(panels, (0, -1), strict=True):
        draw_wrist(panel, run.wrist, (run.x[n], run.frames[n]), view, run.tensions[n])
        angle = np.degrees(run.angles[n])
        panel.set_title(f"{run.motion.kind} {angle:.0f} deg, {view} [mm]", fontsize=10)
        panel.set_ylim(-50, 55)
    ends = np.array([panel.get_xlim() for panel in panels])
    for panel in panels:
        panel.set_xlim(ends[:, 0].min(), ends[:, 1].max())
    _turns(figure.add_subplot(grid[1, 0]), run)
    _tensions(figure.add_subplot(grid[1, 1]), run)
    kind = "synthetic bones" if run.wrist.synthetic else run.wrist.title
    figure.suptitle(f"{run.wrist.title}: {run.motion.kind} ({kind})", fontsize=11)
    figure.savefig(path, dpi=110)


def _turns(panel: Any, run: WristRun) -> None:
    axis = np.array(AXES[run.motion.kind])
    hand = np.degrees(run.angles)
    panel.plot(hand, hand, color="0.7", linestyle=":", label="hand")
    for n, name in enumerate(run.wrist.names):
        if name in (*PROXIMAL, *DISTAL):
            frames = run.frames[:, n]
            vectors = Rotation.from_matrix(frames @ frames[0].T).as_rotvec()
            style = "-" if name in PROXIMAL else "--"
            colour = _COLOURS[n % len(_COLOURS)]
            panel.plot(
                hand, np.degrees(vectors @ axis), style, color=colour, label=name
            )
    panel.set_xlabel("hand [deg]")
    panel.set_ylabel("turn about the hand's axis [deg]")
    panel.legend(fontsize=7, frameon=False)
    dress(panel)


def _tensions(panel: Any, run: WristRun) -> None:
    if run.tensions.shape[1]:
        strongest = np.argsort(run.tensions.max(axis=0))[::-1][:8]
        for n in strongest:
            panel.plot(
                np.degrees(run.angles),
                run.tensions[:, n],
                label=run.wrist.ligaments.names[n],
            )
        panel.legend(fontsize=7, frameon=False)
    panel.set_xlabel("hand [deg]")
    panel.set_ylabel("tension [N]")
    dress(panel)
