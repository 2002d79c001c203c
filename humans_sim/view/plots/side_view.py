# SPDX-License-Identifier: Apache-2.0
"""A model seen from its right side, x to the right: outlines, filled, near over far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from matplotlib.collections import PolyCollection
from scipy.spatial import ConvexHull

from humans_sim.contact import HalfSpace
from humans_sim.contact.geometry.ground import Ground
from humans_sim.models import Model
from humans_sim.soft.ground.footprints import Footprints
from humans_sim.soft.skin.skin import Skin, has_skin, skin_of
from humans_sim.view.browser.scene_layers import (
    BOX_COLOUR,
    BOX_CORNERS,
    SAND_COLOUR,
    TERRAIN_COLOUR,
    body_height,
    drawn_boxes,
    side_profile,
    solids,
    terrain_of,
)
from humans_sim.view.raster import Raster, draw_triangles

_AMBIENT, _LIT = 0.42, 0.62
"""Share of a colour in the shade, and what light adds to it."""
_HAZE = 0.22
"""How far the colour of the farthest part fades to white."""


def skin_picture(
    skin: Skin,
    vertices: np.ndarray,
    window: tuple[float, float, float, float],
    scale: float,
) -> np.ndarray:
    """Red, green, blue and opacity of a picture, its top row first (rows, columns, 4).

    It is seen from the right, x to the right.

    Args:
        skin: what to draw.
        vertices: where it is (n, 3) [m].
        window: left, right, bottom and top of the picture [m].
        scale: pixels for each metre.
    """
    left, right, bottom, top = window
    columns = max(2, round((right - left) * scale))
    rows = max(2, round((top - bottom) * scale))
    normals = _normals(vertices, skin.faces)
    x, y, z = vertices.T
    points = np.column_stack([x, z, -y])
    light = np.array([0.35, -1.0, 0.5])
    shade = _AMBIENT + _LIT * np.clip(normals @ light / np.linalg.norm(light), 0, 1)
    far = points[:, 2].max() - points[:, 2]
    haze = _HAZE * far / max(float(far.max()), 1e-9)
    colours = (
        skin.colours[skin.labels][:, None, :] / 255.0 * shade[skin.faces][..., None]
    )
    colours = colours + haze[skin.faces][..., None] * (1.0 - colours)
    corners = np.dstack([colours, np.ones(skin.faces.shape)]).reshape(-1, 4)
    picture = np.zeros((rows, columns, 4))
    depth = np.full((rows, columns), -np.inf)
    raster = Raster(left, top, 1.0 / scale, light)
    draw_triangles(points, skin.faces, corners, raster, picture, depth)
    return np.clip(picture, 0.0, 1.0)


def _normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Unit normals of the vertices, weighted by the areas of their faces (n, 3)."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    flat = np.cross(b - a, c - a)
    sums = np.empty_like(vertices)
    for axis in range(3):
        sums[:, axis] = sum(
            np.bincount(faces[:, k], flat[:, axis], len(vertices)) for k in range(3)
        )
    lengths = np.linalg.norm(sums, axis=1)[:, None]
    return sums / np.maximum(lengths, 1e-15)


_FADE = 0.45
"""How far the colour of the farthest solid fades to white."""
_GROUND, _LINE = "#e9ebee", "#555b66"
_ARROW = {
    **{"arrowstyle": "-|>", "color": "tab:red", "linewidth": 1.2},
    **{"shrinkA": 0.0, "shrinkB": 0.0, "mutation_scale": 8.0},
}
"""How forces are drawn."""
_CABLE = "#45484e"
_FINENESS = 2.0
"""Pixels of a skin for each of the picture, along one side."""
_NO_CABLES = np.zeros((0, 2, 3))
_PLANE = (0, 2)
"""Coordinates of the picture: x and z."""


@dataclass(frozen=True)
class Window:
    """The part of the world that a picture shows, x and z [m]."""

    left: float
    right: float
    bottom: float
    top: float

    @property
    def ratio(self) -> float:
        """Width over height."""
        return (self.right - self.left) / (self.top - self.bottom)

    def widened(self, ratio: float) -> Window:
        """The window with at least this width over height, to both sides alike."""
        more = max(0.0, ratio * (self.top - self.bottom) - (self.right - self.left))
        left, right = self.left - more / 2, self.right + more / 2
        return Window(left, right, self.bottom, self.top)

    def with_headroom(self, share: float) -> Window:
        """The window with room for a title above, as a share of its height."""
        top = self.top + share * (self.top - self.bottom)
        return Window(self.left, self.right, self.bottom, top)

    def centred(self, x: float) -> Window:
        """The same window around another x."""
        half = (self.right - self.left) / 2
        return Window(x - half, x + half, self.bottom, self.top)


class SideView:
    """Draws a model in its scene.

    Each solid is drawn as the convex outline of its projection; of a human, its skin.
    Solids of the scene lie behind the model.
    """

    def __init__(self, model: Model, ground: Ground) -> None:
        self._model, self._ground = model, ground
        self._data = model.data()
        self._size = body_height(model)
        self._solids = []
        for solid in solids(model):
            points = np.asarray(solid.mesh.vertices, float)
            points = points[ConvexHull(points).vertices]
            placed = points @ solid.placement.rotation.T + solid.placement.translation
            self._solids.append((solid.joint, placed, np.array(solid.colour) / 255))
        self._skin = skin_of(model) if has_skin(model) else None
        self._boxes = []
        for box in drawn_boxes(ground):
            turn = np.eye(3) if box.rotation is None else np.asarray(box.rotation)
            corners = BOX_CORNERS * np.array(box.size) / 2 @ turn.T + np.array(
                box.centre
            )
            self._boxes.append(outline(corners[:, _PLANE]))
        self._terrain = [side_profile(mesh) for mesh in terrain_of(ground)]
        for profile in self._terrain:  # without what lies deep under all of its surface
            least = profile[: len(profile) // 2, 1].min() - 0.1 * self._size
            np.maximum(profile[:, 1], least, out=profile[:, 1])

    def outlines(self, q: np.ndarray) -> list[tuple[float, np.ndarray, np.ndarray]]:
        """Depth [m], outline (n, 2) [m] and colour of each solid, the farthest first.

        The depth is the mean y: who looks from the right side sees small y first.
        """
        pin.forwardKinematics(
            self._model.pin, self._data, self._model.check_configuration(q)
        )
        shapes = []
        for joint, points, colour in self._solids:
            pose = self._data.oMi[joint]
            world = points @ pose.rotation.T + pose.translation
            depth = round(float(world[:, 1].mean()), 3)
            shapes.append((depth, outline(world[:, _PLANE]), colour))
        return sorted(shapes, key=lambda item: -item[0])

    def window(self, postures: np.ndarray) -> tuple[Window, bool]:
        """A window for postures (n, nq), and whether it has to follow the model."""
        extents = np.array([self.extent(q) for q in postures])
        margin = 0.06 * self._size
        bottom, top = extents[:, 2].min(), extents[:, 3].max()
        left, right = extents[:, 0].min(), extents[:, 1].max()
        follows = right - left > 2.0 * self._size
        if follows:
            half = (extents[:, 1] - extents[:, 0]).max() / 2 + 0.2 * self._size
            left, right = -half, half
        else:
            for box in self._boxes + self._terrain:
                low, high = box.min(axis=0), box.max(axis=0)
                near = low[0] < right + margin and high[0] > left - margin
                if near and bottom - low[1] < self._size:
                    bottom = min(bottom, low[1])
                if near and high[0] - low[0] < self._size:
                    left, right = min(left, low[0]), max(right, high[0])
                    top = max(top, high[1])
        window = Window(left - margin, right + margin, bottom - margin, top + margin)
        return window, follows

    def extent(self, q: np.ndarray) -> tuple[float, float, float, float]:
        """Left, right, bottom and top of a posture [m]."""
        points = np.vstack([shape for _, shape, _ in self.outlines(q)])
        (left, bottom), (right, top) = points.min(axis=0), points.max(axis=0)
        return float(left), float(right), float(bottom), float(top)

    def draw(
        self,
        panel: Any,
        window: Window,
        q: np.ndarray,
        arrows: np.ndarray,
        cables: np.ndarray = _NO_CABLES,
        field: Footprints | None = None,
    ) -> None:
        """Draw a posture into an empty panel.

        Args:
            panel: matplotlib axes.
            window: what they show.
            q: configuration.
            arrows: forces from their places to their tips (n, 2, 3) [m].
            cables: that it hangs on, from end to end (n, 2, 3) [m].
            field: heights of a ground that gives way.
        """
        panel.set_xlim(window.left, window.right)
        panel.set_ylim(window.bottom, window.top)
        panel.set_axis_off()
        self._draw_scene(panel, window)
        if field is not None:
            self._draw_ground(panel, window, field)
        for ends in cables[:, :, _PLANE]:
            panel.plot(*ends.T, color=_CABLE, linewidth=1.0, zorder=2.5)
        if self._skin is not None:
            self._draw_skin(panel, window, q)
        else:
            self._draw_outlines(panel, q)
        for place, tip in arrows[:, :, _PLANE]:
            panel.annotate("", xy=tip, xytext=place, arrowprops=_ARROW, zorder=4)

    def _draw_skin(self, panel: Any, window: Window, q: np.ndarray) -> None:
        assert self._skin is not None
        vertices = self._skin.posed(self._model, q)
        (left, bottom), (right, top) = (
            edge(vertices[:, _PLANE], axis=0) for edge in (np.min, np.max)
        )
        extent = (left, right, bottom, top)
        height = panel.get_window_extent().height
        scale = _FINENESS * height / (window.top - window.bottom)
        panel.imshow(
            skin_picture(self._skin, vertices, extent, scale),
            extent=extent,
            aspect="auto",
            interpolation="antialiased",
            zorder=3,
        )
        panel.set_xlim(window.left, window.right)
        panel.set_ylim(window.bottom, window.top)

    def _draw_outlines(self, panel: Any, q: np.ndarray) -> None:
        items = self.outlines(q)
        depths = [depth for depth, _, _ in items]
        span = max(max(depths) - min(depths), 1e-9)
        faces = [
            colour + _FADE * (depth - min(depths)) / span * (1.0 - colour)
            for depth, _, colour in items
        ]
        _fill(panel, [shape for _, shape, _ in items], faces, 0.55, 3)

    def _draw_scene(self, panel: Any, window: Window) -> None:
        for solid in self._ground.solids:
            if isinstance(solid, HalfSpace):
                self._draw_floor(panel, window, solid)
        # What of terrain lies under a floor is behind the floor.
        for shapes, kind, order in (
            (self._boxes, BOX_COLOUR, 2),
            (self._terrain, TERRAIN_COLOUR, -1),
        ):
            _fill(panel, shapes, [np.array(kind) / 255] * len(shapes), 0.7, order)

    def _draw_ground(self, panel: Any, window: Window, field: Footprints) -> None:
        """Fill a ground that gives way, with the deepest and highest pins across it."""
        x = field.origin[0] + field.spacing * np.arange(field.heights.shape[0])
        rest, colour = float(field.origin[2]), np.array(SAND_COLOUR) / 255
        low, high = rest + field.heights.min(axis=1), rest + field.heights.max(axis=1)
        panel.fill_between(x, window.bottom, high, color=colour, lw=0.0, zorder=0.5)
        panel.fill_between(x, low, rest, color=0.72 * colour, lw=0.0, zorder=0.6)
        panel.plot(x, high, color=0.6 * colour, linewidth=0.8, zorder=1)

    def _draw_floor(self, panel: Any, window: Window, floor: HalfSpace) -> None:
        """Fill what lies under a plane; a level one has marks along x."""
        normal = np.array(floor.normal, float)[list(_PLANE)]
        if not np.linalg.norm(normal) > 1e-9:
            return  # a wall along the picture
        point = np.array(floor.point, float)[list(_PLANE)]
        shape = _below(window, normal, point)
        if len(shape) < 3:
            return
        panel.fill(*shape.T, color=_GROUND, linewidth=0.0, zorder=0)
        along = point + np.array([-normal[1], normal[0]])
        panel.axline(point, along, color=_LINE, linewidth=1.0, zorder=1)
        if normal[0] == 0.0:
            step = 0.05 if self._size < 0.6 else 0.25
            first, last = np.ceil(window.left / step), np.floor(window.right / step)
            marks = step * np.arange(first, last + 1)
            low = point[1] - 0.02 * self._size
            panel.vlines(marks, low, point[1], color=_LINE, linewidth=0.6, zorder=1)


def _fill(
    panel: Any,
    shapes: list[np.ndarray],
    faces: list[np.ndarray],
    edge: float,
    order: float,
) -> None:
    """Fill outlines (n, 2) in their colours; edges are darker by a factor."""
    edges = [edge * face for face in faces]
    collection = PolyCollection(shapes, facecolors=faces, edgecolors=edges)
    collection.set(linewidths=0.5, zorder=order)
    panel.add_collection(collection)


def outline(points: np.ndarray) -> np.ndarray:
    """Convex outline of points in a plane (n, 2), in order."""
    return points[ConvexHull(points).vertices]


def _below(window: Window, normal: np.ndarray, point: np.ndarray) -> np.ndarray:
    """The part of a window on the inner side of a line, as a polygon (n, 2)."""
    corners = np.array(
        [
            (window.left, window.bottom),
            (window.right, window.bottom),
            (window.right, window.top),
            (window.left, window.top),
        ]
    )
    height = (corners - point) @ normal
    kept = []
    for k in range(4):
        n = (k + 1) % 4
        if height[k] <= 0:
            kept.append(corners[k])
        if height[k] * height[n] < 0:
            part = height[k] / (height[k] - height[n])
            kept.append(corners[k] + part * (corners[n] - corners[k]))
    return np.array(kept).reshape(-1, 2)
