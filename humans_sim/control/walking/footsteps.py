# SPDX-License-Identifier: Apache-2.0
"""Where feet go: from a velocity to the next footprint, within what legs reach."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.control.walking.settings import SLIP, WalkSettings


class Side(IntEnum):
    """A foot; the value is the sign of its y in the body."""

    LEFT = 1
    RIGHT = -1

    @property
    def other(self) -> Side:
        """The other foot."""
        return Side(-self)


class Velocity(NamedTuple):
    """Velocity of the body over the ground, in its own axes.

    Attributes:
        vx: forwards [m/s].
        vy: to the left [m/s].
        wz: turn to the left [rad/s].
    """

    vx: float = 0.0
    vy: float = 0.0
    wz: float = 0.0


class Footprint(NamedTuple):
    """A sole flat on the ground.

    Attributes:
        x: position of the sole frame [m].
        y: position [m].
        yaw: heading, not wrapped [rad].
        z: height of the ground there [m].
    """

    x: float
    y: float
    yaw: float
    z: float = 0.0

    def moved(self, dx: float, dy: float, turn: float = 0.0) -> Footprint:
        """A place given in this one's axes."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return Footprint(
            self.x + c * dx - s * dy,
            self.y + s * dx + c * dy,
            self.yaw + turn,
            self.z,
        )

    def turned(self, turn: float, about: np.ndarray) -> Footprint:
        """Turned about a point of the sole (2,) [m]."""
        x, y = self.points(about).tolist()
        return Footprint(x, y, self.yaw + turn, self.z).moved(
            -float(about[0]), -float(about[1])
        )

    def points(self, local: np.ndarray) -> np.ndarray:
        """Points of the sole (n, 2) in the world [m]."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return local @ np.array([[c, s], [-s, c]]) + (self.x, self.y)

    def pose(self, lift: float = 0.0) -> pin.SE3:
        """Pose of the sole frame, lifted above the ground [m]."""
        position = np.array([self.x, self.y, self.z + lift])
        return pin.SE3(pin.utils.rotate("z", float(self.yaw)), position)


ORIGIN = Footprint(0.0, 0.0, 0.0)


class FootstepPlanner:
    """The next footprint of a walk.

    A foot steps to the side of the body, which is where the other foot says it is. A
    step forwards moves the body by one step; steps sideways are made by the foot on
    their side alone, twice as far, so that feet never come close to each other.

    Hips with a yaw joint turn in the same way. Without one, the feet stay parallel to
    the body: a foot lands where it is beside the other one when the body is half way
    through its turn, and then the body turns on both feet, which pivot on the ground.
    """

    def __init__(self, settings: WalkSettings) -> None:
        """A planner for one biped."""
        self._settings = settings
        self._pivots = settings.turns == SLIP

    def period(self, velocity: Velocity) -> float:
        """Time that a step takes [s]."""
        extra = self._settings.pivot_duration if self._pivots and velocity.wz else 0.0
        return self._settings.step_duration + extra

    def pivot(self, velocity: Velocity) -> float:
        """How far both feet pivot after a step [rad].

        The body turns by a share of it: soles slip, legs and servos give way.
        """
        if not self._pivots:
            return 0.0
        return velocity.wz * self.period(velocity) / self._settings.pivot_share

    def noticed(self, velocity: Velocity) -> Velocity:
        """A command without what is in the dead zone.

        A stick that is let go is never quite at its middle.
        """
        reach, zone = self._reach(velocity), self._settings.dead_zone
        parts = zip(velocity, reach, strict=True)
        return Velocity(*(v if abs(v) > zone * most else 0.0 for v, most in parts))

    def limited(self, velocity: Velocity) -> Velocity:
        """The velocity that the legs can follow, in the same direction.

        Forward, sideways and turning parts share the reach of a step.
        """
        reach = self._reach(velocity)
        kept = [v if most > 0 else 0.0 for v, most in zip(velocity, reach, strict=True)]
        ahead, aside, turning = (
            abs(v) / most if most > 0 else 0.0
            for v, most in zip(kept, reach, strict=True)
        )
        if self._pivots:
            # A foot that lands half a turn ahead steps so much farther.
            size = math.hypot(ahead + turning, aside)
        else:
            size = math.hypot(ahead, aside, turning)
        return Velocity(*(v / max(size, 1.0) for v in kept))

    def turn_room(self, velocity: Velocity) -> float:
        """Largest turn beside the other parts of a velocity, by pivots [rad/s].

        Args:
            velocity: within :meth:`limited`, with any turn but none.
        """
        reach = self._reach(velocity)
        ahead, aside = (
            abs(v) / most if most > 0 else 0.0
            for v, most in zip(velocity[:2], reach[:2], strict=True)
        )
        left = math.sqrt(max(1.0 - aside**2, 0.0)) - ahead
        return max(left, 0.0) * reach[2]

    def _reach(self, velocity: Velocity) -> tuple[float, float, float]:
        """Largest parts of a velocity, each alone [m/s, m/s, rad/s]."""
        limits, period = self._settings, self.period(velocity)
        most = limits.max_forward if velocity.vx > 0 else limits.max_backward
        return (
            most / period,
            0.5 * limits.sideways_share * limits.max_sideways / period,
            (1.0 if self._pivots else 0.5) * limits.max_turn / period,
        )

    def next(self, support: Footprint, side: Side, velocity: Velocity) -> Footprint:
        """Where the foot of one side lands beside the foot that stands.

        Args:
            support: the foot that stands.
            side: of the foot that steps.
            velocity: of the body, within :meth:`limited`; zero brings the feet side by
                side.
        """
        half = 0.5 * side * self._settings.stance_width
        period, pivot = self.period(velocity), self.pivot(velocity)
        sideways = max(0.0, 2.0 * side * velocity.vy * period) * side
        sideways /= self._settings.sideways_share
        turn = 0.0
        if not self._pivots:
            turn = max(0.0, 2.0 * side * velocity.wz * period) * side
        body = support.moved(0.0, 0.0, 0.5 * pivot).moved(0.0, half)
        landed = body.moved(velocity.vx * period, sideways, turn).moved(0.0, half)
        return landed.moved(0.0, 0.0, -0.5 * pivot)
