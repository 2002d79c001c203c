# SPDX-License-Identifier: Apache-2.0
"""Loads on bodies beside contact: gravity, wind, springs, forces at points.

A load is called with the time and the motion of all bodies, and adds its forces at
their centres of mass and its torques about them, in the world's frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from humans_sim.bodies.mass_properties import BodyError
from humans_sim.bodies.motion import Forces
from humans_sim.bodies.rigid_bodies import BodyState, RigidBodies
from humans_sim.core.arrays import finite_array
from humans_sim.core.constants import DOWNWARD


class Moving(NamedTuple):
    """Bodies in motion, all in the world's frame.

    Attributes:
        x: centres of mass (n, 3) [m].
        frames: rotations (n, 3, 3).
        v: velocities of the centres (n, 3) [m/s].
        w: spins (n, 3) [rad/s].
    """

    x: np.ndarray
    frames: np.ndarray
    v: np.ndarray
    w: np.ndarray

    def place(self, body: int, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Arm and velocity of a point of a body, given from its centre of mass."""
        arm = self.frames[body] @ point
        return arm, self.v[body] + np.cross(self.w[body], arm)


class Load(Protocol):
    """Something that pushes bodies."""

    def add(
        self, t: float, moving: Moving, force: np.ndarray, torque: np.ndarray
    ) -> None:
        """Add forces and torques (n, 3) each."""


@dataclass(frozen=True)
class Gravity:
    """The weight of bodies; for free ones (a scene has its own).

    Attributes:
        masses: of the bodies (n,) [kg].
        acceleration: [m/s^2].
    """

    masses: np.ndarray
    acceleration: tuple[float, float, float] = DOWNWARD

    def add(
        self, t: float, moving: Moving, force: np.ndarray, torque: np.ndarray
    ) -> None:
        """Pull."""
        force += np.outer(self.masses, self.acceleration)


@dataclass(frozen=True)
class Wind:
    """Air that moves: drag with the square of the speed through it, at the centres.

    Attributes:
        areas: drag coefficient times area of each body (n,) [m^2].
        velocity: of the air [m/s].
        density: [kg/m^3].
    """

    areas: Sequence[float]
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    density: float = 1.2

    def __post_init__(self) -> None:
        if np.any(np.asarray(self.areas) < 0) or not self.density >= 0:
            raise BodyError("areas and density of a wind must not be negative")

    def add(
        self, t: float, moving: Moving, force: np.ndarray, torque: np.ndarray
    ) -> None:
        """Blow."""
        through = moving.v - np.asarray(self.velocity)
        speed = np.linalg.norm(through, axis=1)
        drag = 0.5 * self.density * np.asarray(self.areas) * speed
        force -= drag[:, None] * through


@dataclass(frozen=True)
class Spring:
    """A spring with damping between points of two bodies, or of one and the world.

    Attributes:
        body: its number.
        point: of the body, from its centre of mass (3,) [m].
        anchor: point of the other body, or of the world (3,) [m].
        other: number of the other body; None: the world.
        stiffness: [N/m].
        damping: along the spring [N s/m].
        length: at rest [m].
    """

    body: int
    point: Sequence[float]
    anchor: Sequence[float]
    stiffness: float
    other: int | None = None
    damping: float = 0.0
    length: float = 0.0
    _points: tuple[np.ndarray, np.ndarray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if min(self.stiffness, self.damping, self.length) < 0:
            raise BodyError("stiffness, damping and length must not be negative")
        if self.body == self.other:
            raise BodyError(f"the spring joins body {self.body} to itself")
        points = tuple(
            finite_array(point, (3,), "point of a spring", BodyError).copy()
            for point in (self.point, self.anchor)
        )
        object.__setattr__(self, "_points", points)

    def add(
        self, t: float, moving: Moving, force: np.ndarray, torque: np.ndarray
    ) -> None:
        """Pull both ends."""
        arm, speed = moving.place(self.body, self._points[0])
        end, end_speed = self._points[1], np.zeros(3)
        other_arm = np.zeros(3)
        if self.other is not None:
            other_arm, end_speed = moving.place(self.other, self._points[1])
            end = moving.x[self.other] + other_arm
        span = moving.x[self.body] + arm - end
        length = float(np.linalg.norm(span))
        if length == 0.0:
            return
        along = span / length
        tension = self.stiffness * (length - self.length)
        tension += self.damping * float(along @ (speed - end_speed))
        pull = -tension * along
        force[self.body] += pull
        torque[self.body] += np.cross(arm, pull)
        if self.other is not None:
            force[self.other] -= pull
            torque[self.other] -= np.cross(other_arm, pull)

    def energy(self, moving: Moving) -> float:
        """Energy that is stored in it [J]."""
        arm, _ = moving.place(self.body, self._points[0])
        end = self._points[1]
        if self.other is not None:
            end = moving.x[self.other] + moving.place(self.other, self._points[1])[0]
        length = float(np.linalg.norm(moving.x[self.body] + arm - end))
        return 0.5 * self.stiffness * (length - self.length) ** 2


@dataclass(frozen=True)
class PointForce:
    """A force of one's own at a point of a body.

    Attributes:
        body: its number.
        point: from its centre of mass (3,) [m].
        force: over time, in the world's frame (3,) [N].
    """

    body: int
    point: Sequence[float]
    force: Callable[[float], Sequence[float]]

    def add(
        self, t: float, moving: Moving, force: np.ndarray, torque: np.ndarray
    ) -> None:
        """Push."""
        push = np.asarray(self.force(t), dtype=float)
        arm, _ = moving.place(self.body, np.asarray(self.point, dtype=float))
        force[self.body] += push
        torque[self.body] += np.cross(arm, push)


def forces_of(bodies: RigidBodies, loads: Sequence[Load]) -> Forces:
    """Loads as :func:`~humans_sim.bodies.motion.move` takes them."""

    def forces(t: float, state: BodyState) -> tuple[np.ndarray, np.ndarray]:
        moving = Moving(state.x, state.R, bodies.velocities(state), bodies.spins(state))
        force, torque = np.zeros_like(state.P), np.zeros_like(state.L)
        for load in loads:
            load.add(t, moving, force, torque)
        return force, torque

    return forces
