# SPDX-License-Identifier: Apache-2.0
"""Limits of set points: no channel goes too far, too fast or by too much.

Whatever asks for a position (a topic, a trajectory, a motion, a program), what is sent
to the boards comes out of a :class:`Guard`.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from humans_sim.core.errors import HumansError
from humans_sim.core.expressions import shortened
from humans_sim.kondo.driver.board import Boards
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
        """All servos are here now [deg]: set points and targets begin here."""
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


_SILENCE = 1.0
"""A board that did not answer for so long is lost [s]."""
_MISSES = 5
"""... and left so many frames in a row unanswered: a busy machine is no lost line."""
_TRY = 0.1
"""A set point is repeated for no longer [s]."""


class SetPointDelivery:
    """Says set points to boards; of one thread.

    Args:
        period: between two set points [s].
    """

    def __init__(self, boards: Boards, period: float) -> None:
        self._boards, self._period = boards, period
        self._beats = 0
        self.answered()

    def answered(self) -> None:
        """Every board answered just now."""
        now = time.monotonic()
        self._last = now
        self._begun = [now] * len(self._boards.names)
        self._acknowledged = [-math.inf] * len(self._boards.names)
        self._misses = [0] * len(self._boards.names)

    def deliver(
        self,
        values: Sequence[float | None],
        repeat: bool,
        interrupted: Callable[[], bool],
    ) -> bool:
        """Say a set point until every board acknowledged it, or another one is due.

        An acknowledgement that may be an earlier set point's will do: on a line that
        loses it is this one's, and on one that is slow no repeat would be any faster.

        Args:
            values: of all channels [deg].
            repeat: whether it is new: one that was heard once is said again by the next
                beat.
            interrupted: whether something else is due.

        Returns:
            whether every board did.
        """
        boards, begun = self._boards, time.monotonic()
        # Where the line is slow, the next one comes later, and so may the servos: a
        # frame whose damage its sum does not see then moves them more slowly, too.
        duration = min(max(begun - self._last, self._period), _TRY)
        self._last = begun
        self._beats = 0 if repeat else self._beats + 1
        # The board that has waited longest comes first, or none would ever be heard
        # of that is second where commands come faster than the line takes them.
        waiting = deque(sorted(range(len(boards.names)), key=self._heard_at))
        heard = 0
        while waiting and not interrupted():
            board = waiting.popleft()
            before = boards.heard_at[board]
            acknowledged = boards.move(board, values, duration)
            alive = acknowledged or boards.heard_at[board] > before
            self._misses[board] = 0 if alive else self._misses[board] + 1
            if boards.certain(board, values):
                self._acknowledged[board] = begun
            if acknowledged:
                heard += 1
            elif repeat and time.monotonic() < begun + _TRY:
                waiting.append(board)
        return heard == len(boards.names) and not interrupted()

    def settle(self, interrupted: Callable[[], bool]) -> None:
        """Ask boards that may have taken something else, in the time to spare.

        Not after the first beat since a new set point: the next one is near.

        Args:
            interrupted: whether something else is due.
        """
        if self._beats == 1:
            return
        for board in range(len(self._boards.names)):
            certain = self._acknowledged[board] >= self._last
            if not certain and not interrupted():
                self._boards.settle(board)

    def silent(self) -> str | None:
        """A board that has not answered for too long; None: none."""
        now = time.monotonic()
        for board, name in enumerate(self._boards.names):
            overdue = now > self._heard_at(board) + _SILENCE
            if overdue and self._misses[board] >= _MISSES:
                return f"{name} did not answer for {_SILENCE:g} s: is it on?"
        return None

    def unacknowledged(self, since: float) -> tuple[str, ...]:
        """Boards that have acknowledged no set point since a time [s]."""
        pairs = zip(self._boards.names, self._acknowledged, strict=True)
        return tuple(name for name, t in pairs if t <= since)

    def _heard_at(self, board: int) -> float:
        return max(self._boards.heard_at[board], self._begun[board])
