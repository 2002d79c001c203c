# SPDX-License-Identifier: Apache-2.0
"""Contact of two contours in a plane: the same joint in two dimensions.

The contact frame has its tangent t along x, its normal n out of contour 1 along y. It
turns about the centre of curvature of each contour, or slides along a straight one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from humans_sim.contact.joint.nearest import planar_speeds
from humans_sim.contact.joint.surfaces import (
    SurfaceError,
    nearest_of_ellipsoid,
    positive,
)
from humans_sim.core.errors import ParameterError


@dataclass(frozen=True, eq=False, slots=True)
class ContourPoint:
    """A contour at one of its points.

    Attributes:
        point: (2,) [m].
        normal: outwards, unit (2,).
        curvature: positive where convex [1/m].
    """

    point: np.ndarray
    normal: np.ndarray
    curvature: float


class Contour(ABC):
    """A smooth curve around or along a body in a plane."""

    @abstractmethod
    def at(self, point: np.ndarray) -> ContourPoint:
        """The contour nearest to a point (2,)."""


@dataclass(frozen=True)
class Line(Contour):
    """The line y = 0; outside is above."""

    def at(self, point: np.ndarray) -> ContourPoint:
        """The foot of the point."""
        return ContourPoint(np.array([point[0], 0.0]), np.array([0.0, 1.0]), 0.0)


@dataclass(frozen=True)
class Circle(Contour):
    """A circle about the origin.

    Attributes:
        hollow: the contour of a hole: outside is in the circle.
    """

    radius: float
    hollow: bool = False

    def __post_init__(self) -> None:
        positive(self.radius, "radius of a circle")

    def at(self, point: np.ndarray) -> ContourPoint:
        """The point of the circle on the ray from the centre."""
        length = math.hypot(point[0], point[1])
        if length == 0.0:
            raise SurfaceError("the centre of a circle has no nearest point on it")
        normal, sign = np.asarray(point) / length, -1 if self.hollow else 1
        return ContourPoint(self.radius * normal, sign * normal, sign / self.radius)


@dataclass(frozen=True)
class Ellipse(Contour):
    """An ellipse about the origin.

    Attributes:
        semi_axes: half lengths along x and y [m].
    """

    semi_axes: tuple[float, float]

    def __post_init__(self) -> None:
        for length in self.semi_axes:
            positive(length, "semi-axis of an ellipse")

    def at(self, point: np.ndarray) -> ContourPoint:
        """The nearest point."""
        a, b = self.semi_axes
        squares = np.array([a * a, b * b])
        foot = nearest_of_ellipsoid(squares, np.asarray(point, dtype=float))
        slope = foot / squares
        length = math.hypot(slope[0], slope[1])
        return ContourPoint(foot, slope / length, 1.0 / (a * b * length) ** 2 / length)


@dataclass(frozen=True, slots=True)
class PlanarFrame:
    """A frame in a plane: place of its origin [m] and angle of its x axis [rad]."""

    x: float
    y: float
    angle: float

    def after(self, length: float, turn: float) -> PlanarFrame:
        """The frame after an arc along its x axis that turns by an angle."""
        half = turn / 2.0
        chord = length * (math.sin(half) / half if half else 1.0)
        heading = self.angle + half
        return PlanarFrame(
            self.x + chord * math.cos(heading),
            self.y + chord * math.sin(heading),
            self.angle + turn,
        )

    def matrix(self) -> np.ndarray:
        """The frame as a homogeneous matrix (3, 3)."""
        c, s = math.cos(self.angle), math.sin(self.angle)
        return np.array([[c, -s, self.x], [s, c, self.y], [0.0, 0.0, 1.0]])


@dataclass(frozen=True, slots=True)
class PlanarState:
    """Where the contact frame is in body 1 and in body 2."""

    first: PlanarFrame
    second: PlanarFrame

    def relative(self) -> np.ndarray:
        """Placement of body 2 in body 1 as a homogeneous matrix (3, 3)."""
        return self.first.matrix() @ np.linalg.inv(self.second.matrix())


@dataclass(frozen=True)
class PlanarContact:
    """Two contours in contact.

    Attributes:
        correct: put the frame back on both contours after each step.
    """

    first: Contour
    second: Contour
    correct: bool = True

    def start(
        self, first: tuple[float, float], second: tuple[float, float]
    ) -> PlanarState:
        """The bodies put together at a point of each, or near it."""
        places = []
        for contour, point, side in ((self.first, first, 1), (self.second, second, -1)):
            place = np.asarray(point, dtype=float)
            if place.shape != (2,) or not np.isfinite(place).all():
                raise ParameterError(f"a point is 2 finite numbers, not {point}")
            there = contour.at(place)
            n = side * there.normal
            x, y = there.point
            angle = math.atan2(-n[0], n[1])
            places.append(PlanarFrame(float(x), float(y), angle))
        state = PlanarState(places[0], places[1])
        planar_speeds(*self.curvatures(state), 0.0, 0.0)
        return state

    def curvatures(self, state: PlanarState) -> tuple[float, float]:
        """Curvatures C1 and C2 at the contact [1/m]."""
        one = self.first.at(np.array([state.first.x, state.first.y]))
        two = self.second.at(np.array([state.second.x, state.second.y]))
        return one.curvature, two.curvature

    def step(
        self, state: PlanarState, sliding: float, rolling: float, dt: float
    ) -> PlanarState:
        """The contact after a time of sliding [m/s] and rolling [rad/s].

        Exact for any step between lines and circles. Two lines may only slide.
        """
        if not all(map(math.isfinite, (sliding, rolling, dt))):
            raise ParameterError("sliding, rolling and time must be finite")
        c1, c2 = self.curvatures(state)
        s1, s2 = planar_speeds(c1, c2, sliding, rolling)
        moved = PlanarState(
            state.first.after(s1 * dt, -c1 * s1 * dt),
            state.second.after(s2 * dt, c2 * s2 * dt),
        )
        if not self.correct:
            return moved
        return PlanarState(
            _settled(self.first, moved.first, 1),
            _settled(self.second, moved.second, -1),
        )


def _settled(contour: Contour, frame: PlanarFrame, side: int) -> PlanarFrame:
    """The frame put back on the contour; its angle keeps its turns."""
    there = contour.at(np.array([frame.x, frame.y]))
    n = side * there.normal
    off = math.remainder(math.atan2(-n[0], n[1]) - frame.angle, 2 * math.pi)
    return PlanarFrame(float(there.point[0]), float(there.point[1]), frame.angle + off)
