# SPDX-License-Identifier: Apache-2.0
"""Closed meshes of distances by surface nets (Gibson 1998).

One vertex for each cell of a grid that the surface passes, two triangles for each edge
of the grid that it crosses. Two nets are made so:

- :func:`net_of`: even and a manifold. Vertices begin at the mean crossing of their
  cell and relax along the surface; the grid may be magnified in parts. Distances are
  asked for near the surface only: a coarse grid finds where that is.
- :func:`mesh_of_distance`: each vertex slides from the middle of its cell along the
  gradient until the function is zero (Newton's method in place of relaxation).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from humans_sim.core.budget import GRID_POINTS
from humans_sim.core.errors import ParameterError

if TYPE_CHECKING:
    import trimesh

Distance = Callable[[np.ndarray], np.ndarray]
"""Of points (..., 3) [m]: about the distance to a surface, negative inside [m]."""
CORNERS = np.array(list(itertools.product((0, 1), repeat=3)))
"""Of a cell (8, 3)."""
_COARSE = 4
"""Points of the grid between two of the coarse one."""
_NEAR = 1.3
"""Half diagonals of a coarse cell within which the surface may pass."""
_RELAXATIONS = 3
_FILLINGS = 10
_NEWTON = 4
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
    """The closed, even mesh where a distance is zero, on a grid of a spacing [m].

    ``bounds``: lower and upper corner of a box around it, in the grid's space (2, 3).
    """
    low, high = _box(bounds, spacing)
    sides = np.ceil((high - low) / (_COARSE * spacing))
    GRID_POINTS.check("a surface", *sides)
    values = _sampled(distance, magnifier, low, spacing, sides.astype(int))
    inside = values < 0.0
    check_enclosed(inside)
    _well_composed(values, inside)
    places, number = _vertices(values, inside)
    places = low + spacing * places
    sizes = np.full(len(places), spacing)
    if magnifier is not None:
        sizes = spacing / magnifier.magnification(places)
        places = magnifier.to_world(places)
    places = _onto_surface(distance, places, sizes)
    quadrangles = crossed_quadrangles(inside, number)
    for corners in quadrangles:  # cut along the shorter diagonal
        across = [
            np.sum((places[corners[:, i]] - places[corners[:, i + 2]]) ** 2, axis=1)
            for i in (0, 1)
        ]
        turned = across[1] < across[0]
        corners[turned] = np.roll(corners[turned], -1, axis=1)
    faces = _triangles(quadrangles)
    for _ in range(_RELAXATIONS):  # to the middle of their neighbours
        middle = 0.5 * (places + neighbour_means(faces, places))
        places = _onto_surface(distance, middle, sizes, 1)
    return _closed(_onto_surface(distance, places, sizes, 1), faces)


def mesh_of_distance(
    distance: Distance, bounds: np.ndarray, spacing: float
) -> trimesh.Trimesh:
    """The closed mesh where a function is zero, its vertices on the surface."""
    low, high = _box(bounds, spacing)
    GRID_POINTS.check("a surface", *np.ceil((high - low) / spacing + 2))
    ends = zip(low, high, strict=True)
    axes = [np.arange(a, b + 2 * spacing, spacing) for a, b in ends]
    inside = distance(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)) < 0
    check_enclosed(inside)
    cells, number = passed_cells(inside)
    places = low + spacing * (cells + 0.5)
    faces = _triangles(crossed_quadrangles(inside, number))
    return _closed(_slid_onto_surface(distance, places, spacing), faces)


def check_enclosed(inside: np.ndarray) -> None:
    """Refuse a surface that is not in its grid (a, b, c), or not all of it."""
    if not inside.any():
        raise ParameterError("nothing is inside the surface in the box")
    border = inside.copy()
    border[1:-1, 1:-1, 1:-1] = False
    if border.any():
        raise ParameterError("the surface leaves the box; widen its bounds")


def passed_cells(inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells (n, 3) that the surface passes, and their numbers on the grid, else -1."""
    size = tuple(n - 1 for n in inside.shape)
    counts = np.zeros(size, dtype=np.int8)
    for i, j, k in CORNERS:
        counts += inside[i : i + size[0], j : j + size[1], k : k + size[2]]
    passed = (counts > 0) & (counts < 8)
    number = np.full(size, -1, dtype=np.int64)
    number[passed] = np.arange(np.count_nonzero(passed))
    return np.argwhere(passed), number


def crossed_quadrangles(inside: np.ndarray, number: np.ndarray) -> list[np.ndarray]:
    """Four cells around each crossed edge (n, 4), by axis, counter-clockwise."""
    quadrangles = []
    for axis in range(3):
        b, c = (axis + 1) % 3, (axis + 2) % 3
        first = np.moveaxis(inside, axis, 0)
        at = np.argwhere(np.moveaxis(first[1:] != first[:-1], 0, axis))
        around = []
        for shift_b, shift_c in ((-1, -1), (0, -1), (0, 0), (-1, 0)):
            cell = at.copy()
            cell[:, b] += shift_b
            cell[:, c] += shift_c
            around.append(number[tuple(cell.T)])
        corners = np.stack(around, axis=1)
        leaving = inside[tuple(at.T)]
        corners[~leaving] = corners[~leaving][:, ::-1]
        quadrangles.append(corners)
    return quadrangles


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


def _box(bounds: np.ndarray, spacing: float) -> np.ndarray:
    box = np.asarray(bounds, dtype=float)
    if not (spacing > 0.0 and (box[1] > box[0]).all()):
        raise ParameterError(
            "a mesh needs a spacing above 0 and a box with sides above 0"
        )
    return box


def _triangles(quadrangles: list[np.ndarray]) -> np.ndarray:
    """Two triangles for each quadrangle, from its first corner on."""
    return np.concatenate(
        [c[:, cut] for c in quadrangles for cut in ([0, 1, 2], [0, 2, 3])]
    )


def _closed(places: np.ndarray, faces: np.ndarray) -> trimesh.Trimesh:
    import trimesh

    mesh = trimesh.Trimesh(places, faces, process=False)
    if not (mesh.is_watertight and mesh.is_winding_consistent):
        raise ParameterError(
            "the grid is too coarse for the surface; refine its spacing"
        )
    return mesh


def _onto_surface(
    distance: Distance, places: np.ndarray, sizes: np.ndarray, rounds: int = 3
) -> np.ndarray:
    """Points drawn along the gradient onto the surface (n, 3), ``sizes`` far [m]."""
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


def _slid_onto_surface(
    distance: Distance, places: np.ndarray, spacing: float
) -> np.ndarray:
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
