# SPDX-License-Identifier: Apache-2.0
"""Plane, sphere, cylinder, cone, torus, and the inside of any of them.

All but the plane are surfaces of revolution about their z axis: e1 runs along the
circles, e2 along the meridians.

*Edges of boxes and polyhedra* (the article, section 5.3). A surface of contact has
curvatures, an edge has none: it is a cylinder of almost no radius, that ends in balls
of the same radius. Where its radius goes to zero, the edge is the sharp one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin
from scipy.spatial import ConvexHull, QhullError

from humans_sim.contact.joint.surfaces import (
    Surface,
    SurfaceError,
    SurfacePoint,
    arc,
    cross,
    placed,
    placement_field,
    positive,
)
from humans_sim.core.arrays import finite_array
from humans_sim.core.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Plane(Surface):
    """The plane z = 0 of its placement; outside is above."""

    placement: pin.SE3 = placement_field()
    steady = True
    round = True

    def __post_init__(self) -> None:
        placed(self.placement, "plane")

    def local(self, point: np.ndarray) -> SurfacePoint:
        """The foot of the point on the plane."""
        return SurfacePoint(
            np.array([point[0], point[1], 0.0]),
            np.array([0.0, 0.0, 1.0]),
            np.eye(3)[:, :2],
            np.zeros(2),
            np.zeros(2),
        )


class Revolution(Surface):
    """A surface of revolution about z whose meridian has one curvature everywhere.

    Walks are exact: a rotation about the axis, then an arc of the meridian.
    """

    def walk(self, frame: pin.SE3, step: np.ndarray, side: int = 1) -> pin.SE3:
        """Around the axis, then along the meridian, without turning about the normal.

        A rotation about the axis turns the frame about its normal as well where the
        circle is no geodesic; that part is taken back.
        """
        point = self.at(frame.translation)
        flat = frame.rotation[:, :2].T @ point.axes
        along = flat[:, 0] / math.hypot(flat[0, 0], flat[1, 0])
        beside = side * np.array([-along[1], along[0]])
        circle, meridian = float(along @ step), float(beside @ step)
        local = self.placement.actInv(frame)
        angle = circle / math.hypot(local.translation[0], local.translation[1])
        turn = pin.SE3(pin.utils.rotate("z", angle), np.zeros(3))
        around = self.placement * turn * local
        spin = 0.0 if point.turning is None else -side * circle * point.turning[0]
        back = pin.SE3(pin.utils.rotate("z", float(spin)), np.zeros(3))
        return around * arc(beside, meridian, side * float(point.curvatures[1])) * back

    def revolved(
        self, point: np.ndarray, radius: float, height: float, out: float, up: float
    ) -> SurfacePoint:
        """The surface at a point of its meridian, the normal ``out`` and ``up``."""
        x, y, _ = point
        far = math.hypot(x, y)
        c, s = x / far, y / far
        return SurfacePoint(
            np.array([radius * c, radius * s, height]),
            np.array([out * c, out * s, up]),
            np.array([[-s, -up * c], [c, -up * s], [0.0, out]]),
            np.array([out / radius, self.meridian]),
            np.array([up / radius, 0.0]),
        )

    @property
    def meridian(self) -> float:
        """Curvature along the meridian [1/m]."""
        return 0.0


@dataclass(frozen=True, eq=False)
class Sphere(Surface):
    """A sphere about the origin of its placement.

    Attributes:
        radius: [m].
    """

    radius: float
    placement: pin.SE3 = placement_field()
    steady = True
    round = True

    def __post_init__(self) -> None:
        positive(self.radius, "radius of a sphere")
        placed(self.placement, "sphere")

    def local(self, point: np.ndarray) -> SurfacePoint:
        """The point of the sphere on the ray from the centre."""
        length = math.sqrt(point @ point)
        if length == 0.0:
            raise SurfaceError("the centre of a sphere has no nearest point on it")
        normal = point / length
        far = math.hypot(normal[0], normal[1])
        e1 = (
            np.array([-normal[1] / far, normal[0] / far, 0.0])
            if far > 1e-6
            else np.array([1.0, 0.0, 0.0]) - normal[0] * normal
        )
        e1 = e1 / math.sqrt(e1 @ e1)
        curvature = 1.0 / self.radius
        return SurfacePoint(
            self.radius * normal,
            normal,
            np.column_stack([e1, cross(normal, e1)]),
            np.array([curvature, curvature]),
        )

    def facing(self, normal: np.ndarray) -> np.ndarray:
        """On the ray along the direction."""
        return self.radius * normal


@dataclass(frozen=True, eq=False)
class Cylinder(Revolution):
    """An endless cylinder of a radius [m] about the z axis of its placement."""

    radius: float
    placement: pin.SE3 = placement_field()
    steady = True

    def __post_init__(self) -> None:
        positive(self.radius, "radius of a cylinder")
        placed(self.placement, "cylinder")

    def local(self, point: np.ndarray) -> SurfacePoint:
        """The point of the cylinder at the same height."""
        if math.hypot(point[0], point[1]) == 0.0:
            raise SurfaceError("the axis of a cylinder has no nearest point on it")
        return self.revolved(point, self.radius, float(point[2]), 1.0, 0.0)


@dataclass(frozen=True, eq=False)
class Cone(Revolution):
    """An endless cone: apex at the origin of its placement, open along +z.

    Attributes:
        half_angle: between the axis and the surface, 0 to pi/2, without them [rad].
    """

    half_angle: float
    placement: pin.SE3 = placement_field()

    def __post_init__(self) -> None:
        positive(self.half_angle, "half angle of a cone")
        if self.half_angle >= math.pi / 2:
            raise ParameterError(
                f"half angle of a cone: below pi/2, not {self.half_angle}"
            )
        placed(self.placement, "cone")

    def local(self, point: np.ndarray) -> SurfacePoint:
        """The foot of the point on the generator of its side."""
        far = math.hypot(point[0], point[1])
        s, c = math.sin(self.half_angle), math.cos(self.half_angle)
        length = far * s + float(point[2]) * c
        if length <= 0.0 or far == 0.0:
            raise SurfaceError("the apex and the axis of a cone have no normal")
        return self.revolved(point, length * s, length * c, c, -s)


@dataclass(frozen=True, eq=False)
class Torus(Revolution):
    """A ring about the z axis of its placement.

    Attributes:
        ring_radius: of the circle that the tube follows [m].
        tube_radius: below the ring's [m].
    """

    ring_radius: float
    tube_radius: float
    placement: pin.SE3 = placement_field()

    def __post_init__(self) -> None:
        positive(self.ring_radius, "ring radius of a torus")
        positive(self.tube_radius, "tube radius of a torus")
        if self.tube_radius >= self.ring_radius:
            raise ParameterError(
                f"tube radius {self.tube_radius} of a torus: it must be below the ring "
                f"radius {self.ring_radius}, or the torus cuts itself"
            )
        placed(self.placement, "torus")

    def local(self, point: np.ndarray) -> SurfacePoint:
        """The point of the tube on the ray from the tube's middle."""
        x = math.hypot(point[0], point[1]) - self.ring_radius
        z = float(point[2])
        length = math.hypot(x, z)
        if length == 0.0 or x == -self.ring_radius:
            raise SurfaceError("the axis and the tube's middle have no nearest point")
        out, up = x / length, z / length
        radius = self.ring_radius + self.tube_radius * out
        return self.revolved(point, radius, self.tube_radius * up, out, up)

    def facing(self, normal: np.ndarray) -> np.ndarray | None:
        """On the outer side of the tube; none along the axis, where a circle is."""
        far = math.hypot(normal[0], normal[1])
        if far == 0.0:
            return None
        ring = np.array([normal[0] / far, normal[1] / far, 0.0])
        return self.ring_radius * ring + self.tube_radius * normal

    @property
    def meridian(self) -> float:
        """Curvature of the tube [1/m]."""
        return 1.0 / self.tube_radius


