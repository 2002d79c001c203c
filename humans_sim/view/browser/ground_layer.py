# SPDX-License-Identifier: Apache-2.0
"""A ground that gives way on a page: a mesh of its heights."""

from __future__ import annotations

import numpy as np
import viser

from humans_sim.soft.ground.footprints import Footprints

SAND_COLOUR = (205, 170, 110)
"""Red, green, blue of the ground."""
_LIT_COLOUR = (170, 132, 74)
"""The same under the bright light of a page."""
_MARGIN = 3
"""Pins around what was touched that are drawn one by one."""
_MOST = 24_000
"""Pins that are drawn one by one; of more, every other one and so on."""


class GroundLayer:
    """Draws heights; what nothing touches is one flat piece.

    Args:
        scene: of the page.
        name: under which it lies there.
        touched: first and last row and column of pins that move; all unless given.
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        name: str,
        touched: tuple[int, int, int, int] | None = None,
    ) -> None:
        """Nothing is drawn yet."""
        self._scene, self._name, self._touched = scene, name, touched
        self._mesh: viser.MeshHandle | None = None
        self._known: np.ndarray | None = None

    def show(self, field: Footprints) -> None:
        """Draw a field; the same one again costs nothing."""
        rows, columns = chosen_pins(field.heights.shape, self._touched)
        heights = field.heights[np.ix_(rows, columns)]
        if self._known is not None and np.array_equal(heights, self._known):
            return
        x = field.origin[0] + field.spacing * rows
        y = field.origin[1] + field.spacing * columns
        vertices = np.stack(
            [*np.meshgrid(x, y, indexing="ij"), field.origin[2] + heights], axis=-1
        )
        vertices = vertices.reshape(-1, 3).astype(np.float32)
        if self._mesh is not None and self._known is not None:
            if self._known.shape == heights.shape:
                self._mesh.vertices = vertices
                self._known = heights
                return
            self._mesh.remove()
        self._known = heights
        self._mesh = self._scene.add_mesh_simple(
            f"{self._name}/pins",
            vertices,
            grid_cells(*heights.shape),
            color=_LIT_COLOUR,
            flat_shading=True,
            side="double",
        )
        self._surround(field, (x[0], x[-1]), (y[0], y[-1]))

    def _surround(
        self, field: Footprints, x: tuple[float, float], y: tuple[float, float]
    ) -> None:
        """The flat piece around what is drawn pin by pin."""
        far = field.origin[:2] + field.spacing * (np.array(field.heights.shape) - 1)
        xs = (field.origin[0], *x, far[0])
        ys = (field.origin[1], *y, far[1])
        corners = [(a, b, field.origin[2]) for a in xs for b in ys]
        faces = [f for k, f in enumerate(grid_cells(4, 4)) if k // 2 != 4]  # a frame
        self._scene.add_mesh_simple(
            f"{self._name}/around",
            np.array(corners, dtype=np.float32),
            np.array(faces, dtype=np.uint32),
            color=_LIT_COLOUR,
            flat_shading=True,
            side="double",
        )


def touched_pins(heights: np.ndarray) -> tuple[int, int, int, int]:
    """First and last row and column of pins that moved in a series (k, n, m)."""
    moved = (np.abs(heights) > 0.0).any(axis=0)
    if not moved.any():
        return 0, 1, 0, 1
    rows, columns = np.flatnonzero(moved.any(axis=1)), np.flatnonzero(moved.any(axis=0))
    return int(rows[0]), int(rows[-1]), int(columns[0]), int(columns[-1])


def chosen_pins(
    shape: tuple[int, ...], touched: tuple[int, int, int, int] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of pins that are drawn one by one."""
    bounds = (0, shape[0] - 1, 0, shape[1] - 1) if touched is None else touched
    sides = []
    for k in (0, 1):
        low = max(0, bounds[2 * k] - _MARGIN)
        high = min(shape[k] - 1, bounds[2 * k + 1] + _MARGIN)
        sides.append(np.arange(low, high + 1))
    step = int(np.ceil(np.sqrt(len(sides[0]) * len(sides[1]) / _MOST)))
    return sides[0][::step], sides[1][::step]


def grid_cells(rows: int, columns: int) -> np.ndarray:
    """Two triangles for each cell of a grid of vertices (n, 3)."""
    index = np.arange(rows * columns, dtype=np.uint32).reshape(rows, columns)
    a, b = index[:-1, :-1].ravel(), index[1:, :-1].ravel()
    c, d = index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    pairs = np.stack([np.stack([a, b, c], 1), np.stack([a, c, d], 1)], axis=1)
    return pairs.reshape(-1, 3)
