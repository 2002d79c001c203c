# SPDX-License-Identifier: Apache-2.0
"""Motions played as the RCB-1 plays them: the set points of the joints at every time.

The motion to a pose takes the largest change among all channels, in degrees, times the
seconds a degree of the pose's speed step. All channels move linearly and arrive
together; the next pose follows at once. A pose that changes nothing takes no time.

*Trailing positions*, as the joints of the real robot have. The damping of the robot's
servos knows the speed of the joint, not that of the set point, so that a joint follows
late, by damping over gain (:mod:`.pose_servo`). Servos that follow closely move alike
when their commands trail by as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from humans_sim.core.constants import SPEED_STEPS
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.motion.channels import ChannelMap, load_channels
from humans_sim.kondo.motion.motion_file import CHANNELS, UNUSED, KondoMotion
from humans_sim.models import Model

_SAME = 1e-9
"""Times closer than this are one [s]."""


class MotionSegment(NamedTuple):
    """The motion to the next pose; a command of servos that play poses.

    Attributes:
        start: where the joints should be now (njoints,) [rad].
        angles: of the next pose (njoints,) [rad].
        arrival: when it is reached [s]; infinite after the last pose.
    """

    start: np.ndarray
    angles: np.ndarray
    arrival: float


class MotionPlayer:
    """Joint angles over time of a motion.

    Args:
        model: the robot; joints without a channel stay at zero.
        channels: the robot's channels; those of ``config/kondo/khr1.yaml`` unless
            given.
        repeat: how many times, each play after the other.
        start: when the first play begins; the joints are at the beginning until then
            [s].
        begin: 24 channel values at the start [deg]; the first pose unless given.

    Attributes:
        times: when each pose is reached, that of the beginning first (n + 1,) [s].
        angles: joint angles then (n + 1, njoints) [rad].

    Raises:
        ParameterError: a pose is out of a channel's range, or a channel's joint is none
            of the model's.
    """

    def __init__(
        self,
        model: Model,
        motion: KondoMotion,
        channels: ChannelMap | None = None,
        repeat: int = 1,
        start: float = 0.0,
        begin: Sequence[int] | None = None,
    ) -> None:
        if repeat < 1:
            raise ParameterError(f"repeat must be 1 or more, not {repeat}")
        if not math.isfinite(start):
            raise ParameterError(f"start must be a time, not {start}")
        self._names = tuple(model.joint_names)
        self._channels = load_channels() if channels is None else channels
        for number, channel in self._channels.channels.items():
            if channel.joint not in self._names:
                raise ParameterError(
                    f"ch{number} turns {channel.joint}, which {model.name} has not"
                )
        first = motion.poses[0].channels if begin is None else tuple(begin)
        if len(first) != CHANNELS:
            raise ParameterError(f"{CHANNELS} channels must be given, not {len(first)}")
        values = _over(self._channels.home(), first)
        where = "pose 0" if begin is None else "begin"
        times, angles = [start], [self._joints(values, where)]
        for _ in range(repeat):
            for position, pose in enumerate(motion.poses):
                target = _over(values, pose.channels)
                pairs = zip(values, target, strict=True)
                change = max(abs(a - b) for a, b in pairs if UNUSED not in (a, b))
                times.append(times[-1] + change * SPEED_STEPS[pose.speed])
                angles.append(self._joints(target, f"pose {position}"))
                values = target
        self.times, self.angles = np.array(times), np.array(angles)

    def _joints(self, values: Sequence[int], where: str) -> np.ndarray:
        try:
            angles = self._channels.angles(values)
        except ParameterError as error:
            raise ParameterError(f"{where}: {error}") from None
        return np.array([angles.get(name, 0.0) for name in self._names])

    @property
    def duration(self) -> float:
        """From the start to the last pose [s]."""
        return float(self.times[-1] - self.times[0])

    def at(self, t: float) -> np.ndarray:
        """Joint angles at a time (njoints,) [rad]; the ends hold outside."""
        k = self._next(t)
        if k == 0 or k == len(self.times):
            return self.angles[max(k - 1, 0)].copy()
        before, after = self.times[k - 1 : k + 1]
        share = (t - before) / (after - before)
        return (1.0 - share) * self.angles[k - 1] + share * self.angles[k]

    def segment(self, t: float) -> MotionSegment:
        """The motion to the next pose, from a time on."""
        k = self._next(t + _SAME)
        if k == len(self.times):
            return MotionSegment(self.at(t), self.angles[-1].copy(), math.inf)
        return MotionSegment(self.at(t), self.angles[k].copy(), float(self.times[k]))

    def _next(self, t: float) -> int:
        return int(np.searchsorted(self.times, t, side="right"))


def _over(values: Sequence[int], pose: Sequence[int]) -> tuple[int, ...]:
    """Values that a pose leaves: unused channels stay as they were."""
    return tuple(
        old if new == UNUSED else new for old, new in zip(values, pose, strict=True)
    )


class Lag:
    """A first-order lag, sampled.

    Args:
        constant: time by which an even motion is late [s]; 0: none.
        period: time between two calls [s].
    """

    def __init__(self, constant: float, period: float) -> None:
        if not (math.isfinite(constant) and constant >= 0 and period > 0):
            raise ParameterError(
                f"a lag of {constant} s in periods of {period} s cannot be"
            )
        self._keeps = math.exp(-period / constant) if constant else 0.0
        self._last: np.ndarray | None = None

    def reset(self, position: np.ndarray) -> None:
        """Begin anew, at rest."""
        self._last = np.array(position, dtype=float)

    def follow(self, position: np.ndarray) -> np.ndarray:
        """Where the trailing positions are when the leading ones are here."""
        if self._last is None:
            self.reset(position)
        self._last = position + self._keeps * (self._last - position)
        return self._last.copy()
