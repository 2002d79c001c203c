# SPDX-License-Identifier: Apache-2.0
"""Flat pictures of runs: a film strip (PNG) and a small looping film (GIF).

Runs of bipeds, networks and free bodies; a ground that gives way, seen from above.

Triangles of free bodies are projected along one direction and painted from the farthest
to the nearest, with light from above.
"""

from __future__ import annotations

import io
from typing import Any

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
from humans_sim.results.record import recorded_ground
from humans_sim.results.run import Run, body_poses
from humans_sim.soft.ground.footprints import GroundHistory
from humans_sim.view.browser.bodies_page import body_balls, body_meshes
from humans_sim.view.browser.network_page import NetworkPicture
from humans_sim.view.browser.replay import Replay
from humans_sim.view.browser.scene_layers import touched_pins
from humans_sim.view.looping_film import looping_film
from humans_sim.view.plots.side_view import SideView, Window

BODY_STANCES, BODY_FRAMES = 6, 60
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


def body_strip(run: Run, count: int = BODY_STANCES) -> bytes:
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


def body_film(run: Run, frames: int = BODY_FRAMES) -> bytes:
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


NETWORK_STANCES, NETWORK_FRAMES = 8, 80
"""Pictures of a film strip, and most frames of a film."""
_HEIGHT, _DPI = 4.8, 100
"""Of a film [inch, 1/inch]."""


def network_strip(run: Run, count: int = NETWORK_STANCES) -> bytes:
    """Samples at even times side by side, as a PNG."""
    picture = NetworkPicture(run)
    chosen = np.unique(np.linspace(0, len(run.t) - 1, count).astype(int))
    width = 12.0 / len(chosen)
    figure = Figure(figsize=(12.0, width / picture.ratio + 0.3), dpi=110)
    share = 0.3 / figure.get_figheight()
    for place, k in enumerate(chosen):
        left = place / len(chosen)
        panel = figure.add_axes((left, share, 1 / len(chosen), 1 - share))
        picture.draw(panel, int(k))
        text = f"{run.t[k]:.2f} s"
        middle = left + 0.5 / len(chosen)
        figure.text(middle, share / 2, text, ha="center", va="center", fontsize=9)
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()


def network_film(run: Run, frames: int = NETWORK_FRAMES) -> bytes:
    """A small film that loops, as a GIF."""
    picture = NetworkPicture(run)
    chosen = np.unique(np.linspace(0, len(run.t) - 1, frames).astype(int))
    figure = Figure(figsize=(_HEIGHT * picture.ratio, _HEIGHT), dpi=_DPI)
    canvas = FigureCanvasAgg(figure)
    pictures = []
    for k in chosen:
        figure.clear()
        panel = figure.add_axes((0, 0, 1, 1))
        picture.draw(panel, int(k))
        panel.text(0.03, 0.97, f"{run.t[k]:.2f} s", transform=panel.transAxes, va="top")
        canvas.draw()
        pictures.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3]))
    pause = float(run.t[-1] - run.t[0]) / max(len(chosen) - 1, 1)
    return looping_film(pictures, round(float(np.clip(pause, 0.04, 0.1)), 2))


_MARGIN = 4
"""Pins around what was touched that are shown."""


class GroundFromAbove:
    """Draws what of a ground was touched, in one light for all times.

    Args:
        history: the course of the ground.

    Attributes:
        width: of what is shown, along y [m].
    """

    def __init__(self, history: GroundHistory) -> None:
        """Choose the part that is shown, and the light."""
        first, last, left, right = touched_pins(history.heights)
        shape = history.heights.shape[1:]
        rows = slice(max(0, first - _MARGIN), min(shape[0], last + _MARGIN + 1))
        columns = slice(max(0, left - _MARGIN), min(shape[1], right + _MARGIN + 1))
        self.history = history.cut(rows, columns)
        self.width = self.history.spacing * (self.history.heights.shape[2] - 1)
        self._steepest = max(
            self.history.at(float(t)).steepest() for t in history.times[::5]
        )

    def picture(self, t: float) -> np.ndarray:
        """At a time [s], x to the right (rows, columns, 3)."""
        return self.history.at(t).picture(steepest=max(self._steepest, 1e-5))

    def draw(self, panel: Any, t: float, sides: tuple[float, float]) -> None:
        """Draw it at a time into empty matplotlib axes.

        Args:
            panel: the axes.
            t: [s].
            sides: left and right end along x [m].
        """
        field = self.history
        far = field.spacing * (np.array(field.heights.shape[1:]) - 1)
        x, y = field.origin[:2]
        picture = self.picture(t)
        panel.set_axis_off()
        panel.add_patch(_plate(panel, picture[0, 0]))
        panel.imshow(
            picture,
            extent=(x, x + far[0], y, y + far[1]),
            aspect="auto",
            interpolation="bilinear",
        )
        panel.set_xlim(*sides)
        panel.set_ylim(y, y + far[1])
        panel.axhline(y + far[1], color="white", linewidth=4.0)

    def png(self, t: float) -> bytes:
        """The same as a file, four pixels a pin and more."""
        from PIL import Image

        picture = Image.fromarray(self.picture(t))
        times = max(1, round(900 / picture.width))
        picture = picture.resize((times * picture.width, times * picture.height))
        stream = io.BytesIO()
        picture.save(stream, format="PNG")
        return stream.getvalue()


def _plate(panel: Any, colour: np.ndarray) -> Any:
    """The ground where nothing touched it."""
    from matplotlib.patches import Rectangle

    return Rectangle(
        (0, 0), 1, 1, transform=panel.transAxes, color=colour / 255.0, zorder=-1
    )


