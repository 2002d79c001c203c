# SPDX-License-Identifier: Apache-2.0
"""A robot with Kondo boards, of its YAML file: boards, limits, channels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True)
class Limits:
    """Limits of set points; positions are limited by each channel's range.

    Attributes:
        speed: of a channel [deg/s].
        step: from one set point to the next [deg].
        approach: speed towards the first pose [deg/s].
    """

    speed: float = 340.0
    step: float = 12.0
    approach: float = 40.0


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


@dataclass(frozen=True)
class RobotSettings:
    """How a robot is driven.

    Attributes:
        model: name of its model.
        channels: which turn which joint.
        limits: of its set points.
        protocol: what its boards speak.
        ids: of the boards, in the order of the channels.
        unused: what a channel without a servo is sent.
        period: between two set points on the line [s].
        self_collision: how deep links may overlap; None: that is not checked.
    """

    model: str
    channels: ChannelMap
    limits: Limits = Limits()
    protocol: str = PROTOCOLS[0]
    ids: tuple[int, ...] = (0, 1)
    unused: int = LOW
    period: float = 0.01
    self_collision: AllowedOverlap | None = AllowedOverlap()

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
    parts = read_robot_file(name)
    more = _boards(parts["boards"]) if "boards" in parts else {}
    if "self_collision" in parts:
        more["self_collision"] = _overlap(parts["self_collision"])
    return RobotSettings(
        model_name_in(parts["model"]),
        channels_of(parts["channels"]),
        _limits(parts.get("limits")),
        **more,
    )


def _limits(value: YamlValue | None) -> Limits:
    if value is None:
        return Limits()
    names = ("speed", "step", "approach")
    fields = value.fields((), names)
    limits = Limits(**{name: entry.positive() for name, entry in fields.items()})
    for name, entry in fields.items():
        if getattr(limits, name) > _LARGEST[name]:
            raise entry.error(f"more than {_LARGEST[name]:g} is no limit of a servo")
    if limits.step < _FINEST:
        raise fields["step"].error(
            f"the boards take whole degrees: {_FINEST:g} or more"
        )
    if limits.approach > limits.speed:
        raise value.error("the approach must not be faster than the speed")
    return limits


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


def _boards(value: YamlValue) -> dict[str, Any]:
    fields = value.fields((), ("protocol", "ids", "unused", "period"))
    boards: dict[str, Any] = {}
    if "protocol" in fields:
        boards["protocol"] = fields["protocol"].choice(PROTOCOLS)
    if "ids" in fields:
        ids = tuple(int(v) for v in fields["ids"].vector(_LINE))
        if len(set(ids)) != _LINE or not all(0 <= v < BOARDS for v in ids):
            raise fields["ids"].error(f"two different ids of 0 to {BOARDS - 1}")
        boards["ids"] = ids
    if "unused" in fields:
        unused = fields["unused"].number()
        if unused not in SPECIAL:
            raise fields["unused"].error(f"one of {', '.join(map(str, SPECIAL))}")
        boards["unused"] = int(unused)
    if "period" in fields:
        period = fields["period"].positive()
        if not 0.002 <= period <= 0.1:
            raise fields["period"].error("0.002 to 0.1 s")
        boards["period"] = period
    return boards
