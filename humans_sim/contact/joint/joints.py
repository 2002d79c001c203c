# SPDX-License-Identifier: Apache-2.0
"""A joint between two bodies, through a frame between them.

The article's idea: the place of body 2 in body 1 is not stored; the place of a *joint
frame* in each of them is. A contact moves its frame in both bodies, an ordinary joint
in one. All joints then share velocity basis, update and forces.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.contact.joint.contact_errors import ForbiddenMotionError
from humans_sim.core.arrays import finite_array
from humans_sim.core.errors import ParameterError

_STRAY = 1e-9
"""Part of a velocity that may lie outside what a joint allows: round-off."""


@dataclass(frozen=True, eq=False, slots=True)
class JointState:
    """Where the joint frame is.

    Attributes:
        first: placement of the joint frame in body 1 (the article's P1).
        second: placement of the joint frame in body 2 (P2).
    """

    first: pin.SE3
    second: pin.SE3

    @property
    def relative(self) -> pin.SE3:
        """Placement of body 2 in body 1 (P21)."""
        return self.first * self.second.inverse()


class Joint(ABC):
    """What two bodies may do relative to each other.

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
        """What the joint forbids: (6, 6 - freedoms), orthonormal, no power with basis.

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
        if math.sqrt(stray @ stray) > _STRAY * (1.0 + math.sqrt(twist @ twist)):
            names = ("x", "y", "z", "about x", "about y", "about z")
            asked = {
                name: float(value)
                for name, value in zip(names, stray, strict=True)
                if abs(value) > _STRAY
            }
            raise ForbiddenMotionError(asked, "multiply basis(state) by rates instead")
        return twist


def checked_time(dt: float) -> float:
    """A time step; backwards in time too."""
    if not math.isfinite(dt):
        raise ParameterError(f"a time step must be finite, not {dt}")
    return float(dt)
