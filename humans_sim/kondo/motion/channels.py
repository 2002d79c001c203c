# SPDX-License-Identifier: Apache-2.0
"""Channels of the boards: joint, home and sense of each.

*Times of poses*: a channel without a servo keeps them. The boards lead all channels to
a pose in the time of the largest change: poses that change little come soon, whatever a
motion needs, and no speed step is slow enough for a slow motion. So a channel without a
servo goes to and fro by as many degrees as the fastest speed step takes for that time.
It always changes most.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from humans_sim.core.constants import SPEED_STEPS
from humans_sim.core.errors import ParameterError
from humans_sim.core.resources import named_file
from humans_sim.core.yaml_file import YamlValue, read_yaml
from humans_sim.kondo.motion.motion_file import (
    CHANNELS,
    LARGEST,
    POSES,
    UNUSED,
    KondoMotion,
    MotionFileError,
    Pose,
)

TRIMS = (-20, 19)
"""Trims that the RCB-1 takes [deg]."""


@dataclass(frozen=True)
class Channel:
    """One servo of the robot.

    Attributes:
        number: of the channel, from 1.
        joint: that it turns.
        home: where the joint's angle is zero [deg].
        sense: 1 or -1: the joint's sense over the channel's.
        lower: least value that is allowed [deg].
        upper: largest value [deg].
        mirror: number of the channel of the other side; its own in the middle.
        trim: what the board adds to every value [deg].
    """

    number: int
    joint: str
    home: float
    sense: int
    lower: float
    upper: float
    mirror: int
    trim: float = 0.0

    def angle(self, value: float) -> float:
        """Angle of the joint at a value of the channel [rad]."""
        return float(np.radians(self.sense * (value + self.trim - self.home)))

    def value(self, angle: float) -> float:
        """Value of the channel at an angle of the joint [deg]."""
        return float(self.sense * np.degrees(angle) + self.home - self.trim)


class ChannelMap:
    """All channels of a robot.

    Args:
        channels: each channel that has a servo.
    """

    def __init__(self, channels: Sequence[Channel]) -> None:
        ordered = sorted(channels, key=lambda channel: channel.number)
        self.channels: Mapping[int, Channel] = {c.number: c for c in ordered}

    def home(self) -> tuple[int, ...]:
        """Values of the zero position: 24 numbers [deg], trims aside."""
        values = [UNUSED] * CHANNELS
        for number, channel in self.channels.items():
            values[number - 1] = round(channel.value(0.0) + channel.trim)
        return tuple(values)

    def angles(self, values: Sequence[float]) -> dict[str, float]:
        """Joint angles of 24 channel values; joints without a value are left out [rad].

        Raises:
            ParameterError: a value is out of its channel's range.
        """
        angles = {}
        for number, channel in self.channels.items():
            value = values[number - 1]
            if value == UNUSED:
                continue
            if not channel.lower <= value <= channel.upper:
                raise ParameterError(
                    f"ch{number} ({channel.joint}) must be {channel.lower:g} to "
                    f"{channel.upper:g} degrees, not {value:g}"
                )
            angles[channel.joint] = channel.angle(value)
        return angles

    def values(self, angles: Mapping[str, float]) -> tuple[int, ...]:
        """Channel values of joint angles, to whole degrees; others are unused."""
        values = [UNUSED] * CHANNELS
        by_joint = {channel.joint: channel for channel in self.channels.values()}
        for joint, angle in angles.items():
            if joint not in by_joint:
                raise ParameterError(f"no channel turns a joint called '{joint}'")
            channel = by_joint[joint]
            values[channel.number - 1] = round(channel.value(angle))
        self.angles(values)
        return tuple(values)

    def mirrored(self, motion: KondoMotion, name: str) -> KondoMotion:
        """The motion with left and right exchanged: 180 - x on the other side."""
        poses = []
        for pose in motion.poses:
            other = [UNUSED] * CHANNELS
            for number, channel in self.channels.items():
                if (value := pose.channels[number - 1]) != UNUSED:
                    other[channel.mirror - 1] = LARGEST - value
            poses.append(Pose(pose.speed, tuple(other)))
        return KondoMotion(name, tuple(poses))


def load_channels(name: Path | str = "khr1") -> ChannelMap:
    """Channels of a robot of ``config/kondo``, or of one's own YAML file.

    Raises:
        ModelFileError: the file is malformed; the message names the line and the key.
        ParameterError: no robot has that name.
    """
    return channels_of(read_robot_file(name)["channels"])


def read_robot_file(name: Path | str) -> dict[str, YamlValue]:
    """The parts of a file of ``config/kondo``, or of one's own.

    Raises:
        ModelFileError: the file is malformed.
        ParameterError: no robot has that name.
    """
    root = read_yaml(named_file("kondo", str(name), "channel map"))
    return root.fields(("model", "channels"), ("boards", "limits", "self_collision"))


def channels_of(value: YamlValue) -> ChannelMap:
    """Channels from the part of a file that lists them."""
    entries = value.mapping()
    channels: dict[int, Channel] = {}
    joints: set[str] = set()
    for key, entry in entries.items():
        channel = _channel(key, entry)
        if channel.joint in joints:
            raise entry.error(f"{channel.joint} has another channel already")
        channels[channel.number] = channel
        joints.add(channel.joint)
    for number, channel in channels.items():
        other = channels.get(channel.mirror)
        if other is None or other.mirror != number:
            raise entries[str(number)].error(
                f"mirror {channel.mirror} does not name this channel as its own mirror"
            )
    return ChannelMap(tuple(channels.values()))


def _channel(key: str, entry: YamlValue) -> Channel:
    if not key.isdigit() or not 1 <= int(key) <= CHANNELS or key != str(int(key)):
        raise entry.error(f"channels are called 1 to {CHANNELS}")
    fields = entry.fields(("joint", "home", "sense", "range", "mirror"), ("trim",))
    lower, upper = fields["range"].vector(2)
    home = fields["home"].number()
    if not 0 <= lower <= home <= upper <= LARGEST:
        raise fields["range"].error(
            f"must be 0 <= lower <= home {home:g} <= upper <= {LARGEST}"
        )
    trim = fields["trim"].number() if "trim" in fields else 0.0
    if not TRIMS[0] <= trim <= TRIMS[1]:
        raise fields["trim"].error(f"a trim is {TRIMS[0]} to {TRIMS[1]}, not {trim:g}")
    return Channel(
        int(key),
        fields["joint"].text(),
        home,
        int(fields["sense"].choice(("1", "-1"))),
        float(lower),
        float(upper),
        int(fields["mirror"].number()),
        trim,
    )


SHORTEST, LONGEST = 0.04, 0.1
"""Times between two poses: what the boards follow, and what a motion bears [s]."""


def timed_motion(
    name: str,
    times: np.ndarray,
    joints: np.ndarray,
    joint_names: tuple[str, ...],
    channels: ChannelMap,
) -> KondoMotion:
    """A motion of the boards that passes through joint angles at given times.

    Args:
        name: of the motion.
        times: from 0 on (n,) [s].
        joints: angles (n, njoints) [rad]; cut to the ranges of the channels.
        joint_names: of the columns; those without a channel are left out.
        channels: of the robot.

    Raises:
        MotionFileError: the motion is too long for the poses that a board keeps, or no
            channel is without a servo.
    """
    clock = max(set(range(1, CHANNELS + 1)) - set(channels.channels), default=0)
    if not clock:
        raise MotionFileError("no channel without a servo is left to keep the time")
    end = float(times[-1])
    period = max(SHORTEST, end / (POSES - 1))
    if period > LONGEST:
        raise MotionFileError(
            f"{end:.1f} s are too long: a board keeps {POSES} poses, which last "
            f"{(POSES - 1) * LONGEST:.1f} s; take a part of the recording"
        )
    count = math.ceil(end / period - 1e-9)
    poses: list[Pose] = []
    now, place = 0.0, 0
    for k in range(count + 1):
        if k:
            degrees = max(round((min(k * period, end) - now) / SPEED_STEPS[0]), 1)
            now += degrees * SPEED_STEPS[0]
            # To and fro; the next change starts wherever this one ended.
            place = place - degrees if place >= degrees else place + degrees
        # Channel values at a time, in whole degrees within their ranges.
        values = [UNUSED] * CHANNELS
        for number, channel in channels.channels.items():
            if channel.joint not in joint_names:
                continue
            column = joints[:, joint_names.index(channel.joint)]
            value = channel.value(float(np.interp(now, times, column)))
            low, high = math.ceil(channel.lower), math.floor(channel.upper)
            values[number - 1] = min(max(round(value), low), high)
        values[clock - 1] = place
        poses.append(Pose(0, tuple(values)))
    return KondoMotion(name, tuple(poses))
