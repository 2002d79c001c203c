# SPDX-License-Identifier: Apache-2.0
"""Smooth surfaces: nearest point, normal, principal curvatures, and walks on them.

Curvatures are positive where a surface is convex. A frame *lies on* a surface when its
origin is a point of the surface and its z axis is the normal there: outwards (side +1)
or inwards (side -1). Two bodies touch when one frame lies on both, with opposite sides.

Also: errors of a contact between two surfaces; ellipsoids, and any surface f(x) = 0.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pinocchio as pin

from humans_sim.core.arrays import real_array
from humans_sim.core.errors import HumansError, ParameterError


@dataclass(frozen=True, eq=False, slots=True)
class SurfacePoint:
    """A surface near one of its points.

    Its arrays become float64, whatever a surface of one's own computes them with.

    Attributes:
        point: the point (3,) [m].
        normal: outwards, unit (3,).
        axes: (3, 2), the principal directions e1, e2 as columns; e1 x e2 = normal.
        curvatures: (2,), along e1 and e2 [1/m]: the article's C and c.
        turning: (2,), how fast (e1, e2) turn about the normal per metre along e1 and
            e2, or None where the surface does not say [rad/m].
    """

    point: np.ndarray
    normal: np.ndarray
    axes: np.ndarray
    curvatures: np.ndarray
    turning: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("point", "normal", "axes", "curvatures", "turning"):
            given = getattr(self, name)
            if given is None:
                continue
            numbers = real_array(given, f"{name} of a surface")
            if numbers is not given:
                object.__setattr__(self, name, numbers)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross product of two vectors; numpy's costs ten times more for a single one."""
    ax, ay, az = a
    bx, by, bz = b
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


class Surface(ABC):
    """A smooth surface of a body.

    A new surface says one thing, :meth:`local`. Walks then follow the torus that has
    the same curvatures; a surface that knows better overrides :meth:`walk`.

    Attributes:
        placement: of the surface's own axes in its body.
        steady: the principal curvatures never change on a walk without pivoting (plane,
            sphere, cylinder): a contact of two such surfaces is updated exactly.
        round: both curvatures are equal everywhere (plane, sphere).
    """

    placement: pin.SE3
    steady: bool = False
    round: bool = False

    @abstractmethod
    def local(self, point: np.ndarray) -> SurfacePoint:
        """The surface nearest to a point, in the surface's own axes."""

    def facing(self, normal: np.ndarray) -> np.ndarray | None:
        """The outermost point along a unit direction, in the surface's own axes.

        Its outward normal is that direction. None where the surface does not know one:
        then nearest points are searched for.
        """
        return None

    def outermost(self, normal: np.ndarray) -> np.ndarray | None:
        """The same in the axes of its body."""
        if self._place is None:
            return self.facing(normal)
        turn, origin = self._place
        point = self.facing(turn.T @ normal)
        return None if point is None else origin + turn @ point

    def at(self, point: np.ndarray) -> SurfacePoint:
        """The surface nearest to a point, in the axes of its body."""
        if self._place is None:
            return self.local(point)
        turn, origin = self._place
        local_point = self.local(turn.T @ (point - origin))
        return SurfacePoint(
            origin + turn @ local_point.point,
            turn @ local_point.normal,
            turn @ local_point.axes,
            local_point.curvatures,
            local_point.turning,
        )

    @cached_property
    def _place(self) -> tuple[np.ndarray, np.ndarray] | None:
        if self.placement.isIdentity(0.0):
            return None
        return self.placement.rotation.copy(), self.placement.translation.copy()

    def frame(self, point: np.ndarray, side: int = 1, angle: float = 0.0) -> pin.SE3:
        """The frame on the surface nearest to a point, x at an angle from e1."""
        surface_point = self.at(real_array(point, "point of a surface"))
        z = side * surface_point.normal
        e1 = surface_point.axes[:, 0]
        x = math.cos(angle) * e1 + math.sin(angle) * cross(z, e1)
        return pin.SE3(np.column_stack([x, cross(z, x), z]), surface_point.point)

    def misfit(self, frame: pin.SE3, side: int = 1) -> tuple[float, float]:
        """How far a frame is from lying on the surface: height [m] and angle [rad]."""
        point = self.at(frame.translation)
        z = side * point.normal
        tilt = float(np.linalg.norm(cross(frame.rotation[:, 2], z)))
        angle = math.atan2(tilt, float(frame.rotation[:, 2] @ z))
        return float(point.normal @ (frame.translation - point.point)), angle

    def settle(self, frame: pin.SE3, side: int = 1) -> pin.SE3:
        """The frame put back on the surface: nearest point, least rotation."""
        point = self.at(frame.translation)
        z = side * point.normal
        old = frame.rotation
        over = cross(old[:, 2], z)
        x = old[:, 0]
        twice = cross(over, x)
        x = x + twice + cross(over, twice) / (1.0 + float(old[:, 2] @ z))
        x = x - (x @ z) * z
        x = x / math.sqrt(x @ x)
        return pin.SE3(np.column_stack([x, cross(z, x), z]), point.point)

    def walk(self, frame: pin.SE3, step: np.ndarray, side: int = 1) -> pin.SE3:
        """A frame walks along e1, then along e2, without turning about its normal.

        The steps are arcs about the centres of curvature: what the article does with
        a torus. They are exact on a plane, a cylinder and a sphere. On a round surface
        every plane is principal: one arc, straight along the step.

        Args:
            frame: on the surface, in its body.
            step: (2,), along the frame's x and y [m].
            side: +1 where z points outwards, -1 inwards.
        """
        point = self.at(frame.translation)
        if self.round:
            length = math.hypot(step[0], step[1])
            direction = step / length if length else step
            return frame * arc(direction, length, side * float(point.curvatures[0]))
        flat = frame.rotation[:, :2].T @ point.axes
        along = flat[:, 0] / math.hypot(flat[0, 0], flat[1, 0])
        beside = side * np.array([-along[1], along[0]])
        for direction, curvature in zip((along, beside), point.curvatures, strict=True):
            length = float(direction @ step)
            frame = frame * arc(direction, length, side * float(curvature))
        return frame


