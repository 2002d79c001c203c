# SPDX-License-Identifier: Apache-2.0
"""Meshes of implicit surfaces: marching tetrahedra, and surface nets of distances.

Tetrahedra make a closed mesh by construction: each cell of a grid is six of them about
one diagonal, the same in all cells, so that faces of neighbours agree. Vertices belong
to edges of the grid and are shared.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import trimesh

from humans_sim.core import surface_nets
from humans_sim.core.budget import GRID_POINTS
from humans_sim.core.errors import ParameterError
from humans_sim.core.surface_nets import CORNERS, Distance, Magnifier
from humans_sim.soft.errors import SoftError
from humans_sim.soft.surfaces.fields import Field

_TETRAHEDRA = np.array(
    [
        [0, *np.cumsum([4 >> axis for axis in order])]
        for order in itertools.permutations(range(3))
    ]
)
"""Corners of the six tetrahedra: paths along the axes from corner 0 to corner 7."""


@contextmanager
def _soft_errors() -> Iterator[None]:
    """Errors of meshes as those of soft things."""
    try:
        yield
    except ParameterError as error:
        raise SoftError(str(error)) from None


def net_of(
    distance: Distance,
    bounds: np.ndarray,
    spacing: float,
    magnifier: Magnifier | None = None,
) -> trimesh.Trimesh:
    """The mesh of :func:`humans_sim.core.surface_nets.net_of`; its arguments.

    Raises:
        SoftError: the surface leaves the box, is not in it, or has details that the
            grid is too coarse for.
    """
    with _soft_errors():
        return surface_nets.net_of(distance, bounds, spacing, magnifier)


def mesh_of(
    surface: Field, level: float, bounds: np.ndarray, spacing: float
) -> trimesh.Trimesh:
    """The closed mesh where a field has a value; outside it the field is lower.

    Args:
        surface: the field.
        level: its value on the surface.
        bounds: lower and upper corner of a box around it (2, 3) [m].
        spacing: of the grid [m].

    Raises:
        SoftError: the surface leaves the box, or is not in it.
    """
    low, high = np.asarray(bounds, dtype=float)
    if not (spacing > 0.0 and (high > low).all()):
        raise SoftError("a mesh needs a spacing above 0 and a box with sides above 0")
    sides = np.maximum(np.ceil((high - low) / spacing) + 1, 2)
    GRID_POINTS.check("a surface", *sides, error=SoftError)
    counts = sides.astype(int)
    axes = [low[k] + spacing * np.arange(counts[k]) for k in range(3)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    values = surface.value(grid) - level
    inside = (values > 0.0).reshape(counts)
    if not inside.any():
        raise SoftError(f"the field is nowhere above {level:g} in the box")
    with _soft_errors():
        surface_nets.check_enclosed(inside)
    edges = _triangles(inside.ravel(), counts)
    ends = np.sort(edges, axis=-1).reshape(-1, 2).astype(np.int64)
    keys, faces = np.unique(ends[:, 0] * len(grid) + ends[:, 1], return_inverse=True)
    a, b = keys // len(grid), keys % len(grid)
    share = np.clip(values[a] / (values[a] - values[b]), 1e-6, 1 - 1e-6)
    vertices = grid[a] + share[:, None] * (grid[b] - grid[a])
    return trimesh.Trimesh(vertices, faces.reshape(-1, 3), process=False)


def _triangles(inside: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Triangles as edges of the grid from inside to outside, facing out (t, 3, 2)."""
    strides = np.array([counts[1] * counts[2], counts[2], 1])
    cells = np.stack(
        np.meshgrid(*[np.arange(n - 1) for n in counts], indexing="ij"), axis=-1
    ).reshape(-1, 3)
    corners = (cells @ strides)[:, None] + CORNERS @ strides
    mixed = inside[corners]
    corners = corners[mixed.any(axis=1) & ~mixed.all(axis=1)]
    found = []
    for tetrahedron in _TETRAHEDRA:
        four = corners[:, tetrahedron]
        within = inside[four]
        number = within.sum(axis=1)
        # corners inside first, each group in its order
        order = np.argsort(~within, axis=1, kind="stable")
        four = np.take_along_axis(four, order, axis=1)
        for count, table in _CASES.items():
            rows = four[number == count]
            for triangle in table:
                found.append(rows[:, np.array(triangle)])
    edges = np.concatenate(found)
    place = np.stack(np.unravel_index(edges, tuple(counts)), axis=-1).astype(float)
    middle = place.mean(axis=2)
    normal = np.cross(middle[:, 1] - middle[:, 0], middle[:, 2] - middle[:, 0])
    outwards = (place[:, :, 1] - place[:, :, 0]).sum(axis=1)
    turned = np.sum(normal * outwards, axis=1) < 0.0
    edges[turned] = edges[turned][:, ::-1]
    return edges


_CASES = {
    1: (((0, 1), (0, 2), (0, 3)),),
    2: (((0, 2), (0, 3), (1, 3)), ((0, 2), (1, 3), (1, 2))),
    3: (((0, 3), (1, 3), (2, 3)),),
}
"""Triangles by the number of corners inside, as edges between sorted corners."""
