# SPDX-License-Identifier: Apache-2.0
"""Even meshes of distances by surface nets, finer where a grid is magnified.

One vertex for each cell that the surface passes, two triangles for each edge of the
grid that it crosses (Gibson 1998); vertices then relax along the surface. Distances are
asked for near the surface only: a coarse grid finds where that is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import trimesh

from humans_sim.core.budget import GRID_POINTS
from humans_sim.core.surface_cells import CORNERS, crossed_quadrangles, passed_cells
from humans_sim.soft.errors import SoftError

Distance = Callable[[np.ndarray], np.ndarray]
"""Of points (n, 3) [m]: about the distance to a surface, negative inside [m]."""
_COARSE = 4
"""Points of the grid between two of the coarse one."""
_NEAR = 1.3
"""Half diagonals of a coarse cell within which the surface may pass."""
_RELAXATIONS = 3
_FILLINGS = 10
_SQUARE = ((0, 0), (0, 1), (1, 1), (1, 0))
_EDGES = np.array(
    [(a, b) for a in range(8) for b in range(a + 1, 8) if (a ^ b) in (1, 2, 4)]
)
"""Edges of a cell, by its corners."""


class Magnifier(Protocol):
    """A map from the space of a grid to the world that shrinks parts of it."""

    def to_world(self, places: np.ndarray) -> np.ndarray:
        """Points of the world (n, 3) [m]."""
        ...

    def magnification(self, places: np.ndarray) -> np.ndarray:
        """How many times larger the grid's space is there (n,)."""
        ...


def net_of(
    distance: Distance,
    bounds: np.ndarray,
    spacing: float,
    magnifier: Magnifier | None = None,
) -> trimesh.Trimesh:
    """The closed mesh where a distance is zero.

    Args:
        distance: to the surface.
        bounds: lower and upper corner of a box around it, in the grid's space (2, 3).
        spacing: of the grid [m].
        magnifier: of parts of the grid; none unless given.

    Raises:
        SoftError: the surface leaves the box, is not in it, or has details that the
            grid is too coarse for.
    """
    low, high = np.asarray(bounds, dtype=float)
    if not (spacing > 0.0 and (high > low).all()):
        raise SoftError("a mesh needs a spacing above 0 and a box with sides above 0")
    step = _COARSE * spacing
    sides = np.ceil((high - low) / step)
    GRID_POINTS.check("a surface", *sides, error=SoftError)
    cells = sides.astype(int)
    values = _sampled(distance, magnifier, low, spacing, cells)
    inside = values < 0.0
    if not inside.any():
        raise SoftError("nothing is inside the surface in the box")
    hull = inside.copy()
    hull[1:-1, 1:-1, 1:-1] = False
    if hull.any():
        raise SoftError("the surface leaves the box; widen its bounds")
    _well_composed(values, inside)
    places, number = _vertices(values, inside)
    places = low + spacing * places
    sizes = np.full(len(places), spacing)
    if magnifier is not None:
        sizes = spacing / magnifier.magnification(places)
        places = magnifier.to_world(places)
    places = onto_surface(distance, places, sizes)
    faces = _faces(inside, number, places)
    places = _relaxed(distance, places, faces, sizes)
    mesh = trimesh.Trimesh(places, faces, process=False)
    if not (mesh.is_watertight and mesh.is_winding_consistent):
        raise SoftError("the grid is too coarse for the surface; refine its spacing")
    return mesh


def onto_surface(
    distance: Distance, places: np.ndarray, sizes: np.ndarray, rounds: int = 3
) -> np.ndarray:
    """Points drawn along the gradient onto the surface (n, 3) [m].

    Args:
        distance: to the surface.
        places: points near it (n, 3) [m].
        sizes: how far each may go (n,) [m].
        rounds: Newton steps.
    """
    start, h = places, 1e-2 * float(sizes.min())
    for _ in range(rounds):
        value = distance(places)
        ahead = [distance(places + step) for step in h * np.eye(3)]
        slope = (np.stack(ahead, axis=1) - value[:, None]) / h
        square = np.maximum(np.sum(slope**2, axis=1), 0.1)
        moved = places - (value / square)[:, None] * slope - start
        far = np.linalg.norm(moved, axis=1) / sizes
        places = start + moved / np.maximum(far, 1.0)[:, None]
    return places


