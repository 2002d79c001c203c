# SPDX-License-Identifier: Apache-2.0
"""General surfaces: ellipsoids, and any surface f(x) = 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.contact.joint.contact_errors import SurfaceError
from humans_sim.contact.joint.surfaces import (
    Surface,
    SurfacePoint,
    cross,
    placed,
    placement_field,
    positive,
)

_ROUNDS = 60
_EPS = float(np.finfo(float).eps)


def bent(point: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> SurfacePoint:
    """The surface f = 0 at one of its points, by the derivatives of f there."""
    slope = math.sqrt(gradient @ gradient)
    if not (math.isfinite(slope) and slope > 0.0):
        raise SurfaceError(f"no normal at {point}: the gradient is {gradient}")
    normal = gradient / slope
    least = np.zeros(3)
    least[int(np.argmin(np.abs(normal)))] = 1.0
    a = cross(normal, least)
    a = a / math.sqrt(a @ a)
    b = cross(normal, a)
    aa, ab, bb = a @ hessian @ a, a @ hessian @ b, b @ hessian @ b
    half = 0.5 * math.atan2(2.0 * ab, aa - bb)
    c, s = math.cos(half), math.sin(half)
    e1 = c * a + s * b
    middle, spread = (aa + bb) / 2.0, math.hypot((aa - bb) / 2.0, ab)
    curvatures = np.array([middle + spread, middle - spread]) / slope
    return SurfacePoint(
        point, normal, np.column_stack([e1, cross(normal, e1)]), curvatures
    )


@dataclass(frozen=True, eq=False)
class ImplicitSurface(Surface):
    """The surface f(x) = 0; outside is where f > 0.

    Attributes:
        function: f of a point (3,).
        gradient: (3,) of a point.
        hessian: (3, 3) of a point.
        placement: of the surface's axes in its body.
    """

    function: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    hessian: Callable[[np.ndarray], np.ndarray]
    placement: pin.SE3 = placement_field()

    def __post_init__(self) -> None:
        """Refuse a placement that is none."""
        placed(self.placement, "implicit surface")

    def local(self, point: np.ndarray) -> SurfacePoint:
        """Newton's method on: the point lies on the normal of its foot."""
        foot, height = np.array(point, dtype=float), 0.0
        matrix, missing = np.zeros((4, 4)), np.zeros(4)
        last = math.inf
        for _ in range(_ROUNDS):
            slope = np.asarray(self.gradient(foot), dtype=float)
            curve = np.asarray(self.hessian(foot), dtype=float)
            missing[:3] = foot + height * slope - point
            missing[3] = self.function(foot)
            matrix[:3, :3] = np.eye(3) + height * curve
            matrix[:3, 3] = matrix[3, :3] = slope
            if not np.isfinite(missing).all() or not np.isfinite(matrix).all():
                break
            try:
                step = np.linalg.solve(matrix, missing)
            except np.linalg.LinAlgError:
                break
            foot, height = foot - step[:3], height - step[3]
            size = float(np.abs(step[:3]).max())
            # Round-off ends the descent: steps are tiny and shrink no more.
            if size <= 4 * _EPS * (1.0 + np.abs(foot).max()) or (
                size < 1e-9 and size >= last
            ):
                return bent(foot, self.gradient(foot), self.hessian(foot))
            last = size
        raise SurfaceError(
            f"no point of the surface found near {point}: start closer to it, and "
            "check gradient and Hessian"
        )


@dataclass(frozen=True, eq=False)
class Ellipsoid(Surface):
    """An ellipsoid about the origin of its placement.

    Attributes:
        semi_axes: the three half lengths [m].
    """

    semi_axes: tuple[float, float, float]
    placement: pin.SE3 = placement_field()

    def __post_init__(self) -> None:
        """Refuse an ellipsoid that is none."""
        if len(self.semi_axes) != 3:
            raise SurfaceError(f"an ellipsoid has 3 semi-axes, not {self.semi_axes}")
        for length in self.semi_axes:
            positive(length, "semi-axis of an ellipsoid")
        placed(self.placement, "ellipsoid")

    def local(self, point: np.ndarray) -> SurfacePoint:
        """The nearest point, by the root of one equation."""
        squares = np.array(self.semi_axes) ** 2
        foot = nearest_of_ellipsoid(squares, point)
        return bent(foot, foot / squares, np.diag(1.0 / squares))

    def facing(self, normal: np.ndarray) -> np.ndarray:
        """Where the gradient has the direction."""
        stretched = np.array(self.semi_axes) ** 2 * normal
        return stretched / math.sqrt(normal @ stretched)


def nearest_of_ellipsoid(squares: np.ndarray, point: np.ndarray) -> np.ndarray:
    """The point of an ellipse or ellipsoid nearest to a point off its middle.

    The foot is ``a^2 x / (a^2 + t)``, t the root of ``sum (a x / (a^2 + t))^2 = 1``, a
    falling convex function: Newton's method, kept in a bracket.
    """
    numbers = [
        (float(x * math.sqrt(s)), float(s)) for x, s in zip(point, squares, strict=True)
    ]
    scale = min(s for _, s in numbers)
    low, high = -scale, math.inf
    t = 0.0
    for _ in range(_ROUNDS):
        value, slope = -1.0, 0.0
        for top, square in numbers:
            part = (top / (square + t)) ** 2
            value += part
            slope -= 2.0 * part / (square + t)
        if value > 0.0:
            low = t
        else:
            high = t
        if slope == 0.0 or not math.isfinite(slope):
            break
        step = -value / slope
        if abs(step) <= 4 * _EPS * scale or abs(value) <= 8 * _EPS:
            return squares * point / (squares + t + step)
        t += step
        if not low < t < high:
            t = (low + min(high, 2.0 * abs(low) + scale)) / 2.0
    raise SurfaceError(f"no nearest point on the ellipsoid for {point}, in its middle")
