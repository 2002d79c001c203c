# SPDX-License-Identifier: Apache-2.0
"""Footstep planning: from a velocity to the next footprint, within reach.

Also: support polygons (convex hulls of soles, half-planes with a margin), and the swing
foot, polynomials of time at rest at both ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.sole_legs import SLIP
from humans_sim.control.walking.whole_body_ik import FootMotion
from humans_sim.core.convex_polygon import convex_hull, inside
from humans_sim.core.errors import ParameterError
from humans_sim.core.settings import SettingError
from humans_sim.models import Model
from humans_sim.models.legs import corner_places, sole_named


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
    """A sole flat on the ground: its frame, its heading, not wrapped, and its height.

    x, y [m], yaw [rad], z [m].
    """

    x: float
    y: float
    yaw: float
    z: float = 0.0

    def moved(self, dx: float, dy: float, turn: float = 0.0) -> Footprint:
        """A place given in this one's axes."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        x, y = self.x + c * dx - s * dy, self.y + s * dx + c * dy
        return Footprint(x, y, self.yaw + turn, self.z)

    def seen(self, x: float, y: float) -> tuple[float, float]:
        """How far a point of the ground lies before it, and to its left [m]."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        dx, dy = x - self.x, y - self.y
        return c * dx + s * dy, c * dy - s * dx

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
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        rotation = np.array(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)))
        return pin.SE3(rotation, np.array((self.x, self.y, self.z + lift)))


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
        """A command without its dead zone: no stick is let go quite at its middle."""
        reach, zone = self._reach(velocity), self._settings.dead_zone
        parts = zip(velocity, reach, strict=True)
        return Velocity(*(v if abs(v) > zone * most else 0.0 for v, most in parts))

    def limited(self, velocity: Velocity) -> Velocity:
        """The velocity that the legs can follow, in the same direction.

        Forward, sideways and turning parts share the reach of a step.
        """
        reach = self._reach(velocity)
        kept = [v if most > 0 else 0.0 for v, most in zip(velocity, reach, strict=True)]
        ahead, aside, turning = _shares(kept, reach)
        if self._pivots:
            # A foot that lands half a turn ahead steps so much farther.
            size = math.hypot(ahead + turning, aside)
        else:
            size = math.hypot(ahead, aside, turning)
        return Velocity(*(v / max(size, 1.0) for v in kept))

    def turn_room(self, velocity: Velocity) -> float:
        """Largest turn beside the other parts of a velocity, by pivots [rad/s].

        The velocity is within :meth:`limited`, with any turn but none.
        """
        reach = self._reach(velocity)
        ahead, aside, _ = _shares(velocity, reach)
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

        The velocity is within :meth:`limited`; zero brings the feet side by side.
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


@dataclass(frozen=True)
class SolePair:
    """The soles of a biped.

    Attributes:
        corners: of each sole in its frame, counter-clockwise (n, 2) [m].
        preferred: place of the zero-moment point in each sole's frame (2,) [m].
        margin: that the zero-moment point keeps to the edges [m].
    """

    corners: Mapping[Side, np.ndarray]
    preferred: Mapping[Side, np.ndarray]
    margin: float

    @classmethod
    def of_model(cls, model: Model, settings: WalkSettings) -> SolePair:
        """The soles of the settings; SettingError: no room is left for the ZMP."""
        names = {Side.LEFT: settings.left, Side.RIGHT: settings.right}
        pair = cls(
            {side: _corners(model, name) for side, name in names.items()},
            {
                side: np.array([settings.zmp_forward, -side * settings.zmp_inward])
                for side in Side
            },
            settings.zmp_margin,
        )
        for side, corners in pair.corners.items():
            room = inside(corners, pair.margin).depth(pair.preferred[side])
            if room <= 0:
                raise SettingError(
                    "zmp_margin",
                    f"is {-room:g} m too much at the preferred place in {names[side]}",
                )
        return pair

    @property
    def edges(self) -> int:
        """Largest number of edges of a support polygon."""
        return sum(len(corners) for corners in self.corners.values())

    def polygon(
        self, feet: Mapping[Side, Footprint], standing: Iterable[Side]
    ) -> np.ndarray:
        """Corners of the support, counter-clockwise (n, 2) [m]."""
        return convex_hull(
            np.vstack([feet[side].points(self.corners[side]) for side in standing])
        )

    def pivot(self, side: Side, turn: float) -> np.ndarray:
        """The point of a sole on which it turns: the middle of its toes or its heel.

        The foot on the side of the turn stands on its toes, the other one on its heel:
        so far from each other, the feet do not slide instead of turning.
        """
        corners = self.corners[side]
        x = corners[:, 0].max() if side * turn > 0 else corners[:, 0].min()
        return np.array([x, corners[:, 1].mean()])

    def turned(
        self, feet: Mapping[Side, Footprint], turn: float
    ) -> dict[Side, Footprint]:
        """The feet, each turned about its pivot."""
        if turn == 0.0:
            return dict(feet)
        return {
            side: foot.turned(turn, self.pivot(side, turn))
            for side, foot in feet.items()
        }

    def place(self, feet: Mapping[Side, Footprint], side: Side) -> np.ndarray:
        """Preferred zero-moment point on one foot, in the world (2,) [m]."""
        return feet[side].points(self.preferred[side])

    def middle(self, feet: Mapping[Side, Footprint]) -> np.ndarray:
        """Preferred zero-moment point on both feet, in the world (2,) [m]."""
        return 0.5 * (self.place(feet, Side.LEFT) + self.place(feet, Side.RIGHT))


def _shares(velocity: Sequence[float], reach: Sequence[float]) -> list[float]:
    """Parts of a velocity over the largest ones; none of what cannot be."""
    pairs = zip(velocity, reach, strict=True)
    return [abs(v) / most if most > 0 else 0.0 for v, most in pairs]


def _corners(model: Model, name: str) -> np.ndarray:
    """Corners of a sole in its own frame."""
    # Margins of a walk are given to the outline, on balls, too.
    corners = convex_hull(corner_places(model, sole_named(model, name))[:, :2])
    if len(corners) < 3:
        raise ParameterError(f"the contact points of {name} span no area")
    return corners


_EDGE, _RISE = 0.15, 0.3
"""Shares of a swing over the edge of a stair: in which the foot does not go ahead yet,
and in which it goes from one level to the other."""


def resting(place: Footprint) -> FootMotion:
    """A foot on the ground."""
    return FootMotion(place.pose(), np.zeros(6), place.yaw)


def minimum_jerk(s: float) -> tuple[float, float]:
    """From 0 to 1, at rest at both ends: value and slope for s in 0..1."""
    return s**3 * (10.0 + s * (6.0 * s - 15.0)), 30.0 * (s * (1.0 - s)) ** 2


def bump(s: float) -> tuple[float, float]:
    """From 0 over 1 half way to 0, at rest at both ends: value and slope."""
    product = s * (1.0 - s)
    return 64.0 * product**3, 192.0 * product**2 * (1.0 - 2.0 * s)


def swing(
    start: Footprint, end: Footprint, lift: float, duration: float, elapsed: float
) -> FootMotion:
    """A foot in the air, between two footprints.

    Up a stair the foot rises early and goes ahead late, so that its toes clear the
    edge; down a stair all is the other way round.

    The lift half way is above the higher one of both footprints [m]; times are the
    duration, and what has elapsed since it left [s].
    """
    s = min(max(elapsed / duration, 0.0), 1.0)
    rise, ahead, upward = end.z - start.z, s, s
    if rise > 0.0:
        ahead, upward = max(s - _EDGE, 0.0) / (1.0 - _EDGE), min(s / _RISE, 1.0)
    elif rise < 0.0:
        ahead, upward = min(s / (1.0 - _EDGE), 1.0), max(1.0 - (1.0 - s) / _RISE, 0.0)
    far, pace = minimum_jerk(ahead)
    pace *= 1.0 if rise == 0.0 else 1.0 / (1.0 - _EDGE)
    (risen, rising), (height, climb) = minimum_jerk(upward), bump(s)
    dx, dy, turn = end.x - start.x, end.y - start.y, end.yaw - start.yaw
    x, y, yaw = start.x + far * dx, start.y + far * dy, start.yaw + far * turn
    pose = Footprint(x, y, yaw, start.z + risen * rise).pose(lift * height)
    vz = (lift * climb + rising * rise / _RISE) / duration
    rate = pace / duration
    velocity = np.array((rate * dx, rate * dy, vz, 0.0, 0.0, rate * turn))
    return FootMotion(pose, velocity, yaw)


def pivoting(
    start: Footprint,
    turn: float,
    pitch: float,
    about: np.ndarray,
    duration: float,
    elapsed: float,
) -> FootMotion:
    """A foot that turns on the ground, on its toes or its heel.

    Before and after its duration [s] it rests. It turns [rad] about a point of the sole
    that stays (2,) [m]; its pitch half way is positive on its toes [rad].
    """
    s = min(max(elapsed / duration, 0.0), 1.0)
    (far, pace), (high, climb) = minimum_jerk(s), bump(s)
    yaw = start.yaw + far * turn
    rotation = pin.rpy.rpyToMatrix(0.0, high * pitch, yaw)
    pivot = np.append(start.points(about), start.z)
    arm = rotation @ np.append(about, 0.0)
    tilting = climb * pitch / duration * np.array([-np.sin(yaw), np.cos(yaw), 0.0])
    spin = tilting + np.array([0.0, 0.0, pace * turn / duration])
    velocity = np.concatenate([np.cross(spin, -arm), spin])
    return FootMotion(pin.SE3(rotation, pivot - arm), velocity, yaw)
