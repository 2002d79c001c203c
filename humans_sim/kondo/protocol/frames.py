# SPDX-License-Identifier: Apache-2.0
"""Frames of Kondo's RCB-1 boards: fields, their ranges, checksums.

A frame is a command byte of E8 and above, its fields, and the sum of all of them modulo
128. No other byte of a frame reaches E8.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Self

from humans_sim.core.errors import HumansError

CHANNELS = 12
"""Channels of one board."""
FIRST_COMMAND = 0xE8
"""Least command byte; all other bytes are below it."""
ACK = 0x06
BAUD = 115200
BYTE = 10 / BAUD
"""Time of a byte on the line: 8N1 [s]."""
SLEEP, MOTION = 0b01, 0b10
"""Bits of the switches."""
BOARDS = 0x20
"""Boards that one line may have."""
SPEEDS, MOTIONS, POSES = 8, 0x28, 0x64
SCENARIOS, SCENARIO_LENGTH, KEYS = 4, 0xC8, 0xA0
DEGREES = 0xB4
"""Largest angle of a channel [deg]."""
FREE, CHARACTERISTICS, LOW, HIGH = 0xDD, (0xDE, 0xDF, 0xE0), 0xE1, 0xE2
"""Bytes in place of an angle: the servo goes limp; sets one of three characteristics
(red-version servos); the output is low (an unused channel) or high."""
SPECIAL = (FREE, *CHARACTERISTICS, LOW, HIGH)
TRIM_ZERO, TRIM_MOST = 0x14, 0x27
"""Trim bytes of 0 and +19 degrees; 0 is -20 degrees."""


class ProtocolError(HumansError, ValueError):
    """Bytes that are no frame, or values that no frame can carry."""


class ChecksumError(ProtocolError):
    """A frame whose sum is wrong: a byte was damaged on the line."""


def checksum(data: Iterable[int]) -> int:
    """Sum of bytes modulo 128."""
    return sum(data) & 0x7F


def checked(data: bytes) -> bytes:
    """The bytes with their checksum."""
    return data + bytes([checksum(data)])


def _whole(name: str, value: object, count: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < count:
        raise ProtocolError(f"{name} must be 0 to {count - 1}, not {value!r}")
    return value


def _channel(name: str, value: object) -> int:
    if value in SPECIAL:
        return int(value)  # type: ignore[call-overload, no-any-return]
    return _whole(name, value, DEGREES + 1)


def _twelve(name: str, values: object) -> tuple[int, ...]:
    if not isinstance(values, tuple) or len(values) != CHANNELS:
        raise ProtocolError(f"{name} must be a tuple of {CHANNELS} numbers")
    return values


def _check(name: str, value: object) -> bytes:
    """Bytes of a field, whose name gives its range."""
    if name == "channels":
        values = _twelve(name, value)
        return bytes(_channel(f"channel {k}", v) for k, v in enumerate(values, 1))
    if name == "trims":
        values = _twelve(name, value)
        return bytes(
            _whole(f"trim {k}", v, TRIM_MOST + 1) for k, v in enumerate(values, 1)
        )
    return bytes([_whole(name, value, RANGES[name])])


RANGES = {
    "board": BOARDS,
    "speed": SPEEDS,
    "motion": MOTIONS,
    "pose": POSES,
    "poses": POSES + 1,
    "scenario": SCENARIOS,
    "index": SCENARIO_LENGTH,
    "length": SCENARIO_LENGTH + 1,
    "switches": 4,
    "key": KEYS,
    "first": FIRST_COMMAND,
    "second": FIRST_COMMAND,
}
"""Values of each field that is one byte, from 0 to below this."""
_LONG = {"channels": CHANNELS, "trims": CHANNELS}


@dataclass(frozen=True)
class Frame:
    """Fields in the order of their bytes; checked when it is made."""

    def __post_init__(self) -> None:
        """Refuse values that no byte can carry.

        Raises:
            ProtocolError: a value is out of its range.
        """
        self.body()

    def body(self) -> bytes:
        """Bytes of the fields."""
        return b"".join(_check(f.name, getattr(self, f.name)) for f in fields(self))

    @classmethod
    def body_size(cls) -> int:
        """How many bytes the fields are."""
        return sum(_LONG.get(f.name, 1) for f in fields(cls))

    @classmethod
    def of(cls, body: bytes) -> Self:
        """From the bytes of the fields.

        Raises:
            ProtocolError: a value is out of its range.
        """
        values, at = [], 0
        for f in fields(cls):
            size = _LONG.get(f.name, 1)
            part = body[at : at + size]
            values.append(tuple(part) if f.name in _LONG else part[0])
            at += size
        return cls(*values)
