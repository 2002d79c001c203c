# SPDX-License-Identifier: Apache-2.0
"""Fall detection by an inertial sensor: which way is down, and whether it is still.

Down in the axes of the base says everything about how a robot lies; its heading and its
place are not needed, so that a real robot can know it, too.

Also motions as key poses: joint angles and their times, linear in between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from humans_sim.core.arrays import finite_array
from humans_sim.core.errors import ParameterError

_UPRIGHT = math.radians(45.0)
"""Less tilt than this is not lying [rad]."""


class Lying(Enum):
    """The side of the base that points down."""

    NOT = "not"
    FRONT = "front"
    BACK = "back"
    LEFT = "left"
    RIGHT = "right"


def tilt_of(attitude: np.ndarray) -> float:
    """Angle [rad] between the vertical and the z axis of a base, rotated (3, 3)."""
    up = attitude[2]
    return math.atan2(math.hypot(up[0], up[1]), up[2])


def lying(attitude: np.ndarray) -> Lying:
    """Which side of a base points down, by its rotation in the world (3, 3).

    Upside down counts by what is lower, too.
    """
    if tilt_of(attitude) < _UPRIGHT:
        return Lying.NOT
    forwards, left = -attitude[2, 0], -attitude[2, 1]
    if abs(forwards) >= abs(left):
        return Lying.FRONT if forwards > 0 else Lying.BACK
    return Lying.LEFT if left > 0 else Lying.RIGHT


class FallDetector:
    """Notices a fall, and when it is over.

    Args:
        fall_tilt: of the base, beyond which it falls [rad].
        rest_speed: angular velocity of the base below which it is still [rad/s].
        rest_time: for which it must be still to be at rest [s].

    Attributes:
        side: what pointed down at the last call.
    """

    def __init__(
        self, fall_tilt: float, rest_speed: float = 0.2, rest_time: float = 0.4
    ) -> None:
        for name, value in (
            ("fall_tilt", fall_tilt),
            ("rest_speed", rest_speed),
            ("rest_time", rest_time),
        ):
            if not (math.isfinite(value) and value > 0):
                raise ParameterError(f"{name} must be above zero, not {value}")
        self._fall_tilt, self._speed, self._time = fall_tilt, rest_speed, rest_time
        self.reset()

    def reset(self) -> None:
        """It stands."""
        self.fallen, self.side, self.at_rest = False, Lying.NOT, False
        self._still_since = math.inf

    def update(
        self, t: float, attitude: np.ndarray, angular_velocity: np.ndarray
    ) -> None:
        """Take in the attitude (3, 3) and angular velocity (3,) [rad/s] at a time [s].

        The heading is not used.
        """
        self.fallen |= tilt_of(attitude) > self._fall_tilt
        self.side = lying(attitude)
        if float(np.linalg.norm(angular_velocity)) > self._speed:
            self._still_since = math.inf
        else:
            self._still_since = min(self._still_since, t)
        self.at_rest = t - self._still_since >= self._time


@dataclass(frozen=True)
class PoseSequence:
    """Key poses of a motion: when each is reached (n,) [s], and its joint angles [rad].

    The times are from the start of the motion, the angles (n, njoints).
    """

    name: str
    times: np.ndarray
    angles: np.ndarray

    def __post_init__(self) -> None:
        """Refuse times that do not rise."""
        n = len(self.times)
        joints = np.shape(self.angles)[-1]
        finite_array(self.times, (n,), "times", ParameterError)
        finite_array(self.angles, (n, joints), "angles", ParameterError)
        if n == 0 or self.times[0] < 0 or (np.diff(self.times) < 0).any():
            raise ParameterError(f"{self.name}: times of poses must rise from zero")

    @property
    def duration(self) -> float:
        """Until the last pose [s]."""
        return float(self.times[-1])

    def after(self, joints: np.ndarray, speed: float) -> PoseSequence:
        """The same motion from other angles (njoints,), at even speed [rad/s].

        The speed is that of the fastest joint on the way to the first pose.
        """
        way = float(np.abs(self.angles[0] - joints).max()) / speed
        return PoseSequence(
            self.name,
            np.concatenate([[0.0, way], way + self.times[1:] - self.times[0]]),
            np.vstack([joints, self.angles]),
        )

    def at(self, t: float) -> np.ndarray:
        """Joint angles some time after the start (njoints,) [rad]; the ends hold."""
        k = int(np.searchsorted(self.times, t, side="right"))
        if k in (0, len(self.times)):
            return np.array(self.angles[max(k - 1, 0)])
        before, later = self.times[k - 1 : k + 1]
        share = (t - before) / (later - before)
        return np.asarray(
            (1.0 - share) * self.angles[k - 1] + share * self.angles[k], dtype=float
        )
