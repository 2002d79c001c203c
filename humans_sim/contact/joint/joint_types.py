# SPDX-License-Identifier: Apache-2.0
"""Ordinary joints in the form of the contact joint, and forces of joints.

Axes are fixed in the joint frame. Forces on the bodies follow from virtual power. The
power of a wrench in the joint frame is its product with the relative velocity there.
Whatever the bodies do, their own wrenches and the forces on the coordinates of a
mechanism must give the same power: that defines them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from humans_sim.contact.joint.contact_joint import Joint, JointState, checked_time
from humans_sim.contact.joint.surfaces import placed, placement_field
from humans_sim.core.arrays import finite_array, real_array
from humans_sim.core.errors import ParameterError


@dataclass(frozen=True, eq=False)
class AxisJoint(Joint):
    """A joint whose allowed velocities never change in its frame.

    The frame rests in body 1 and moves in body 2 only. Coordinates q, one a freedom,
    place it by the exponential of ``axes @ q``.

    Attributes:
        axes: (6, freedoms), allowed velocities in the joint frame.
        first: placement of the joint frame in body 1.
        second: placement of the joint frame in body 2 where q is zero.
    """

    axes: np.ndarray
    first: pin.SE3 = placement_field()
    second: pin.SE3 = field(default_factory=pin.SE3.Identity)

    def __post_init__(self) -> None:
        axes = real_array(self.axes, "axes of a joint").copy()
        if axes.ndim != 2 or axes.shape[0] != 6 or not np.isfinite(axes).all():
            raise ParameterError("axes of a joint: a finite array (6, freedoms)")
        if axes.shape[1] and np.linalg.matrix_rank(axes) < axes.shape[1]:
            raise ParameterError("axes of a joint: they depend on each other")
        axes.setflags(write=False)
        object.__setattr__(self, "axes", axes)
        placed(self.first, "joint in body 1")
        placed(self.second, "joint in body 2")

    def basis(self, state: JointState) -> np.ndarray:
        """The axes."""
        return self.axes

    def twists(
        self, state: JointState, velocity: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """At rest in body 1."""
        return np.zeros(6), -self.checked(state, velocity)

    def step(self, state: JointState, velocity: np.ndarray, dt: float) -> JointState:
        """Exact for any time step."""
        _, moved = self.twists(state, velocity)
        frame = state.second * pin.exp6(moved * checked_time(dt))
        # One Newton step to the nearest rotation: round-off must not grow over steps.
        turn = frame.rotation
        turn = turn @ (1.5 * np.eye(3) - 0.5 * turn.T @ turn)
        return JointState(state.first, pin.SE3(turn, frame.translation))

    def place(self, q: np.ndarray) -> JointState:
        """The joint at coordinates (freedoms,) [rad or m]."""
        coordinates = finite_array(q, (self.axes.shape[1],), "coordinates of a joint")
        return JointState(self.first, self.second * pin.exp6(-self.axes @ coordinates))

    def coordinates(self, state: JointState) -> np.ndarray:
        """The coordinates of a placed joint; angles within a turn."""
        moved = -pin.log6(self.second.actInv(state.second)).vector
        return np.asarray(np.linalg.lstsq(self.axes, moved, rcond=None)[0])


def fixed(first: pin.SE3 | None = None, second: pin.SE3 | None = None) -> AxisJoint:
    """No freedom."""
    return _joint(np.zeros((6, 0)), first, second)


def revolute(first: pin.SE3 | None = None, second: pin.SE3 | None = None) -> AxisJoint:
    """A turn about z of the joint frame."""
    return _joint(_columns(5), first, second)


def prismatic(first: pin.SE3 | None = None, second: pin.SE3 | None = None) -> AxisJoint:
    """A slide along z of the joint frame."""
    return _joint(_columns(2), first, second)


def screw(
    pitch: float, first: pin.SE3 | None = None, second: pin.SE3 | None = None
) -> AxisJoint:
    """A turn about z that advances by ``pitch`` [m] a turn; below zero: left-handed."""
    if not math.isfinite(pitch):
        raise ParameterError(f"pitch of a screw must be finite, not {pitch}")
    axes = _columns(5)
    axes[2, 0] = pitch / (2 * math.pi)
    return _joint(axes, first, second)


def cylindrical(
    first: pin.SE3 | None = None, second: pin.SE3 | None = None
) -> AxisJoint:
    """A slide along z and a turn about it."""
    return _joint(_columns(2, 5), first, second)


def ball(first: pin.SE3 | None = None, second: pin.SE3 | None = None) -> AxisJoint:
    """Any turn about the origin of the joint frame; q is a rotation vector."""
    return _joint(_columns(3, 4, 5), first, second)


def _columns(*rows: int) -> np.ndarray:
    return np.eye(6)[:, list(rows)]


def _joint(
    axes: np.ndarray, first: pin.SE3 | None, second: pin.SE3 | None
) -> AxisJoint:
    one = pin.SE3.Identity() if first is None else first
    return AxisJoint(axes, one, pin.SE3.Identity() if second is None else second)


def relative_velocity(
    state: JointState, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Velocity of body 2 relative to body 1 in the joint frame (6,), from their own."""
    one = state.first.actInv(pin.Motion(_six(first, "velocity of body 1")))
    two = state.second.actInv(pin.Motion(_six(second, "velocity of body 2")))
    return np.asarray((two - one).vector)


def body_wrenches(
    state: JointState, wrench: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The wrench as it acts on both bodies, each at its origin, in its axes."""
    force = pin.Force(_six(wrench, "wrench"))
    return -state.first.act(force).vector, state.second.act(force).vector


def relative_jacobian(
    state: JointState, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Relative velocity in the joint frame from Jacobians of both bodies (6, n)."""
    one, two = real_array(first, "Jacobian"), real_array(second, "Jacobian")
    if one.shape != two.shape or one.ndim != 2 or one.shape[0] != 6:
        raise ParameterError(
            f"Jacobians are (6, n), of one n for both bodies, not {one.shape} and "
            f"{two.shape}"
        )
    into_second = state.second.toActionMatrixInverse() @ two
    return np.asarray(into_second - state.first.toActionMatrixInverse() @ one)


def generalized_force(
    state: JointState, wrench: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Force on the coordinates of a mechanism (n,); Jacobians as for the velocity."""
    return relative_jacobian(state, first, second).T @ _six(wrench, "wrench")


def _six(values: np.ndarray, what: str) -> np.ndarray:
    return finite_array(values, (6,), what)