def _sampled(
    distance: Distance,
    magnifier: Magnifier | None,
    low: np.ndarray,
    spacing: float,
    cells: np.ndarray,
) -> np.ndarray:
    """Distances on the grid; far from the surface those of the coarse grid."""

    def at(places: np.ndarray) -> np.ndarray:
        world, scale = places, np.ones(len(places))
        if magnifier is not None:
            world = magnifier.to_world(places)
            scale = magnifier.magnification(places)
        return distance(world) * scale

    step = _COARSE * spacing
    coarse = np.stack(np.meshgrid(*[np.arange(n) for n in cells], indexing="ij"), -1)
    middles = low + step * (coarse.reshape(-1, 3) + 0.5)
    far = at(middles).reshape(tuple(cells))
    near = np.abs(far) < _NEAR * step * np.sqrt(3) / 2
    values = np.repeat(far, _COARSE, 0).repeat(_COARSE, 1).repeat(_COARSE, 2)
    fine = np.repeat(near, _COARSE, 0).repeat(_COARSE, 1).repeat(_COARSE, 2)
    index = np.argwhere(fine)
    values[fine] = at(low + spacing * index)
    return values


def _well_composed(values: np.ndarray, inside: np.ndarray) -> None:
    """Fill in points until no two cells meet at an edge or a corner alone.

    Of two points outside across a square whose other two are inside, the one nearer to
    the surface is filled in; so a net is a manifold.
    """
    for _ in range(_FILLINGS):
        filled = 0
        for axis in range(3):
            b, c = (axis + 1) % 3, (axis + 2) % 3
            square = [_shifted(inside, {b: i, c: j}) for i, j in _SQUARE]
            for first in (0, 1):
                one, other = square[first], square[first + 2]
                rest = square[1 - first], square[3 - first]
                crossed = one & other & ~rest[0] & ~rest[1]
                at = np.argwhere(crossed)
                if not len(at):
                    continue
                filled += len(at)
                ends = []
                for i, j in (_SQUARE[1 - first], _SQUARE[3 - first]):
                    end = at.copy()
                    end[:, b] += i
                    end[:, c] += j
                    ends.append(end)
                nearer = values[tuple(ends[0].T)] < values[tuple(ends[1].T)]
                chosen = np.where(nearer[:, None], ends[0], ends[1])
                values[tuple(chosen.T)] = -1e-9
                inside[tuple(chosen.T)] = True
        if not filled:
            return


def _shifted(values: np.ndarray, shifts: dict[int, int]) -> np.ndarray:
    """A view one shorter along some axes, shifted by 0 or 1."""
    window = [slice(None)] * 3
    for axis, shift in shifts.items():
        window[axis] = slice(shift, values.shape[axis] - 1 + shift)
    return values[tuple(window)]


def _vertices(values: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean crossings of the cells that the surface passes, and their numbers."""
    cells, number = passed_cells(inside)
    corners = cells[:, None, :] + CORNERS
    own = values[tuple(np.moveaxis(corners, -1, 0))]
    a, b = own[:, _EDGES[:, 0]], own[:, _EDGES[:, 1]]
    crossed = (a < 0) != (b < 0)
    share = np.where(crossed, a / np.where(crossed, a - b, 1.0), 0.0)
    ends = CORNERS[_EDGES[:, 0]], CORNERS[_EDGES[:, 1]]
    points = ends[0] + share[..., None] * (ends[1] - ends[0])
    mean = np.sum(points * crossed[..., None], axis=1) / crossed.sum(1)[:, None]
    return cells + mean, number


def _faces(inside: np.ndarray, number: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Two triangles for each crossed edge, cut along the shorter diagonal."""
    faces = []
    for corners in crossed_quadrangles(inside, number):
        across = [
            np.sum((places[corners[:, i]] - places[corners[:, i + 2]]) ** 2, axis=1)
            for i in (0, 1)
        ]
        turned = across[1] < across[0]
        corners[turned] = np.roll(corners[turned], -1, axis=1)
        faces += [corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]]
    return np.concatenate(faces)


def neighbour_means(faces: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Means of the values at the neighbours of each vertex of a closed mesh."""
    sums = np.zeros_like(values)
    counts = np.zeros(len(values))
    for a, b in ((0, 1), (1, 2), (2, 0)):
        for column in range(values.shape[1]):
            sums[:, column] += np.bincount(
                faces[:, a], values[faces[:, b], column], len(values)
            )
        counts += np.bincount(faces[:, a], minlength=len(values))
    return sums / counts[:, None]


def _relaxed(
    distance: Distance, places: np.ndarray, faces: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """Vertices moved to the middle of their neighbours, along the surface."""
    for _ in range(_RELAXATIONS):
        middle = 0.5 * (places + neighbour_means(faces, places))
        places = onto_surface(distance, middle, sizes, 1)
    return onto_surface(distance, places, sizes, 1)
