# SPDX-License-Identifier: Apache-2.0
"""The protocol of Kondo's RCB-1 boards: every command and reply, byte for byte.

Pure: no port is opened here. A command knows its bytes (:meth:`Command.encode`) and
what comes back (:meth:`Command.read_reply`); a board, real or emulated, goes the other
way (:func:`decode_command`, :meth:`Reply.encode`,
:class:`~humans_sim.kondo.emulation.emulator.CommandStream`).

A command byte of E8 and above begins a frame, and no other byte of a frame is so large:
that is how a line that lost bytes is understood again. A set is answered by ``ID 06``,
a get by ``ID data.. CHK``.

*Frames*: fields, their ranges, checksums. The sum is that of all bytes modulo 128.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import ClassVar, Self, dataclass_transform

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


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class Frame:
    """Fields in the order of their bytes; checked when it is made.

    Its children are frozen dataclasses.
    """

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        """Refuse values that no byte can carry."""
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


class Reply(Frame):
    """The reply of a board."""

    board: int

    def encode(self) -> bytes:
        """The bytes of the reply."""
        return checked(self.body())

    @classmethod
    def size(cls) -> int:
        """Bytes of such a reply."""
        return cls.body_size() + 1

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """A reply from all its bytes.

        Raises:
            ProtocolError: the length or a value is wrong.
            ChecksumError: the sum is wrong.
        """
        if len(data) != cls.size():
            raise ProtocolError(
                f"{cls.__name__} takes {cls.size()} bytes, not {len(data)}"
            )
        if data[-1] != checksum(data[:-1]):
            raise ChecksumError(f"wrong checksum in {data.hex(' ')}")
        return cls.of(data[:-1])


class Acknowledged(Reply):
    """A board has done what it was commanded."""

    def encode(self) -> bytes:
        """``ID 06``, without a checksum."""
        return bytes([self.board, ACK])

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """From two bytes."""
        if len(data) != cls.size() or data[1] != ACK:
            raise ProtocolError(f"no acknowledgement: {data.hex(' ')}")
        return cls(data[0])


class BoardId(Reply):
    """The id of a board."""


class Channels(Reply):
    """Values of the twelve channels, or of home."""

    channels: tuple[int, ...]


class StoredPose(Reply):
    """A pose of a motion."""

    speed: int
    channels: tuple[int, ...]


class MotionLength(Reply):
    """How many poses a motion has."""

    poses: int


class ScenarioMotion(Reply):
    """A motion of a scenario."""

    motion: int


class ScenarioLength(Reply):
    """How many motions a scenario has."""

    length: int


class Switches(Reply):
    """Bit 0: sleep; bit 1: motion."""

    switches: int


class RemoteKeys(Reply):
    """Keys of the remote control, and the motion they play."""

    first: int
    second: int
    motion: int


class Trims(Reply):
    """Trims of the twelve channels, 20 for 0 degrees."""

    trims: tuple[int, ...]


COMMANDS: dict[int, type[Command]] = {}
"""Commands by their first byte."""


class Command(Frame):
    """A command.

    Each kind is made with its code in hexadecimal digits, and what it is answered by.
    """

    CODE: ClassVar[bytes] = b""
    REPLY: ClassVar[type[Reply]] = Acknowledged

    def __init_subclass__(
        cls, code: str = "", reply: type[Reply] = Acknowledged
    ) -> None:
        super().__init_subclass__()
        cls.CODE, cls.REPLY = bytes.fromhex(code), reply
        if code:
            COMMANDS[cls.CODE[0]] = cls

    def encode(self) -> bytes:
        """The bytes on the line."""
        return checked(self.CODE + self.body())

    @classmethod
    def size(cls) -> int:
        """Bytes of such a command."""
        return len(cls.CODE) + cls.body_size() + 1

    def read_reply(self, data: bytes) -> Reply:
        """The answer to this command.

        Raises:
            ProtocolError: it is none, or another board's.
        """
        reply = self.REPLY.decode(data)
        asked = getattr(self, "board", reply.board)
        if reply.board != asked:
            raise ProtocolError(f"board {reply.board} answered for board {asked}")
        return reply


class BoardCommand(Command):
    """A command to one board."""

    board: int


class SetId(BoardCommand, code="FF 5A"):
    """Give the only board on the line an id."""


class GetId(Command, code="FE", reply=BoardId):
    """Ask for the id; with two boards on the line either answers."""


class SetPositions(BoardCommand, code="FD"):
    """Move: speed 0 (fast) to 7 (slow), twelve channels."""

    speed: int
    channels: tuple[int, ...]


class GetPositions(BoardCommand, code="FC", reply=Channels):
    """Ask where the channels are."""


class StoreHome(BoardCommand, code="FB"):
    """Keep the present pose as home."""


class GetHome(BoardCommand, code="FA", reply=Channels):
    """Ask for home."""


class WritePose(BoardCommand, code="F9"):
    """Store a pose of a motion."""

    motion: int
    pose: int
    speed: int
    channels: tuple[int, ...]


class ReadPose(BoardCommand, code="F8", reply=StoredPose):
    """Ask for a pose of a motion."""

    motion: int
    pose: int


class SetMotionLength(BoardCommand, code="F7"):
    """Say how many poses a motion has."""

    motion: int
    poses: int


class GetMotionLength(BoardCommand, code="F6", reply=MotionLength):
    """Ask how many poses a motion has."""

    motion: int


class SetScenario(BoardCommand, code="F5"):
    """Put a motion into a scenario."""

    scenario: int
    index: int
    motion: int


class GetScenario(BoardCommand, code="F4", reply=ScenarioMotion):
    """Ask for a motion of a scenario."""

    scenario: int
    index: int


class SetScenarioLength(BoardCommand, code="F3"):
    """Say how many motions a scenario has."""

    scenario: int
    length: int


class GetScenarioLength(BoardCommand, code="F2", reply=ScenarioLength):
    """Ask how many motions a scenario has."""

    scenario: int


class SetSwitches(BoardCommand, code="F1"):
    """Bit 0: sleep; bit 1: motion."""

    switches: int


class GetSwitches(BoardCommand, code="F0", reply=Switches):
    """Ask for the switches."""


class PlayMotion(BoardCommand, code="EF"):
    """Play a stored motion."""

    motion: int


class PlayScenario(BoardCommand, code="EE"):
    """Play a stored scenario."""

    scenario: int


class SetRemoteKeys(BoardCommand, code="ED"):
    """Let keys of the remote control play a motion."""

    key: int
    first: int
    second: int
    motion: int


class GetRemoteKeys(BoardCommand, code="EC", reply=RemoteKeys):
    """Ask what keys of the remote control play."""

    key: int


class SetTrims(BoardCommand, code="E9"):
    """Set the trims, 0 to 39 for -20 to +19 degrees."""

    trims: tuple[int, ...]


class GetTrims(BoardCommand, code="E8", reply=Trims):
    """Ask for the trims."""


def decode_command(data: bytes) -> Command:
    """A command from all its bytes.

    Raises:
        ProtocolError: they are none.
        ChecksumError: the sum is wrong.
    """
    kind = COMMANDS.get(data[0]) if data else None
    if kind is None:
        raise ProtocolError(f"no command begins with {data[:1].hex() or 'nothing'}")
    if len(data) != kind.size() or not data.startswith(kind.CODE):
        raise ProtocolError(f"{data.hex(' ')} is no {kind.__name__}")
    if data[-1] != checksum(data[:-1]):
        raise ChecksumError(f"wrong checksum in {data.hex(' ')}")
    return kind.of(data[len(kind.CODE) : -1])
