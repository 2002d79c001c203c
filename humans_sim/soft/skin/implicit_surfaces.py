# SPDX-License-Identifier: Apache-2.0
"""Implicit surfaces: fields, their contact, meshes and contours.

*Fields* around points and segments (thesis, chapter 9). A surface is where a field has
a given value. Fields fall off with the distance from a skeleton: Blinn's :math:`C e^{-a
r^2}`, Wyvill's polynomial that ends at a radius, or the integral of a Gaussian along a
segment, which does not bulge where segments meet.

*Meshes*: marching tetrahedra, and surface nets of distances. Tetrahedra make a closed
mesh by construction: each cell of a grid is six of them about one diagonal, the same in
all cells, so that faces of neighbours agree. Vertices belong to edges of the grid and
are shared.

*Contour* of a point model as a probe feels it (thesis, section 5.3). A model of points
has no contour of its own. A probe that comes near feels a force; where it is larger
than what the probe can tell from nothing, there the model is. A ball as a probe touches
with its surface: it feels the same, farther out by its radius.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import trimesh
from scipy.special import erf

from humans_sim.core import surface_nets
from humans_sim.core.budget import GRID_POINTS
from humans_sim.core.errors import ParameterError
from humans_sim.core.surface_nets import CORNERS, Distance, Magnifier
from humans_sim.soft.errors import SoftError
from humans_sim.soft.networks import link_kernels as kernels
from humans_sim.soft.networks.laws import LinkLaw
from humans_sim.soft.networks.link_kernels import state_table


class Field(Protocol):
    """Something with a value and a gradient everywhere."""

    def value(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3), one number each (n,)."""
        ...

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3) (n, 3) [1/m]."""
        ...


@dataclass(frozen=True)
class Blob:
    """Blinn's field of a point. Attributes: centre [m]; strength C; decay a [1/m²]."""

    centre: Sequence[float]
    strength: float = 1.0
    decay: float = 1.0

    def __post_init__(self) -> None:
        if not self.decay > 0.0:
            raise SoftError(f"a blob: its decay is {self.decay:g}, must be above 0")

    def value(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        square = np.sum((points - np.asarray(self.centre)) ** 2, axis=-1)
        return np.asarray(self.strength * np.exp(-self.decay * square))

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        away = points - np.asarray(self.centre)
        return np.asarray(-2 * self.decay * self.value(points)[..., None] * away)


@dataclass(frozen=True)
class DistanceField:
    """Wyvill's polynomial of the distance from a segment [m], nothing beyond a radius.

    It is a half at R / 2 of the radius R [m]; the end is the start for a point.
    """

    start: Sequence[float]
    end: Sequence[float]
    radius: float

    def __post_init__(self) -> None:
        if not self.radius > 0.0:
            raise SoftError(f"a field: its radius is {self.radius:g}, must be above 0")

    def _away(self, points: np.ndarray) -> np.ndarray:
        start, end = np.asarray(self.start, float), np.asarray(self.end, float)
        along = end - start
        length = float(along @ along)
        offset = points - start
        share = np.clip(offset @ along / length, 0, 1) if length > 0 else 0.0
        return np.asarray(offset - np.multiply.outer(share, along))

    def value(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        s = np.sum(self._away(points) ** 2, axis=-1) / self.radius**2
        # 1 - 22/9 s + 17/9 s² - 4/9 s³ of s = (r / R)²: 0 with no slope at s = 1.
        c = np.minimum(s, 1.0)
        return np.where(s < 1, 1 + c * (-22 / 9 + c * (17 / 9 - 4 / 9 * c)), 0.0)

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        away = self._away(points)
        s = np.sum(away**2, axis=-1) / self.radius**2
        slope = np.where(s < 1, -4 / 3 * s**2 + 34 / 9 * s - 22 / 9, 0.0)
        return np.asarray(slope[..., None] * 2 * away / self.radius**2)


@dataclass(frozen=True)
class SegmentField:
    r"""A Gaussian integrated along a segment: a convolution surface.

    :math:`\int e^{-\|\sigma - M\|^2 / 2 w^2} d\sigma / w`; a segment cut in two gives
    the same field.

    The segment is from start to end [m], the Gaussian has a width w [m].
    """

    start: Sequence[float]
    end: Sequence[float]
    width: float = 1.0
    strength: float = 1.0

    def __post_init__(self) -> None:
        length = np.linalg.norm(np.subtract(self.end, self.start))
        if not (self.width > 0.0 and length > 0.0):
            raise SoftError("a segment's field needs a length and a width above 0")

    def _parts(self, points: np.ndarray) -> tuple[np.ndarray, ...]:
        start, end = np.asarray(self.start, float), np.asarray(self.end, float)
        length = np.linalg.norm(end - start)
        u = (end - start) / length
        offset = (points - start) / self.width
        along = offset @ u
        away = offset - np.multiply.outer(along, u)
        across = np.exp(-0.5 * np.sum(away**2, axis=-1))
        return along, away, across, along - length / self.width, u

    def value(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        near, _, across, far, _ = self._parts(points)
        reach = erf(near / np.sqrt(2)) - erf(far / np.sqrt(2))
        return np.asarray(self.strength * np.sqrt(np.pi / 2) * across * reach)

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        near, away, across, far, u = self._parts(points)
        ends = np.exp(-0.5 * near**2) - np.exp(-0.5 * far**2)
        slope = -self.value(points)[..., None] * away
        slope = slope + np.multiply.outer(self.strength * across * ends, u)
        return np.asarray(slope / self.width)


@dataclass(frozen=True)
class Blend:
    """Fields blended with their neighbours alone.

    At each point the strongest element rules, and its neighbours are added: a hand near
    a thigh does not fuse with it. With no neighbours given, all fields add up.

    Neighbours are pairs of elements that blend; None for all.
    """

    elements: Sequence[Field]
    neighbours: Sequence[tuple[int, int]] | None = None
    _matrix: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        count = len(self.elements)
        if not count:
            raise SoftError("a blend of no fields")
        matrix = np.ones((count, count)) if self.neighbours is None else np.eye(count)
        for a, b in self.neighbours or ():
            if not (0 <= a < count and 0 <= b < count):
                raise SoftError(f"({a}, {b}): there are {count} elements to blend")
            matrix[a, b] = matrix[b, a] = 1.0
        object.__setattr__(self, "_matrix", matrix)

    def value(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        values = np.stack([element.value(points) for element in self.elements])
        weights = self._matrix[np.argmax(values, axis=0)]
        return np.asarray(np.sum(weights.T * values, axis=0))

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        values = np.stack([element.value(points) for element in self.elements])
        slopes = np.stack([element.gradient(points) for element in self.elements])
        weights = self._matrix[np.argmax(values, axis=0)]
        return np.asarray(np.sum(weights.T[..., None] * slopes, axis=0))


@dataclass(frozen=True)
class FieldContact:
    """Forces between two bodies whose surfaces are where fields have a level.

    Points on the surface of one that lie inside the other are pushed out along the
    normal of the other, by a stiffness for each area; the other takes the opposite.

    The level is that of both surfaces, the stiffness for each area [N/m³].
    """

    level: float
    stiffness: float

    def forces(
        self, points: np.ndarray, areas: np.ndarray, other: Field
    ) -> tuple[np.ndarray, np.ndarray]:
        """Forces on points of a surface, and on the other body there (n, 3) [N].

        The points (n, 3) [m] stand for areas (n,) [m²].
        """
        if not self.stiffness > 0.0:
            raise SoftError(f"a stiffness of {self.stiffness:g} N/m³, must be above 0")
        excess = other.value(points) - self.level
        slope = other.gradient(points)
        steep = np.linalg.norm(slope, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            depth = np.where(steep > 0, np.maximum(excess, 0.0) / steep, 0.0)
            normal = np.where(steep[:, None] > 0, -slope / steep[:, None], 0.0)
        own = (self.stiffness * depth * areas)[:, None] * normal
        return own, -own


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
    """The mesh of :func:`humans_sim.core.surface_nets.net_of`, with a SoftError."""
    with _soft_errors():
        return surface_nets.net_of(distance, bounds, spacing, magnifier)


def mesh_of(
    surface: Field, level: float, bounds: np.ndarray, spacing: float
) -> trimesh.Trimesh:
    """The closed mesh where a field has a level; outside it the field is lower.

    On a grid of a spacing between the corners of a box around it (2, 3) [m];
    SoftError: the surface leaves the box, or is not in it.
    """
    low, high = np.asarray(bounds, dtype=float)
    if not (spacing > 0.0 and (high > low).all()):
        raise SoftError("a mesh needs a spacing above 0 and a box with sides above 0")
    sides = np.maximum(np.ceil((high - low) / spacing) + 1, 2)
    counts, grid = _grid("a surface", low, sides, spacing)
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


def _grid(
    what: str, low: np.ndarray, sides: np.ndarray, spacing: float
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of places along the sides of a box from a corner on, and the places."""
    GRID_POINTS.check(what, *sides, error=SoftError)
    counts = sides.astype(int)
    axes = [low[k] + spacing * np.arange(counts[k]) for k in range(3)]
    return counts, np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _triangles(inside: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Triangles as edges of the grid from inside to outside, facing out (t, 3, 2)."""
    strides = np.array([counts[1] * counts[2], counts[2], 1])
    axes = np.meshgrid(*[np.arange(n - 1) for n in counts], indexing="ij")
    cells = np.stack(axes, axis=-1).reshape(-1, 3)
    corners = (cells @ strides)[:, None] + CORNERS @ strides
    mixed = inside[corners]
    corners = corners[mixed.any(axis=1) & ~mixed.all(axis=1)]
    triangles = []
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
                triangles.append(rows[:, np.array(triangle)])
    edges = np.concatenate(triangles)
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


@dataclass(frozen=True)
class ProbeField:
    """Force on a probe of a radius from points (n, 3) [m], by a law of the distance."""

    points: np.ndarray
    law: LinkLaw
    radius: float = 0.0

    def value(self, places: np.ndarray) -> np.ndarray:
        """Modulus of the force on a probe at places (m, 3) (m,) [N]."""
        total = np.zeros((len(places), 3))
        states = state_table([self.law.automaton()], 1.0)
        for point in np.asarray(self.points, dtype=float):
            away = places - point
            distance = np.linalg.norm(away, axis=1)
            force = kernels.forces_at_rest(states, distance - self.radius)
            with np.errstate(invalid="ignore", divide="ignore"):
                u = np.where(distance[:, None] > 0, away / distance[:, None], 0.0)
            total += force[:, None] * u
        return np.asarray(np.linalg.norm(total, axis=1))

    def gradient(self, places: np.ndarray) -> np.ndarray:
        """By central differences (m, 3) [N/m]."""
        rates = [
            (self.value(places + step) - self.value(places - step)) / 2e-6
            for step in 1e-6 * np.eye(3)
        ]
        return np.stack(rates, axis=1)


@dataclass(frozen=True)
class Contour:
    """The force on a probe, on a grid.

    Attributes:
        inside: whether the force is above the sensitivity (nx, ny, nz).
        origin: of the first voxel's middle [m].
        spacing: of the voxels [m].
        field: the force.
        sensitivity: of the probe [N].
    """

    inside: np.ndarray
    origin: np.ndarray
    spacing: float
    field: ProbeField
    sensitivity: float

    @property
    def volume(self) -> float:
        """[m³]."""
        return float(self.inside.sum()) * self.spacing**3

    def spectrum(self) -> np.ndarray:
        """Modulus of the Fourier transform: low frequencies size, high ones roughness.

        The first entry is the volume [m³].
        """
        return np.asarray(np.abs(np.fft.rfftn(self.inside)) * self.spacing**3)

    def mesh(self) -> trimesh.Trimesh:
        """The contour as a closed surface; of hollow ones both sides."""
        high = self.origin + self.spacing * (np.array(self.inside.shape) - 1)
        bounds = np.array([self.origin, high])
        return mesh_of(self.field, self.sensitivity, bounds, self.spacing)


def contour(
    points: np.ndarray,
    law: LinkLaw,
    sensitivity: float,
    spacing: float,
    radius: float = 0.0,
    reach: float = 0.0,
) -> Contour:
    """The contour of points (n, 3) [m] as a probe of a radius [m] feels them.

    Args:
        points: of the model.
        law: of the force between a point and the probe, by their distance.
        sensitivity: force that the probe tells from nothing [N].
        spacing: of the voxels [m].
        radius: of a ball as a probe; 0 for a point.
        reach: distance beyond which the law has no force; that of a stop unless given.

    Raises:
        SoftError: nothing can be felt so, or the grid would be too large.
    """
    points = np.atleast_2d(np.asarray(points, dtype=float))
    reach = reach or float(getattr(law, "reach", getattr(law, "outer", 0.0)))
    if not (sensitivity > 0.0 and spacing > 0.0 and reach > 0.0 and radius >= 0.0):
        raise SoftError("a contour needs a sensitivity, a spacing and a reach above 0")
    margin = reach + radius + 2 * spacing
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    sides = np.ceil((high - low) / spacing) + 1
    counts, grid = _grid("a contour", low, sides, spacing)
    field = ProbeField(points, law, radius)
    inside = (field.value(grid) > sensitivity).reshape(counts)
    return Contour(inside, low, spacing, field, sensitivity)
