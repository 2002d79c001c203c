# SPDX-License-Identifier: Apache-2.0
"""Closed meshes of smooth functions: surface nets, drawn onto the surface.

One vertex for each cell of a grid that the surface passes, a face for each edge of the
grid that it crosses; then each vertex slides along the gradient until the function is
zero (Gibson 1998, with Newton's method in place of relaxation).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from humans_sim.anatomy.errors import AnatomyError, BoneMeshError
from humans_sim.core.budget import GRID_POINTS
from humans_sim.core.surface_cells import crossed_quadrangles, passed_cells

if TYPE_CHECKING:
    import trimesh

Distance = Callable[[np.ndarray], np.ndarray]
"""Of points (..., 3) [m]: about the distance to a surface, negative inside."""
_NEWTON = 4


def mesh_of_distance(
    distance: Distance, low: np.ndarray, high: np.ndarray, spacing: float
) -> trimesh.Trimesh:
    """The closed mesh where a function is zero.

    Args:
        distance: the function.
        low: corner of a box around the surface (3,) [m].
        high: the opposite corner (3,) [m].
        spacing: edge of the grid's cells [m].

    Raises:
        AnatomyError: the spacing is not positive.
        BoneMeshError: nothing is inside, or the box cuts the surface.
    """
    import trimesh

    if not spacing > 0:
        raise AnatomyError(f"the spacing must be positive, not {spacing} m")
    sides = np.ceil((high - low) / spacing + 2)
    GRID_POINTS.check("a surface", *sides, error=AnatomyError)
    ends = zip(low, high, strict=True)
    axes = [np.arange(a, b + 2 * spacing, spacing) for a, b in ends]
    values = distance(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1))
    inside = values < 0
    if not inside.any():
        raise BoneMeshError("nothing is inside the surface")
    border = inside.copy()
    border[1:-1, 1:-1, 1:-1] = False
    if border.any():
        raise BoneMeshError("the box cuts the surface")
    origin = np.array([axis[0] for axis in axes])
    cells, number = passed_cells(inside)
    places = origin + spacing * (cells + 0.5)
    faces = _faces(inside, number)
    places = _on_surface(distance, places, spacing)
    mesh = trimesh.Trimesh(places, faces, process=False)
    if not (mesh.is_watertight and mesh.is_winding_consistent):
        raise BoneMeshError("the grid is too coarse for the surface")
    return mesh


def _faces(inside: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Two triangles for each edge of the grid with one end inside."""
    return np.concatenate(
        [
            corners[:, chosen]
            for corners in crossed_quadrangles(inside, number)
            for chosen in ([0, 1, 2], [0, 2, 3])
        ]
    )


def _on_surface(distance: Distance, places: np.ndarray, spacing: float) -> np.ndarray:
    """Points drawn along the gradient onto the surface, by less than a cell."""
    start, h = places, 1e-3 * spacing
    for _ in range(_NEWTON):
        value = distance(places)
        gradient = np.empty_like(places)
        for axis in range(3):
            step = np.zeros(3)
            step[axis] = h
            ahead, behind = distance(places + step), distance(places - step)
            gradient[:, axis] = (ahead - behind) / (2 * h)
        square = np.maximum(np.einsum("ni,ni->n", gradient, gradient), 0.1)
        moved = places - (value / square)[:, None] * gradient
        places = start + np.clip(moved - start, -0.75 * spacing, 0.75 * spacing)
    return places
