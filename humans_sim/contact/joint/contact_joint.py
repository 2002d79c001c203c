# SPDX-License-Identifier: Apache-2.0
"""Contact as a joint: two smooth surfaces that slide, roll and pivot on each other.

The contact frame lies on both surfaces: origin at the contact point, z out of body 1.
Only its places in the two bodies are stored and moved, so a body can neither sink in
nor lift off: contact is kept by what is stored, not by a correction afterwards.

*Joint frame*. The article's idea: the place of body 2 in body 1 is not stored; the
place of a *joint frame* in each of them is. A contact moves its frame in both bodies,
an ordinary joint in one. All joints then share velocity basis, update and forces.

*Step of order 4* on the group SE(3). Munthe-Kaas's method: the classical Runge-Kutta
scheme on the exponent. Where the twist is constant it is one exponential, exact for any
time step.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.contact.joint.nearest import (
    Nearest,
    contact_speeds,
    curvature_matrix,
    flat_directions,
    nearest,
    planewise_speeds,
)
from humans_sim.contact.joint.surfaces import (
    ForbiddenMotionError,
    NoContactError,
    Surface,
    SurfacePoint,
    cross,
    placed,
)
from humans_sim.core.arrays import finite_array
from humans_sim.core.errors import ParameterError

_OUTSIDE = 1e-9
"""Part of a velocity that may lie outside what a joint allows: round-off."""


@dataclass(frozen=True, eq=False, slots=True)
class JointState:
    """Placements of the joint frame in body 1 and 2 (the article's P1 and P2)."""

    first: pin.SE3
    second: pin.SE3

    @property
    def relative(self) -> pin.SE3:
        """Placement of body 2 in body 1 (P21)."""
        return self.first * self.second.inverse()


class Joint(ABC):
    """The relative motion that two bodies may have.

    Velocities are those of body 2 relative to body 1 at the origin of the joint frame,
    in its axes: (6,), linear [m/s] then angular [rad/s]. Wrenches are dual to them:
    force and torque of body 1 on body 2.
    """

    @abstractmethod
    def basis(self, state: JointState) -> np.ndarray:
        """Velocities that the joint allows: (6, freedoms), independent columns."""

    @abstractmethod
    def twists(
        self, state: JointState, velocity: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Velocities of the joint frame in body 1 and in body 2, in its own axes."""

    @abstractmethod
    def step(self, state: JointState, velocity: np.ndarray, dt: float) -> JointState:
        """The joint after a velocity, constant in the joint frame, for a time [s]."""

    def constraints(self, state: JointState) -> np.ndarray:
        """Forbidden motions: (6, 6 - freedoms), orthonormal, no power with basis.

        Forces of the constraints are ``constraints(state) @ multipliers``.
        """
        basis = self.basis(state)
        if not basis.shape[1]:
            return np.eye(6)
        left, _, _ = np.linalg.svd(basis)
        return np.asarray(left[:, basis.shape[1] :])

    def checked(self, state: JointState, velocity: np.ndarray) -> np.ndarray:
        """A velocity that the joint allows; a typed error where it does not."""
        twist = finite_array(velocity, (6,), "velocity of a joint")
        basis = self.basis(state)
        stray = twist - basis @ np.linalg.lstsq(basis, twist, rcond=None)[0]
        if math.sqrt(stray @ stray) > _OUTSIDE * (1.0 + math.sqrt(twist @ twist)):
            names = ("x", "y", "z", "about x", "about y", "about z")
            asked = {
                name: float(value)
                for name, value in zip(names, stray, strict=True)
                if abs(value) > _OUTSIDE
            }
            raise ForbiddenMotionError(asked, "multiply basis(state) by rates instead")
        return twist


def checked_time(dt: float) -> float:
    """A time step; backwards in time too."""
    if not math.isfinite(dt):
        raise ParameterError(f"a time step must be finite, not {dt}")
    return float(dt)


Twists = Callable[[JointState], tuple[np.ndarray, np.ndarray]]


def lie_step(twists: Twists, state: JointState, dt: float) -> JointState:
    """Both frames after a time, by their twists in their own axes."""

    def rate(one: np.ndarray, two: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        moved = JointState(state.first * pin.exp6(one), state.second * pin.exp6(two))
        a, b = twists(moved)
        return _pulled(one, a), _pulled(two, b)

    a1, a2 = twists(state)
    b1, b2 = rate(dt / 2 * a1, dt / 2 * a2)
    c1, c2 = rate(dt / 2 * b1, dt / 2 * b2)
    d1, d2 = rate(dt * c1, dt * c2)
    return JointState(
        state.first * pin.exp6(dt / 6 * (a1 + 2 * (b1 + c1) + d1)),
        state.second * pin.exp6(dt / 6 * (a2 + 2 * (b2 + c2) + d2)),
    )


def _pulled(exponent: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """The rate of an exponent whose frame moves by a twist, to order 4."""
    once = _bracket(exponent, twist)
    return twist + once / 2 + _bracket(exponent, once) / 12


def _bracket(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    va, wa, vb, wb = a[:3], a[3:], b[:3], b[3:]
    return np.concatenate([cross(wa, vb) + cross(va, wb), cross(wa, wb)])


UPDATES = ("lie", "torus", "article")
AXES = ("first", "second", "first_lines", "second_lines")
_MOTIONS = (
    "sliding along x",
    "sliding along y",
    "lifting along z",
    "rolling about x",
    "rolling about y",
    "pivoting about z",
)
_STRAY = 1e-12


def contact_velocity(
    sliding: Sequence[float] = (0.0, 0.0),
    rolling: Sequence[float] = (0.0, 0.0),
    pivoting: float = 0.0,
) -> np.ndarray:
    """Velocity of body 2 relative to body 1 in the contact frame (6,)."""
    return np.array([*sliding, 0.0, *rolling, pivoting], dtype=float)


@dataclass(frozen=True, eq=False)
class ContactJoint(Joint):
    """Two surfaces in contact.

    Attributes:
        first: surface of body 1, in its axes.
        second: surface of body 2, in its axes.
        sliding, rolling, pivoting: whether the bodies may do so on each other.
        axes: how x and y of the contact frame go along. ``first`` and ``second``: they
            do not turn about the normal in body 1 (or 2), so a constant velocity of
            rolling on a plane is a straight line. ``first_lines`` and
            ``second_lines``: they follow the lines of curvature of that surface.
        update: ``lie``, of order 4 and exact where the curvatures stay the same in the
            contact frame; ``torus``, arcs in the principal planes one after the other;
            ``article``, the same with the speeds of each plane on its own.
        correct: put the frame back on both surfaces after each step.
    """

    first: Surface
    second: Surface
    sliding: bool = True
    rolling: bool = True
    pivoting: bool = True
    axes: str = "first"
    update: str = "lie"
    correct: bool = True

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            if not isinstance(getattr(self, name), Surface):
                kind = type(getattr(self, name)).__name__
                raise ParameterError(f"{name} must be a Surface, not a {kind}")
        if self.axes not in AXES:
            raise ParameterError(f"axes must be one of {AXES}, not '{self.axes}'")
        if self.update not in UPDATES:
            raise ParameterError(f"update must be one of {UPDATES}, not {self.update}")

    def start(
        self,
        first: Sequence[float] | np.ndarray,
        second: Sequence[float] | np.ndarray,
        angle: float = 0.0,
    ) -> JointState:
        """The bodies put together at a point of each.

        Args:
            first: a point on the surface of body 1, or near it (3,) [m].
            second: the same of body 2.
            angle: from e1 of surface 1 to e1 of surface 2, about z [rad]; the article's
                beta.
        """
        if not math.isfinite(angle):
            raise ParameterError(f"an angle must be finite, not {angle}")
        turn = 0.0 if self.axes != "second_lines" else angle
        one = self.first.frame(_point(first), 1, turn)
        two = self.second.frame(_point(second), -1, turn - angle)
        return self._opened(JointState(one, two))

    def join(
        self,
        relative: pin.SE3,
        near: Sequence[float] | np.ndarray | None = None,
        tolerance: float = 1e-9,
    ) -> JointState:
        """The contact of bodies that are in place already.

        Args:
            relative: placement of body 2 in body 1.
            near: where to look, in body 1 (3,) [m]; where body 2's surface has its
                origin unless given.
            tolerance: greatest gap [m] and angle [rad] that counts as contact.

        Raises:
            NoContactError: the surfaces do not touch; it says gap and angle.
        """
        state = self.nearest(relative, near)
        if abs(state.gap) > tolerance or state.angle > tolerance:
            raise NoContactError(state.gap, state.angle)
        one = state.first
        if self.axes == "second_lines":
            e1 = self.second.at(state.second.translation).axes[:, 0]
            x, y, _ = state.second.rotation.T @ e1
            turn = pin.SE3(pin.utils.rotate("z", math.atan2(y, x)), np.zeros(3))
            one = one * turn
        two = self.second.settle(relative.actInv(one), -1)
        return self._opened(JointState(one, two))

    def nearest(
        self, relative: pin.SE3, near: Sequence[float] | np.ndarray | None = None
    ) -> Nearest:
        """The nearest points of both surfaces, apart or overlapping."""
        placed(relative, "body 2 in body 1")
        where = relative.act(self.second.placement.translation)
        where = where if near is None else _point(near)
        return nearest(self.first, self.second, relative, where)

    def misfit(self, state: JointState) -> tuple[float, float]:
        """Greatest distance [m] and angle [rad] of the contact frame from a surface."""
        (g1, a1) = self.first.misfit(state.first, 1)
        (g2, a2) = self.second.misfit(state.second, -1)
        return max(abs(g1), abs(g2)), max(a1, a2)

    def settle(self, state: JointState) -> JointState:
        """The contact frame put back on both surfaces."""
        return JointState(
            self.first.settle(state.first, 1), self.second.settle(state.second, -1)
        )

    def basis(self, state: JointState) -> np.ndarray:
        """Sliding x, y, rolling x, y, pivoting, as far as they are allowed.

        A line of contact can only roll about itself, a plane of contact not at all.
        """
        columns = [np.eye(6)[:, :2]] if self.sliding else []
        if self.rolling:
            flat = flat_directions(*self._curvatures(state))
            turns = np.eye(6)[:, 3:5]
            directions = {0: np.eye(2), 1: flat, 2: np.zeros((2, 0))}[flat.shape[1]]
            columns.append(turns @ directions)
        if self.pivoting:
            columns.append(np.eye(6)[:, 5:])
        return np.hstack([np.zeros((6, 0)), *columns])

    def checked(self, state: JointState, velocity: np.ndarray) -> np.ndarray:
        """A velocity that the joint allows; a typed error where it does not."""
        twist = finite_array(velocity, (6,), "velocity of a joint")
        slides, rolls, pivots = self.sliding, self.rolling, self.pivoting
        allowed = (slides, slides, False, rolls, rolls, pivots)
        least = _STRAY * float(np.abs(twist).max())
        asked = {
            name: float(value)
            for name, value, may in zip(_MOTIONS, twist, allowed, strict=True)
            if not may and abs(value) > least
        }
        if asked:
            raise ForbiddenMotionError(asked, "the contact joint does not allow it")
        return twist

    def twists(
        self, state: JointState, velocity: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Velocities of the contact frame in body 1 and in body 2, in its own axes."""
        return self._twists(state, self.checked(state, velocity))

    def step(self, state: JointState, velocity: np.ndarray, dt: float) -> JointState:
        """The contact after a time [s] of a velocity constant in the contact frame."""
        twist, time = self.checked(state, velocity), checked_time(dt)
        if self.update != "lie":
            moved = self._torus(state, twist, time)
        elif self._steady(float(twist[5])):
            one, two = self._twists(state, twist)
            moved = JointState(
                state.first * pin.exp6(one * time), state.second * pin.exp6(two * time)
            )
        else:
            moved = lie_step(lambda at: self._twists(at, twist), state, time)
        return self.settle(moved) if self.correct else moved

    def _steady(self, pivoting: float) -> bool:
        # Where both curvature matrices stay the same in the contact frame, so do the
        # twists, and one exponential is the whole motion.
        if not (self.first.steady and self.second.steady):
            return False
        if self.axes == "first":
            return pivoting == 0.0 or self.second.round
        return self.axes == "second" and (pivoting == 0.0 or self.first.round)

    def _twists(
        self, state: JointState, velocity: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        one = self.first.at(state.first.translation)
        two = self.second.at(state.second.translation)
        k1 = curvature_matrix(one, state.first)
        k2 = curvature_matrix(two, state.second)
        u1, u2 = contact_speeds(k1, k2, velocity[:2], velocity[3:5])
        t1, t2 = self._spins(state, one, two, u1, u2, float(velocity[5]))
        w1, w2 = k1 @ u1, k2 @ u2
        return (
            np.array([u1[0], u1[1], 0.0, -w1[1], w1[0], t1]),
            np.array([u2[0], u2[1], 0.0, w2[1], -w2[0], t2]),
        )

    def _spins(
        self,
        state: JointState,
        one: SurfacePoint,
        two: SurfacePoint,
        u1: np.ndarray,
        u2: np.ndarray,
        pivoting: float,
    ) -> tuple[float, float]:
        """Turns of the contact frame about z in body 1 and in body 2 [rad/s]."""
        if self.axes == "first":
            return 0.0, -pivoting
        if self.axes == "second":
            return pivoting, 0.0
        if self.axes == "first_lines":
            spin = _turning(one, state.first, u1, "first")
            return spin, spin - pivoting
        spin = -_turning(two, state.second, u2, "second")
        return spin + pivoting, spin

    def _torus(self, state: JointState, velocity: np.ndarray, dt: float) -> JointState:
        """Pivot, then the principal plane, then the secondary plane of each surface."""
        pivot = float(velocity[5]) * dt
        first, second = state.first, state.second
        if self.axes.startswith("first"):
            second = _pivoted(second, -pivot)
        else:
            first = _pivoted(first, pivot)
        one, two = self.first.at(first.translation), self.second.at(second.translation)
        sliding, rolling = velocity[:2], velocity[3:5]
        k1, k2 = curvature_matrix(one, first), curvature_matrix(two, second)
        if self.update == "torus":
            u1, u2 = contact_speeds(k1, k2, sliding, rolling)
        else:
            directions = [
                frame.rotation[:, :2].T @ point.axes
                for frame, point in ((first, one), (second, two))
            ]
            u1, u2 = planewise_speeds((k1, k2), directions, sliding, rolling)
        turned, _ = self._spins(JointState(first, second), one, two, u1, u2, 0.0)
        first = self.first.walk(first, u1 * dt, 1)
        second = self.second.walk(second, u2 * dt, -1)
        return JointState(_pivoted(first, turned * dt), _pivoted(second, turned * dt))

    def _curvatures(self, state: JointState) -> tuple[np.ndarray, np.ndarray]:
        return (
            curvature_matrix(self.first.at(state.first.translation), state.first),
            curvature_matrix(self.second.at(state.second.translation), state.second),
        )

    def _opened(self, state: JointState) -> JointState:
        # Surfaces that conform or cross are refused before any motion.
        flat_directions(*self._curvatures(state))
        return state


def _turning(
    point: SurfacePoint, frame: pin.SE3, speed: np.ndarray, which: str
) -> float:
    """Turn of the lines of curvature about the outward normal [rad/s]."""
    if point.turning is None:
        raise ParameterError(
            f"axes along the lines of the {which} surface: it does not say how they "
            "turn; use axes='first' or 'second'"
        )
    along = point.axes.T @ (frame.rotation[:, :2] @ speed)
    return float(along @ point.turning)


def _pivoted(frame: pin.SE3, angle: float) -> pin.SE3:
    if angle == 0.0:
        return frame
    return frame * pin.SE3(pin.utils.rotate("z", angle), np.zeros(3))


def _point(values: Sequence[float] | np.ndarray) -> np.ndarray:
    return finite_array(values, (3,), "point of a surface")