@dataclass(frozen=True, eq=False)
class Inside(Surface):
    """The same surface of a hole: bowl, bore, groove. Outwards is into the hole."""

    surface: Surface

    def __post_init__(self) -> None:
        if not isinstance(self.surface, Surface):
            kind = type(self.surface).__name__
            raise ParameterError(f"the inside of a Surface, not of a {kind}")
        for name in ("placement", "steady", "round"):
            object.__setattr__(self, name, getattr(self.surface, name))

    def local(self, point: np.ndarray) -> SurfacePoint:
        """The same point: normal, e2 and curvatures change their signs."""
        inner = self.surface.local(point)
        turning = None
        if inner.turning is not None:
            turning = inner.turning * (-1.0, 1.0)
        return SurfacePoint(
            inner.point,
            -inner.normal,
            inner.axes * (1.0, -1.0),
            -inner.curvatures,
            turning,
        )

    def walk(self, frame: pin.SE3, step: np.ndarray, side: int = 1) -> pin.SE3:
        """The walk of the surface, seen from its other side."""
        return self.surface.walk(frame, step, -side)


_SHARP = 1e-9
"""Sine below which two faces are one, and a direction is across an edge."""


@dataclass(frozen=True, eq=False)
class Edge(Surface):
    """An edge between two points (3,) [m]: a thin cylinder with round ends."""

    first: Sequence[float] | np.ndarray
    second: Sequence[float] | np.ndarray
    radius: float
    placement: pin.SE3 = placement_field()

    def __post_init__(self) -> None:
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
    """The core of a round surface: a point, or a line between two.

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
    """The nearest points of two cores in the same axes; the middle of parallel ones."""
    aa, bb = float(one.along @ one.along), float(two.along @ two.along)
    apart = one.start - two.start
    ab, a_apart = float(one.along @ two.along), float(one.along @ apart)
    b_apart = float(two.along @ apart)
    denominator = aa * bb - ab * ab
    if denominator > _SHARP**2 * aa * bb:
        s = _share((ab * b_apart - bb * a_apart) / denominator)
    else:  # the middle of where the second of parallel lines lies over the first
        ends = [_share(x / aa) for x in (-a_apart, ab - a_apart)] if aa else [0.0, 0.0]
        s = 0.5 * (min(ends) + max(ends))
    t = _share((ab * s + b_apart) / bb) if bb > 0.0 else 0.0
    s = _share((ab * t - a_apart) / aa) if aa > 0.0 else 0.0
    t = _share((ab * s + b_apart) / bb) if bb > 0.0 else 0.0
    p1, p2 = one.start + s * one.along, two.start + t * two.along
    if not float((p2 - p1) @ (p2 - p1)) > 0.0:
        raise SurfaceError("two edges cross: no direction leads from one to the other")
    return p1, p2


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def box_edges(
    size: Sequence[float] | np.ndarray, radius: float, placement: pin.SE3 | None = None
) -> tuple[Edge, ...]:
    """The twelve edges of a box; rounded faces stay, corners give way [m]."""
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
