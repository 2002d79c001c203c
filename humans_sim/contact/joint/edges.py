# SPDX-License-Identifier: Apache-2.0
"""Edges of boxes and polyhedra as thin cylinders (the article, section 5.3).

A surface of contact has curvatures, an edge has none: it is a cylinder of almost no
radius, that ends in balls of the same radius. Where its radius goes to zero, the edge
is the sharp one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin
from scipy.spatial import ConvexHull, QhullError

from humans_sim.contact.joint.contact_errors import SurfaceError
from humans_sim.contact.joint.surface_shapes import Cylinder, Sphere
from humans_sim.contact.joint.surfaces import (
    Surface,
    SurfacePoint,
    cross,
    placed,
    placement_field,
    positive,
)
from humans_sim.core.arrays import finite_array
from humans_sim.core.errors import ParameterError

_SHARP = 1e-9
"""Sine below which two faces are one, and a direction is across an edge."""


@dataclass(frozen=True, eq=False)
class Edge(Surface):
    """An edge between two points: a thin cylinder with round ends.

    Attributes:
        first: one end of its axis (3,) [m].
        second: the other end (3,) [m].
        radius: [m].
        placement: of the surface's axes in its body.
    """

    first: Sequence[float] | np.ndarray
    second: Sequence[float] | np.ndarray
    radius: float
    placement: pin.SE3 = placement_field()

    def __post_init__(self) -> None:
        """Refuse an edge that is none."""
        for name in ("first", "second"):
            given = np.asarray(getattr(self, name), dtype=float)
            object.__setattr__(
                self, name, finite_array(given, (3,), f"{name} end of an edge")
            )
        positive(self.radius, "radius of an edge")
        placed(self.placement, "edge")
        if not np.linalg.norm(self._along) > 0.0:
            raise ParameterError("the ends of an edge are one point: use a Sphere")

    @cached_property
    def _along(self) -> np.ndarray:
        return np.asarray(self.second) - np.asarray(self.first)

    @cached_property
    def _cylinder(self) -> Cylinder:
        """The endless cylinder about the same axis."""
        axis = self._along / math.sqrt(self._along @ self._along)
        turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), axis)
        return Cylinder(self.radius, pin.SE3(turn.matrix(), np.asarray(self.first)))

    @property
    def ends(self) -> tuple[Sphere, Sphere]:
        """The balls at its ends: they bear an edge that lies on a plane.

        One point of a line of contact cannot.
        """
        return tuple(  # type: ignore[return-value]
            Sphere(self.radius, self.placement * pin.SE3(np.eye(3), np.asarray(end)))
            for end in (self.first, self.second)
        )

    def local(self, point: np.ndarray) -> SurfacePoint:
        """On the cylinder between the ends, on a ball beyond them."""
        share = float((point - self.first) @ self._along / (self._along @ self._along))
        if 0.0 <= share <= 1.0:
            return self._cylinder.at(point)
        end = np.asarray(self.first if share < 0.0 else self.second)
        ball = Sphere(self.radius).local(point - end)
        return SurfacePoint(end + ball.point, ball.normal, ball.axes, ball.curvatures)

    def facing(self, normal: np.ndarray) -> np.ndarray:
        """At the end that is farther out; in the middle where neither is."""
        lead = float(normal @ self._along)
        ahead = 0.5
        if abs(lead) > _SHARP * math.sqrt(self._along @ self._along):
            ahead = 1.0 if lead > 0.0 else 0.0
        return np.asarray(self.first + ahead * self._along + self.radius * normal)


@dataclass(frozen=True, eq=False)
class Core:
    """What a round surface lies about: a point, or a line between two.

    Attributes:
        start: in the body's axes (3,) [m].
        along: to the other end (3,) [m]; zero for a point.
        radius: of the surface about it [m].
    """

    start: np.ndarray
    along: np.ndarray
    radius: float


def core_of(surface: Surface) -> Core | None:
    """The core of a sphere or an edge; None for other surfaces."""
    place = surface.placement
    if isinstance(surface, Sphere):
        return Core(place.translation.copy(), np.zeros(3), surface.radius)
    if isinstance(surface, Edge):
        along = place.rotation @ (np.asarray(surface.second) - surface.first)
        return Core(place.act(np.asarray(surface.first)), along, surface.radius)
    return None


def nearest_on_cores(one: Core, two: Core) -> tuple[np.ndarray, np.ndarray]:
    """The nearest points of two cores in the same axes; in the middle of parallel ones.

    Raises:
        SurfaceError: they cross: no direction separates the surfaces.
    """
    aa, bb = float(one.along @ one.along), float(two.along @ two.along)
    apart = one.start - two.start
    ab, a_apart = float(one.along @ two.along), float(one.along @ apart)
    b_apart = float(two.along @ apart)
    denominator = aa * bb - ab * ab
    if denominator > _SHARP**2 * aa * bb:
        s = _share((ab * b_apart - bb * a_apart) / denominator)
    else:
        s = _middle(aa, ab, a_apart)
    t = _share((ab * s + b_apart) / bb) if bb > 0.0 else 0.0
    s = _share((ab * t - a_apart) / aa) if aa > 0.0 else 0.0
    t = _share((ab * s + b_apart) / bb) if bb > 0.0 else 0.0
    p1, p2 = one.start + s * one.along, two.start + t * two.along
    if not float((p2 - p1) @ (p2 - p1)) > 0.0:
        raise SurfaceError("two edges cross: no direction leads from one to the other")
    return p1, p2


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _middle(aa: float, ab: float, a_apart: float) -> float:
    """Middle of where the second of two parallel lines lies over the first."""
    if aa == 0.0:
        return 0.0
    ends = sorted((_share(-a_apart / aa), _share((ab - a_apart) / aa)))
    return 0.5 * (ends[0] + ends[1])


def box_edges(
    size: Sequence[float] | np.ndarray,
    radius: float,
    placement: pin.SE3 | None = None,
) -> tuple[Edge, ...]:
    """The twelve edges of a box about its centre.

    Args:
        size: along its axes (3,) [m].
        radius: of the rounding; faces stay where they are, corners give way [m].
        placement: of the box in its body.

    Raises:
        ParameterError: the box is none, or too small for the radius.
    """
    given = np.asarray(size, dtype=float)
    half = 0.5 * finite_array(given, (3,), "size of a box")
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    return polyhedron_edges(signs * half, radius, placement)


def polyhedron_edges(
    points: Sequence[Sequence[float]] | np.ndarray,
    radius: float,
    placement: pin.SE3 | None = None,
) -> tuple[Edge, ...]:
    """The edges of a convex polyhedron.

    Edges touch the planes of their two faces from inside, so that the rounded body is
    the sharp one less what its corners give way.

    Args:
        points: its corners, and any points within (n, 3) [m].
        radius: of the rounding [m].
        placement: of the polyhedron in its body.

    Raises:
        ParameterError: the points are flat, or too near for the radius.
    """
    positive(radius, "radius of an edge")
    corners = np.asarray(points, dtype=float)
    try:
        hull = ConvexHull(corners)
    except (QhullError, ValueError) as error:
        raise ParameterError(f"points of no polyhedron: {error}") from error
    place = pin.SE3.Identity() if placement is None else placement
    planes: dict[int, list[np.ndarray]] = {}
    for triangle, plane in zip(hull.simplices, hull.equations, strict=True):
        for corner in triangle:
            known = planes.setdefault(int(corner), [])
            if all(np.abs(plane - other).max() > _SHARP for other in known):
                known.append(plane)
    # A ball in each corner that touches the planes that meet there.
    centres = {
        corner: np.linalg.lstsq(
            np.array(meeting)[:, :3], -np.array(meeting)[:, 3] - radius, rcond=None
        )[0]
        for corner, meeting in planes.items()
    }
    edges = []
    for face, neighbours in enumerate(hull.neighbors):
        for skipped, other in enumerate(neighbours):
            normals = hull.equations[[face, other], :3]
            bent = float(np.linalg.norm(cross(*normals)))
            if other < face or bent < _SHARP:
                continue
            a, b = (int(c) for c in np.delete(hull.simplices[face], skipped))
            if float((centres[b] - centres[a]) @ (corners[b] - corners[a])) <= 0.0:
                raise ParameterError(f"an edge is too short for a radius of {radius:g}")
            edges.append(Edge(centres[a], centres[b], radius, place))
    return tuple(edges)
