# SPDX-License-Identifier: Apache-2.0
"""Which channel of the boards turns which joint, from where, and which way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.core.resources import named_file
from humans_sim.core.yaml_file import YamlValue, read_yaml
from humans_sim.kondo.motion.motion_file import (
    CHANNELS,
    LARGEST,
    UNUSED,
    KondoMotion,
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

    Attributes:
        channels: by number.
    """

    def __init__(self, channels: Sequence[Channel]) -> None:
        """Keep the channels in the order of their numbers."""
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
        return KondoMotion(
            name,
            tuple(Pose(p.speed, self._mirror(p.channels)) for p in motion.poses),
        )

    def _mirror(self, values: Sequence[int]) -> tuple[int, ...]:
        other = [UNUSED] * CHANNELS
        for number, channel in self.channels.items():
            value = values[number - 1]
            other[channel.mirror - 1] = UNUSED if value == UNUSED else LARGEST - value
        return tuple(other)


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
            f"0 <= lower <= home {home:g} <= upper <= {LARGEST} is wanted"
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