STANCES = 8
"""Stances of a film strip."""
FRAMES = 60
"""Most frames of a film."""
_FRAME_TIMES = (0.04, 0.10)
"""Shortest and longest time of a frame [s]; beyond, a film is slower or faster."""
_STRIP_WIDTH, _STRIP_DPI = 12.0, 110
"""Width of a film strip [inch] and its resolution [1/inch]."""
_LEAST_HEIGHT = 1.9
"""A strip whose stances would be lower than this has two rows [inch]."""
_LABEL = 0.28
"""Height of the line with the times below the stances [inch]."""
FILM_PIXELS, _FILM_SIZE = 640, 6.4
"""Height of a film, or its width where that is larger [pixels], [inch]."""
_FILM_RATIO = 0.75
"""Least width of a film over its height."""
_GROUND_COLOURS = 160
"""Colours of a film with a ground that gives way."""
_TITLE = 0.08
"""Room for the time above the figure, as a share of the film's height."""


def film_strip(replay: Replay, count: int = STANCES) -> bytes:
    """Stances at even times side by side, in one scale, as a PNG.

    Args:
        replay: the run.
        count: number of stances.
    """
    t = replay.run.t
    chosen = sorted(set(replay.nearest(np.linspace(t[0], t[-1], count))))
    view = SideView(replay.model, replay.ground)
    window, follows = view.window(replay.run.q[chosen])
    height = _STRIP_WIDTH / len(chosen) / window.ratio
    rows = 2 if height < _LEAST_HEIGHT and len(chosen) > 3 else 1
    columns = -(-len(chosen) // rows)
    height = min(_STRIP_WIDTH / columns / window.ratio, 2.5 * _LEAST_HEIGHT)
    size = (height * window.ratio * columns, (height + _LABEL) * rows)
    label = _LABEL / size[1]
    figure = Figure(figsize=size, dpi=_STRIP_DPI)
    for place, k in enumerate(chosen):
        row, column = divmod(place, columns)
        left, low = column / columns, 1 - (row + 1) / rows
        panel = figure.add_axes((left, low + label, 1 / columns, 1 / rows - label))
        _draw(view, panel, replay, k, window, follows)
        figure.text(
            left + 0.5 / columns,
            low + label / 2,
            f"{t[k]:.2f} s",
            ha="center",
            va="center",
            fontsize=9,
        )
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()


def film(replay: Replay, frames: int = FRAMES, pixels: int = FILM_PIXELS) -> bytes:
    """A small film that loops, as a GIF.

    It runs in real time where the frames allow it, else slower or faster; the time of
    the simulation is written into it.

    Args:
        replay: the run.
        frames: at most so many.
        pixels: height of the film, or its width where that is larger.
    """
    t = replay.run.t
    span = float(t[-1] - t[0])
    shortest, longest = _FRAME_TIMES
    count = int(np.clip(np.ceil(span / shortest), 2, frames))
    chosen = sorted(set(replay.nearest(np.linspace(t[0], t[-1], count))))
    pause = float(np.clip(span / max(len(chosen) - 1, 1), shortest, longest))
    pause = round(pause, 2)  # what the format can hold
    speed = span / (pause * max(len(chosen) - 1, 1))
    view = SideView(replay.model, replay.ground)
    window, follows = view.window(replay.run.q[chosen])
    window = window.with_headroom(_TITLE).widened(_FILM_RATIO)
    scale = _FILM_SIZE / max(1.0, window.ratio)
    above = None if replay.history is None else GroundFromAbove(replay.history)
    below = 0.0 if above is None else above.width / (window.top - window.bottom)
    high = scale * (1.0 + below)
    dpi = pixels / _FILM_SIZE
    figure = Figure(figsize=(scale * window.ratio, high), dpi=dpi)
    canvas = FigureCanvasAgg(figure)
    pictures = []
    for k in chosen:
        figure.clear()
        panel = figure.add_axes((0, below / (1 + below), 1, 1 / (1 + below)))
        _draw(view, panel, replay, k, window, follows)
        if above is not None:
            seen = _at(view, window, replay.run.q[k], follows)
            ground = figure.add_axes((0, 0, 1, below / (1 + below)))
            above.draw(ground, float(t[k]), (seen.left, seen.right))
            ground.text(
                0.03, 0.96, "from above", transform=ground.transAxes, va="top", size=8
            )
        text = f"{t[k]:.2f} s" + _speed_word(speed)
        panel.text(0.03, 0.97, text, transform=panel.transAxes, va="top", fontsize=9)
        canvas.draw()
        pictures.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3]))
    if above is not None:  # many shades of one colour, and others beside them
        return looping_film(pictures, pause, _GROUND_COLOURS)
    return looping_film(pictures, pause)


def _speed_word(speed: float) -> str:
    """How a film's speed differs from real time, if it does."""
    if speed > 1.15:
        return f"  ({speed:.2g} times faster)"
    return f"  ({1 / speed:.2g} times slower)" if 0 < speed < 0.87 else ""


def _at(view: SideView, window: Window, q: np.ndarray, follows: bool) -> Window:
    """The picture of a posture."""
    if not follows:
        return window
    left, right, _, _ = view.extent(q)
    return window.centred((left + right) / 2)


def _draw(
    view: SideView, panel: object, replay: Replay, k: int, window: Window, follows: bool
) -> None:
    q = replay.run.q[k]
    window = _at(view, window, q, follows)
    arrows, cables = replay.arrows(k), replay.cables(k)
    view.draw(panel, window, q, arrows, cables, replay.footprints(k))