def arc(direction: np.ndarray, length: float, curvature: float) -> pin.SE3:
    """An arc in the plane of a tangent (2,) and z, curved away from z: in the frame."""
    (x, y), turn = direction, curvature * length
    twist = [x * length, y * length, 0.0, -y * turn, x * turn, 0.0]
    return pin.exp6(real_array(twist, "arc on a surface"))


def placed(placement: pin.SE3, what: str) -> None:
    """Refuse a placement that is none."""
    if not isinstance(placement, pin.SE3):
        kind = type(placement).__name__
        raise ParameterError(f"placement of {what}: a pinocchio.SE3, not {kind}")
    if not np.isfinite(placement.homogeneous).all():
        raise ParameterError(f"placement of {what}: not finite")
    turn = placement.rotation
    if not np.allclose(turn @ turn.T, np.eye(3), atol=1e-9):
        raise ParameterError(f"placement of {what}: its rotation is no rotation")


def positive(value: float, what: str) -> None:
    """Refuse a length that is not above zero."""
    if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
        raise ParameterError(f"{what} must be a number above zero, not {value}")


def placement_field() -> pin.SE3:
    """A dataclass field for a placement: the body's own axes unless given."""
    return field(default_factory=pin.SE3.Identity)


class ContactError(HumansError, ValueError):
    """Parent of the errors of contact joints."""


class SurfaceError(ContactError):
    """A surface has no point, normal or curvature at the place it is asked for."""


class NoContactError(ContactError):
    """The surfaces do not touch.

    Attributes:
        gap: distance between the surfaces, below zero where they overlap [m].
        angle: between one normal and the opposite of the other [rad].
    """

    def __init__(self, gap: float, angle: float) -> None:
        self.gap, self.angle = gap, angle
        how = "overlap" if gap < 0 else "are apart"
        super().__init__(
            f"the surfaces do not touch: they {how} by {abs(gap):.3e} m and their "
            f"normals differ by {angle:.3e} rad; move a body, or start from points of "
            "both surfaces"
        )


class CurvatureSumError(ContactError):
    """The curvatures of both surfaces sum to zero or less: no single contact point."""

    def __init__(self, total: float, conforming: bool) -> None:
        self.total = total
        what = (
            "the surfaces conform (C1 + C2 = 0) and touch along a whole curve"
            if conforming
            else f"the surfaces cross: C1 + C2 = {total:.3e} 1/m is below zero"
        )
        super().__init__(f"{what}; give the inner surface the smaller radius")


class ForbiddenMotionError(ContactError):
    """A velocity moves a joint in a direction that it does not allow."""

    def __init__(self, motions: dict[str, float], why: str) -> None:
        self.motions = dict(motions)
        asked = ", ".join(f"{name} ({value:.3g})" for name, value in motions.items())
        super().__init__(f"forbidden: {asked}; {why}")


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
    """

    function: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    hessian: Callable[[np.ndarray], np.ndarray]
    placement: pin.SE3 = placement_field()

    def __post_init__(self) -> None:
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
    """An ellipsoid of three half lengths [m] about the origin of its placement."""

    semi_axes: tuple[float, float, float]
    placement: pin.SE3 = placement_field()

    def __post_init__(self) -> None:
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
