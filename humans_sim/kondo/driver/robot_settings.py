# SPDX-License-Identifier: Apache-2.0
"""A robot with Kondo boards, of its YAML file: boards, limits, channels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from humans_sim.core.settings import (
    SettingError,
    check_settings,
    describe,
    of_section,
    setting,
)
from humans_sim.core.yaml_file import YamlValue
from humans_sim.kondo.motion.channels import ChannelMap, channels_of, read_robot_file
from humans_sim.kondo.protocol.rcb1 import BOARDS, LOW, SPECIAL
from humans_sim.models.catalogue import model_name_in

PROTOCOLS = ("rcb1",)
"""Boards that can be driven."""
_LINE = 2
"""Boards that a robot has: twice twelve channels."""


_LARGEST = {"speed": 2000.0, "step": 180.0, "approach": 2000.0}
"""Limits above these limit nothing: a servo turns by 180 degrees [deg/s, deg]."""
_DEEPEST = 0.02
"""Links that may overlap by more are not checked at all [m]."""
_FINEST = 1.0
"""Resolution of the boards' set points [deg]."""


@describe
@dataclass(frozen=True)
class Limits:
    """Limits of set points; positions are limited by each channel's range."""

    speed: float = setting(340.0, "of a channel [deg/s]", above=0.0)
    step: float = setting(12.0, "from one set point to the next [deg]", above=0.0)
    approach: float = setting(40.0, "speed towards the first pose [deg/s]", above=0.0)

    def __post_init__(self) -> None:
        """Refuse limits that limit nothing, or that no board can keep."""
        check_settings(self)
        for name, most in _LARGEST.items():
            if getattr(self, name) > most:
                raise SettingError(name, f"more than {most:g} is no limit of a servo")
        if self.step < _FINEST:
            text = f"the boards take whole degrees: {_FINEST:g} or more"
            raise SettingError("step", text)
        if self.approach > self.speed:
            raise SettingError("approach", "must not be faster than the speed")


@dataclass(frozen=True)
class AllowedOverlap:
    """How deep the drawn shapes of a robot's links may overlap.

    Attributes:
        depth: of any two links [m].
        allow: other depths, of pairs of links [m].
    """

    depth: float = 0.0055
    allow: tuple[tuple[str, str, float], ...] = ()

    @property
    def pairs(self) -> dict[tuple[str, str], float]:
        """The other depths, by the links [m]."""
        return {(one, other): depth for one, other, depth in self.allow}


@describe
@dataclass(frozen=True)
class RobotSettings:
    """How a robot is driven: the name of its model, which channel turns which joint.

    Self-collision is how deep links may overlap; None: that is not checked.
    """

    model: str
    channels: ChannelMap
    limits: Limits = Limits()
    protocol: str = setting(PROTOCOLS[0], "what its boards speak", choices=PROTOCOLS)
    ids: tuple[int, ...] = setting(
        (0, 1), "of the boards, in the order of the channels"
    )
    unused: int = setting(LOW, "what a channel without a servo is sent")
    period: float = setting(0.01, "between two set points on the line [s]", 0.002, 0.1)
    self_collision: AllowedOverlap | None = AllowedOverlap()

    def __post_init__(self) -> None:
        """Refuse numbers out of their ranges."""
        check_settings(self)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints that have a servo, in the order of the channels."""
        return tuple(channel.joint for channel in self.channels.channels.values())


def load_robot(name: Path | str = "khr1") -> RobotSettings:
    """Settings of a robot of ``config/kondo``, or of one's own YAML file.

    Raises:
        ModelFileError: the file is malformed; the message names the line and the key.
        ParameterError: no robot has that name.
    """
    parts, limits = read_robot_file(name), Limits()
    if "limits" in parts:
        limits = of_section(Limits, parts["limits"], Limits, {})
    overlap: AllowedOverlap | None = AllowedOverlap()
    if "self_collision" in parts:
        overlap = _overlap(parts["self_collision"])
    model, channels = model_name_in(parts["model"]), channels_of(parts["channels"])
    make = partial(RobotSettings, model, channels, limits, self_collision=overlap)
    if "boards" not in parts:
        return make()
    readers = {"ids": _ids, "unused": _unused}
    return of_section(RobotSettings, parts["boards"], make, readers)


def _overlap(value: YamlValue) -> AllowedOverlap | None:
    if not value.is_mapping():
        return AllowedOverlap() if value.choice(("true", "false")) == "true" else None
    fields, allow = value.fields((), ("depth", "allow")), []
    depth = _depth(fields["depth"]) if "depth" in fields else AllowedOverlap.depth
    for entry in fields["allow"] if "allow" in fields else ():
        pair = entry.fields(("links", "depth"))
        links = [link.text() for link in pair["links"]]
        if len(links) != 2 or links[0] == links[1]:
            raise pair["links"].error("two different links: write [one, other]")
        allow.append((links[0], links[1], _depth(pair["depth"])))
    return AllowedOverlap(depth, tuple(allow))


def _depth(value: YamlValue) -> float:
    depth = value.number()
    if not 0.0 <= depth <= _DEEPEST:
        raise value.error(f"a depth is 0 to {_DEEPEST:g} m, not {depth:g}")
    return depth


def _ids(value: YamlValue) -> tuple[int, ...]:
    ids = tuple(int(v) for v in value.vector(_LINE))
    if len(set(ids)) != _LINE or not all(0 <= v < BOARDS for v in ids):
        raise value.error(f"two different ids of 0 to {BOARDS - 1}")
    return ids


def _unused(value: YamlValue) -> int:
    unused = value.number()
    if unused not in SPECIAL:
        raise value.error(f"one of {', '.join(map(str, SPECIAL))}")
    return int(unused)
