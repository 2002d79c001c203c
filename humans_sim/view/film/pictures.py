# SPDX-License-Identifier: Apache-2.0
"""Painters of runs for films and film strips: bipeds, free bodies, networks.

Triangles of free bodies are projected along one direction and painted from the farthest
to the nearest, with light from above. A ground that gives way is seen from above.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pinocchio as pin
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.patches import Rectangle
from PIL import Image

from humans_sim.contact import HalfSpace
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.results.record import recorded_ground
from humans_sim.results.run import Run, body_poses
from humans_sim.soft.ground.footprints import GroundHistory
from humans_sim.soft.networks.puppet import CURVES
from humans_sim.view.browser.bodies_page import body_balls, body_meshes
from humans_sim.view.browser.network_page import NetworkMotion
from humans_sim.view.browser.replay import Replay
from humans_sim.view.browser.scene_layers import touched_pins
from humans_sim.view.film.film import FigurePainter, Pace
from humans_sim.view.plots.side_view import SideView, Window

_SIGHT = np.array([0.35, -1.0, 0.45])
"""Where the camera is, seen from the bodies."""
_LIGHT = np.array([0.3, -0.5, 1.0]) / np.linalg.norm([0.3, -0.5, 1.0])
_SHADE = 0.45
"""How bright a face is that the light does not reach."""
_FLOOR = (0.93, 0.94, 0.95)


class BodyPainter(FigurePainter):
    """Draws a run with its record of bodies, and no robot."""

    stances, pace = 6, Pace(least=40)

    def __init__(self, run: Run) -> None:
        super().__init__(run.t)
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
        width, height = self._high - self._low
        self.ratio = float(width / height)

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
            light = _SHADE + (1.0 - _SHADE) * np.clip(normals @ _LIGHT, 0.0, 1.0)
            own = np.asarray(cast(Any, mesh.visual).face_colors)[:, :3] / 255.0
            colours.append((own * light[:, None])[seen])
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


_CURVE, _COAT, _LINK, _MASS = "#3d7ab8", "#d1603d", "#c9cdd3", "#45484e"


class NetworkPainter(FigurePainter):
    """Draws a run of a network, y to the left and z up."""

    size, pace = 4.8, Pace(frames=80, least=80)

    def __init__(self, run: Run) -> None:
        super().__init__(run.t)
        self._motion = NetworkMotion(run)
        width, height = self._motion.high - self._motion.low
        self.ratio = float(width / height)

    def draw(self, panel: Any, k: int) -> None:
        """Draw splines, links and masses."""
        motion = self._motion
        panel.set_xlim(motion.high[0], motion.low[0])
        panel.set_ylim(motion.low[1], motion.high[1])
        panel.set_axis_off()
        panel.axhline(0.0, color="#555b66", linewidth=0.8, zorder=0)
        links = list(motion.lines(k)[:, :, 1:])
        panel.add_collection(LineCollection(links, colors=_LINK, linewidths=0.7))
        for number, curve in enumerate(motion.curves(k)):
            coat = number >= len(CURVES)
            panel.plot(
                curve[:, 1],
                curve[:, 2],
                color=_COAT if coat else _CURVE,
                linewidth=1.4 if coat else 4.0,
                solid_capstyle="round",
                zorder=3 if coat else 2,
            )
        masses = motion.places[k][:, 1:]
        panel.plot(*masses.T, ".", color=_MASS, markersize=4, zorder=4)


_MARGIN = 4
"""Pins around what was touched that are shown."""


class GroundFromAbove:
    """Draws what of a ground was touched, in one light for all times.

    Attributes:
        width: of what is shown, along y [m].
    """

    def __init__(self, history: GroundHistory) -> None:
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
        """Draw it at a time [s] into empty axes, between two ends along x [m]."""
        field = self.history
        far = field.spacing * (np.array(field.heights.shape[1:]) - 1)
        x, y = field.origin[:2]
        picture = self.picture(t)
        panel.set_axis_off()
        untouched = picture[0, 0] / 255.0
        panel.add_patch(
            Rectangle(
                (0, 0), 1, 1, transform=panel.transAxes, color=untouched, zorder=-1
            )
        )
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
        picture = Image.fromarray(self.picture(t))
        times = max(1, round(900 / picture.width))
        picture = picture.resize((times * picture.width, times * picture.height))
        stream = io.BytesIO()
        picture.save(stream, format="PNG")
        return stream.getvalue()


_PIXELS = 640
"""Height of a film, or its width where that is larger [pixels]."""
_RATIO = 0.75
"""Least width of a film over its height."""
_GROUND_COLOURS = 160
"""Of a film with a ground that gives way: many shades of one colour beside others."""
_TITLE = 0.08
"""Room for the time above the figure, as a share of the film's height."""


class BipedPainter(FigurePainter):
    """Draws a run of a biped from its right side, with the forces on it.

    Args:
        pixels: height of a frame, or its width where that is larger.
    """

    def __init__(self, replay: Replay, pixels: int = _PIXELS) -> None:
        super().__init__(replay.run.t)
        self._replay, self.dpi = replay, pixels / self.size
        self._view = SideView(replay.model, replay.ground)
        self._above: GroundFromAbove | None = None
        if replay.history is not None:
            self.pace = Pace(colours=_GROUND_COLOURS)

    def look_at(self, samples: Sequence[int], captioned: bool) -> None:
        """Take a window that holds the postures, or goes along with them."""
        postures = self._replay.run.q[list(samples)]
        self._window, self._follows = self._view.window(postures)
        if captioned:
            self._window = self._window.with_headroom(_TITLE).widened(_RATIO)
        self.ratio = self._window.ratio
        if captioned and self._replay.history is not None:
            self._above = GroundFromAbove(self._replay.history)
            self.below = self._above.width / (self._window.top - self._window.bottom)

    def _seen(self, k: int) -> Window:
        if not self._follows:
            return self._window
        left, right, _, _ = self._view.extent(self._replay.run.q[k])
        return self._window.centred((left + right) / 2)

    def draw(self, panel: Any, k: int) -> None:
        """Draw the posture, forces, cables and the ground."""
        replay = self._replay
        arrows, cables = replay.arrows(k), replay.cables(k)
        q, field = replay.run.q[k], replay.footprints(k)
        self._view.draw(panel, self._seen(k), q, arrows, cables, field)

    def draw_below(self, panel: Any, k: int) -> None:
        """Draw the ground from above, as far as the posture is seen."""
        assert self._above is not None
        seen = self._seen(k)
        self._above.draw(panel, float(self.t[k]), (seen.left, seen.right))
        panel.text(
            0.03, 0.96, "from above", transform=panel.transAxes, va="top", size=8
        )


def painter_of(
    run: Run, model: Model | None = None, ground: Ground | None = None
) -> FigurePainter:
    """The painter of a run of a network, of free bodies or of a biped."""
    if "network" in run.info:
        return NetworkPainter(run)
    if "bodies" in run.info:
        return BodyPainter(run)
    return BipedPainter(Replay(run, model, ground))
