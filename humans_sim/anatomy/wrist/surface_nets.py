# SPDX-License-Identifier: Apache-2.0
"""Closed meshes of smooth functions: surface nets, drawn onto the surface.

One vertex for each cell of a grid that the surface passes, a face for each edge of the
grid that it crosses; then each vertex slides along the gradient until the function is
zero (Gibson 1998, with Newton's method in place of relaxation).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from humans_sim.anatomy.errors import AnatomyError, BoneMeshError

if TYPE_CHECKING:
    import trimesh

Distance = Callable[[np.ndarray], np.ndarray]
"""Of points (..., 3) [m]: about the distance to a surface, negative inside."""
_NEWTON = 4
_CORNERS = np.array(list(itertools.product((0, 1), repeat=3)))


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
    vertices, number = _vertices(inside)
    places = origin + spacing * vertices
    faces = _faces(inside, number)
    places = _on_surface(distance, places, spacing)
    mesh = trimesh.Trimesh(places, faces, process=False)
    if not (mesh.is_watertight and mesh.is_winding_consistent):
        raise BoneMeshError("the grid is too coarse for the surface")
    return mesh


def _vertices(inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middles of the cells that the surface passes, and their numbers on the grid."""
    size = tuple(n - 1 for n in inside.shape)
    counts = np.zeros(size, dtype=np.int8)
    for i, j, k in _CORNERS:
        counts += inside[i : i + size[0], j : j + size[1], k : k + size[2]]
    passed = (counts > 0) & (counts < 8)
    number = np.full(size, -1, dtype=np.int64)
    number[passed] = np.arange(np.count_nonzero(passed))
    return np.argwhere(passed) + 0.5, number


def _faces(inside: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Two triangles for each edge of the grid with one end inside."""
    faces = []
    for axis in range(3):
        b, c = (axis + 1) % 3, (axis + 2) % 3
        first = np.moveaxis(inside, axis, 0)
        crossed = np.moveaxis(first[1:] != first[:-1], 0, axis)
        at = np.argwhere(crossed)
        quad = []
        for shift_b, shift_c in ((-1, -1), (0, -1), (0, 0), (-1, 0)):
            cell = at.copy()
            cell[:, b] += shift_b
            cell[:, c] += shift_c
            quad.append(number[tuple(cell.T)])
        corners = np.stack(quad, axis=1)
        leaving = inside[tuple(at.T)]
        corners[~leaving] = corners[~leaving][:, ::-1]
        faces.append(corners[:, [0, 1, 2]])
        faces.append(corners[:, [0, 2, 3]])
    return np.concatenate(faces)


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
