# SPDX-License-Identifier: Apache-2.0
"""Runs of free bodies in flat pictures: a film strip (PNG) and a film (GIF).

Triangles are projected along one direction and painted from the farthest to the
nearest, with light from above.
"""

from __future__ import annotations

import io

import numpy as np
import pinocchio as pin
import trimesh
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from PIL import Image

from humans_sim.contact import HalfSpace
from humans_sim.core.errors import ParameterError
from humans_sim.results.body_poses import body_poses
from humans_sim.results.record import recorded_ground
from humans_sim.results.run import Run
from humans_sim.view.body_meshes import body_balls, body_meshes
from humans_sim.view.looping_film import looping_film

STANCES, FRAMES = 6, 60
"""Pictures of a film strip, and most frames of a film."""
_SIGHT = np.array([0.35, -1.0, 0.45])
"""Where the camera is, seen from the bodies."""
_LIGHT = np.array([0.3, -0.5, 1.0]) / np.linalg.norm([0.3, -0.5, 1.0])
_SHADE = 0.45
"""How bright a face is that the light does not reach."""
_PAUSES = (0.04, 0.10)
"""Shortest and longest time of a frame [s]."""
"""How long the last frame stays [s]; colours of a film."""
_FLOOR = (0.93, 0.94, 0.95)


class BodyPicture:
    """Draws samples of a run with free bodies, in one scale.

    Args:
        run: with its record of bodies, and no robot.
    """

    def __init__(self, run: Run) -> None:
        """Look at the whole run once."""
        if "model" in run.info:
            raise ParameterError("a robot among free bodies is written to .html")
        self._meshes = body_meshes(run.info)
        away = _SIGHT / np.linalg.norm(_SIGHT)
        right = np.cross([0.0, 0.0, 1.0], away)
        right /= np.linalg.norm(right)
        self._axes = np.array([right, np.cross(away, right), away])
        floors = recorded_ground(run.info).solids
        self._floor = any(isinstance(solid, HalfSpace) for solid in floors)
        self._poses = body_poses(run)
        places, radii = body_balls(self._meshes, self._poses)
        flat = places @ self._axes[:2].T
        self._low = (flat - radii).min(axis=(0, 1))
        self._high = (flat + radii).max(axis=(0, 1))
        self._places, self._reach = places.reshape(-1, 3), float(radii.max())

    @property
    def ratio(self) -> float:
        """Width over height."""
        width, height = self._high - self._low
        return float(width / height)

    def draw(self, panel: Axes, k: int) -> None:
        """Draw a sample."""
        polygons, colours, depths = [], [], []
        for mesh, row in zip(self._meshes, self._poses[k], strict=True):
            turn = pin.Quaternion(row[3:7]).matrix()
            corners = (mesh.triangles @ turn.T + row[:3]) @ self._axes.T
            normals = mesh.face_normals @ turn.T
            seen = normals @ self._axes[2] > 0.0
            polygons.append(corners[seen, :, :2])
            depths.append(corners[seen, :, 2].mean(axis=1))
            colours.append(_lit(mesh, normals)[seen])
        order = np.argsort(np.concatenate(depths))
        if self._floor:
            panel.add_collection(self._grid())
        panel.add_collection(
            PolyCollection(
                list(np.concatenate(polygons)[order]),
                facecolors=np.concatenate(colours)[order],
                edgecolors="face",
                linewidths=0.2,
            )
        )
        panel.set(
            xlim=(self._low[0], self._high[0]), ylim=(self._low[1], self._high[1])
        )
        panel.set_aspect("equal")
        panel.axis("off")

    def _grid(self) -> PolyCollection:
        """Tiles of the floor, light and lighter in turns."""
        tile = 10.0 ** np.floor(np.log10(2.0 * self._reach)) / 2
        low = np.floor((self._places.min(axis=0) - 4 * self._reach) / tile)
        high = np.ceil((self._places.max(axis=0) + 4 * self._reach) / tile)
        tiles, colours = [], []
        for i in range(int(low[0]), int(high[0])):
            for j in range(int(low[1]), int(high[1])):
                square = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
                corners = np.array([[tile * x, tile * y, 0.0] for x, y in square])
                tiles.append(corners @ self._axes[:2].T)
                colours.append(_FLOOR if (i + j) % 2 else (0.98, 0.98, 0.98))
        return PolyCollection(tiles, facecolors=colours, edgecolors="none")


def _lit(mesh: trimesh.Trimesh, normals: np.ndarray) -> np.ndarray:
    """Colours of the faces in the light (n, 3), 0 to 1."""
    colours = np.asarray(mesh.visual.face_colors)[:, :3] / 255.0
    light = _SHADE + (1.0 - _SHADE) * np.clip(normals @ _LIGHT, 0.0, 1.0)
    lit: np.ndarray = colours * light[:, None]
    return lit


def body_strip(run: Run, count: int = STANCES) -> bytes:
    """Samples at even times side by side, as a PNG."""
    picture = BodyPicture(run)
    chosen = _chosen(run, count)
    height = min(12.0 / len(chosen) / picture.ratio, 4.0)
    figure = Figure(
        figsize=(height * picture.ratio * len(chosen), height + 0.3), dpi=110
    )
    for panel, k in zip(
        np.atleast_1d(figure.subplots(1, len(chosen))), chosen, strict=True
    ):
        picture.draw(panel, k)
        panel.set_title(f"{run.t[k]:.2f} s", fontsize=9)
    figure.subplots_adjust(0, 0, 1, 1 - 0.3 / (height + 0.3), 0.02)
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()


def body_film(run: Run, frames: int = FRAMES) -> bytes:
    """A small film that loops, as a GIF; its time is written into it."""
    picture, span = BodyPicture(run), float(run.t[-1] - run.t[0])
    count = int(np.clip(np.ceil(span / _PAUSES[0]), 2, frames))
    if span < 1.0:  # short motions are shown slower
        count = min(frames, max(count, 40))
    chosen = _chosen(run, count)
    pause = float(np.clip(span / max(len(chosen) - 1, 1), *_PAUSES))
    width = 6.4 * min(1.0, picture.ratio)
    figure = Figure(figsize=(width, width / picture.ratio), dpi=100)
    canvas, pictures = FigureCanvasAgg(figure), []
    for k in chosen:
        figure.clear()
        panel = figure.add_axes((0, 0, 1, 1))
        picture.draw(panel, k)
        panel.text(0.03, 0.97, f"{run.t[k]:.2f} s", transform=panel.transAxes, va="top")
        canvas.draw()
        pictures.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3]))
    return looping_film(pictures, pause)


def _chosen(run: Run, count: int) -> list[int]:
    times = np.linspace(run.t[0], run.t[-1], count)
    return sorted({int(np.argmin(np.abs(run.t - t))) for t in times})
