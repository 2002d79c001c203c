# SPDX-License-Identifier: Apache-2.0
"""The last word on set points: no channel goes too far, too fast or by too much.

Whatever asks for a position (a topic, a trajectory, a motion, a program), what is sent
to the boards comes out of a :class:`Guard`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from humans_sim.core.errors import HumansError
from humans_sim.core.expressions import shortened
from humans_sim.kondo.driver.robot_settings import RobotSettings
from humans_sim.kondo.motion.channels import Channel
from humans_sim.kondo.motion.motion_file import CHANNELS

_ROUND = 0.5
"""Half a degree beyond a range is a matter of rounding [deg]."""
_THERE = 1.0
"""So near to its first pose a robot has arrived [deg]."""
_TINY = 1e-9
_WINDOW = 0.02
"""Speeds are kept on the average over so long, or since the last set point [s]."""
_LATE = 0.1
"""A set point that is later than this does not make its step longer [s]."""


class JointCommandError(HumansError, ValueError):
    """A command that cannot be followed; nothing of it was."""


def _shown(angle: object) -> str:
    return shortened(repr(angle) if isinstance(angle, str) else angle)


class Guard:
    """Set points that follow targets within limits, in degrees of the channels.

    Attributes:
        approaching: whether the first pose is still approached, slowly.
        limited: set points that were not where they should have been at once.
    """

    def __init__(self, settings: RobotSettings) -> None:
        """Of a robot; it knows no positions before :meth:`begin`."""
        self._limits = settings.limits
        channels = settings.channels.channels.values()
        self._by_joint: Mapping[str, Channel] = {c.joint: c for c in channels}
        self._at = np.array([c.number - 1 for c in channels])
        self._lower = np.array([c.lower for c in channels])
        self._upper = np.array([c.upper for c in channels])
        self._sense = np.array([float(c.sense) for c in channels])
        self._zero = np.array([c.home - c.trim for c in channels])
        self._now = self._target = np.full(len(self._at), math.nan)
        self._spare = np.zeros(len(self._at))
        self.approaching = True
        self.limited = 0

    def begin(self, values: Sequence[float | None]) -> None:
        """Here the servos are now: the set points begin here, and so do targets.

        Args:
            values: of all channels of the robot [deg].
        """
        self._now = np.array([values[k] for k in self._at], dtype=float)
        # Out of the range by hand: back into it, slowly.
        self._target = np.clip(self._now, self._lower, self._upper)
        self.approaching = True

    def nearest(self, angles: Mapping[str, float]) -> dict[str, float]:
        """The same angles within the joints' ranges [rad]."""
        within = {}
        for joint, angle in angles.items():
            channel = self._by_joint[joint]
            value = min(max(channel.value(angle), channel.lower), channel.upper)
            within[joint] = channel.angle(value)
        return within

    def hold(self) -> None:
        """Stay where the set points are."""
        self._target = np.clip(self._now, self._lower, self._upper)

    def check(self, angles: Mapping[str, float]) -> dict[str, float]:
        """Channel values of joint angles [deg].

        Raises:
            JointCommandError: a name, or a number, cannot be.
        """
        values = {}
        if not angles:
            raise JointCommandError("a command names no joint")
        for joint, angle in angles.items():
            channel = self._by_joint.get(joint)
            if channel is None:
                raise JointCommandError(
                    f"no channel turns a joint called '{joint}': there are "
                    f"{', '.join(self._by_joint)}"
                )
            try:
                value = channel.value(float(angle))
            except (OverflowError, TypeError, ValueError):
                value = math.nan
            if not math.isfinite(value):
                raise JointCommandError(
                    f"{joint} must be an angle, not {_shown(angle)}"
                )
            if not channel.lower - _ROUND <= value <= channel.upper + _ROUND:
                ends = sorted(
                    (channel.angle(channel.lower), channel.angle(channel.upper))
                )
                raise JointCommandError(
                    f"{joint} must be {ends[0]:.3f} to {ends[1]:.3f} rad, not "
                    f"{float(angle):.3f}"
                )
            values[joint] = value
        return values

    def aim(self, angles: Mapping[str, float], slowly: bool = False) -> None:
        """Go there; joints that are not named keep their targets.

        Args:
            angles: of joints [rad].
            slowly: until all are there once.

        Raises:
            JointCommandError: a name, or a number, cannot be.
        """
        self._target = self._aimed(angles)
        self.approaching |= slowly

    def path_to(
        self, angles: Mapping[str, float], slowly: bool, spacing: float
    ) -> np.ndarray:
        """Poses on the way to a target, the present set points first [rad].

        Args:
            angles: of joints [rad].
            slowly: whether they are approached.
            spacing: largest change of a channel from one to the next [deg].

        Raises:
            JointCommandError: a name, or a number, cannot be.
        """
        distance = self._aimed(angles) - self._now
        longest = float(np.abs(distance).max())
        steps = np.linspace(0.0, longest, math.ceil(longest / spacing) + 1)[:, None]
        if slowly or self.approaching:  # all arrive together
            moved = distance * (steps / longest if longest else steps)
        else:  # each goes on its own
            moved = np.clip(distance, -steps, steps)
        return np.radians(self._sense * (self._now + moved - self._zero))

    def _aimed(self, angles: Mapping[str, float]) -> np.ndarray:
        """Targets of all channels with those of some joints [deg]."""
        values = self.check(angles)
        target = self._target.copy()
        for k, joint in enumerate(self._by_joint):
            if joint in values:
                target[k] = values[joint]
        return np.clip(target, self._lower, self._upper)

    def step(
        self, dt: float, reach: tuple[np.ndarray, np.ndarray] | None = None
    ) -> tuple[float | None, ...]:
        """Set points of all channels after a time [deg]; None where there is no servo.

        Args:
            dt: since the last ones [s].
            reach: least and largest value of every channel of the robot that is no
                step too long from what the boards took [deg]; None: they took all.
        """
        limits, distance = self._limits, self._target - self._now
        dt = min(max(dt, 0.0), _LATE)
        # A command that comes just after a set point is not late for that.
        # Nor is one that had to wait for a slow line: its step is limited all the same.
        self._spare = np.minimum(
            self._spare + limits.speed * dt, limits.speed * max(_WINDOW, dt)
        )
        if self.approaching:
            # All channels arrive together; the longest distance sets the pace.
            longest = float(np.abs(distance).max())
            most = min(limits.approach * dt, limits.step)
            moved = distance * (min(most / longest, 1.0) if longest else 1.0)
        else:
            free = np.minimum(self._spare, limits.step)
            moved = np.clip(distance, -free, free)
        if reach is not None:
            lower, upper = (ends[self._at] for ends in reach)
            moved = np.clip(self._now + moved, lower, upper) - self._now
        late = np.abs(distance - moved)
        self.limited += bool(np.any(late > _TINY)) and not self.approaching
        self._now = self._now + moved
        self._spare = self._spare - np.abs(moved)
        if self.approaching and np.all(late <= _THERE):
            self.approaching = False
        values: list[float | None] = [None] * CHANNELS
        for k, value in zip(self._at, self._now, strict=True):
            values[k] = float(value)
        return tuple(values)

    def angles(self) -> dict[str, float]:
        """Joint angles of the set points [rad]."""
        pairs = zip(self._by_joint.items(), self._now, strict=True)
        return {joint: channel.angle(value) for (joint, channel), value in pairs}
