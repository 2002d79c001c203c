# SPDX-License-Identifier: Apache-2.0
"""A skin as a flat picture, seen along an axis, lit from where one looks and above."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.soft.skin.skin import Skin
from humans_sim.view.raster.raster_kernels import Raster, draw_triangles

_AMBIENT, _LIT = 0.42, 0.62
"""Share of a colour in the shade, and what light adds to it."""
_HAZE = 0.22
"""How far the colour of the farthest part fades to white."""


class View(NamedTuple):
    """From where a picture is taken.

    Attributes:
        right: direction to the right of the picture, a unit vector.
        up: direction up, a unit vector.
    """

    right: tuple[float, float, float]
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)

    @property
    def towards(self) -> np.ndarray:
        """Direction to who looks."""
        return np.cross(self.right, self.up)


RIGHT_SIDE = View((1.0, 0.0, 0.0))
"""Seen from the right, x to the right."""


def skin_picture(
    skin: Skin,
    vertices: np.ndarray,
    window: tuple[float, float, float, float],
    scale: float,
    view: View = RIGHT_SIDE,
) -> np.ndarray:
    """Red, green, blue and opacity of a picture, its top row first (rows, columns, 4).

    Args:
        skin: what to draw.
        vertices: where it is (n, 3) [m].
        window: left, right, bottom and top of the picture [m].
        scale: pixels for each metre.
        view: from where it is seen.
    """
    left, right, bottom, top = window
    columns = max(2, round((right - left) * scale))
    rows = max(2, round((top - bottom) * scale))
    normals = _normals(vertices, skin.faces)
    towards = view.towards
    points = np.column_stack(
        [vertices @ view.right, vertices @ view.up, vertices @ towards]
    )
    light = towards + 0.5 * np.asarray(view.up) + 0.35 * np.asarray(view.right)
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
