# SPDX-License-Identifier: Apache-2.0
"""What Kondo's RCB-1 boards say and hear: every command and reply, byte for byte.

Pure: no port is opened here. A command knows its bytes (:meth:`Command.encode`) and
what comes back (:meth:`Command.read_reply`); a board, real or emulated, goes the other
way (:func:`decode_command`, :meth:`Reply.encode`,
:class:`~humans_sim.kondo.protocol.command_stream.CommandStream`).

A command byte of E8 and above begins a frame, and no other byte of a frame is so large:
that is how a line that lost bytes is understood again. A set is answered by ``ID 06``,
a get by ``ID data.. CHK``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from humans_sim.kondo.protocol.frames import (
    ACK,
    ChecksumError,
    Frame,
    ProtocolError,
    checked,
    checksum,
)


@dataclass(frozen=True)
class Reply(Frame):
    """What a board answers."""

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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class BoardId(Reply):
    """The id of a board."""


@dataclass(frozen=True)
class Channels(Reply):
    """Values of the twelve channels, or of home."""

    channels: tuple[int, ...]


@dataclass(frozen=True)
class StoredPose(Reply):
    """A pose of a motion."""

    speed: int
    channels: tuple[int, ...]


@dataclass(frozen=True)
class MotionLength(Reply):
    """How many poses a motion has."""

    poses: int


@dataclass(frozen=True)
class ScenarioMotion(Reply):
    """A motion of a scenario."""

    motion: int


@dataclass(frozen=True)
class ScenarioLength(Reply):
    """How many motions a scenario has."""

    length: int


@dataclass(frozen=True)
class Switches(Reply):
    """Bit 0: sleep; bit 1: motion."""

    switches: int


@dataclass(frozen=True)
class RemoteKeys(Reply):
    """Keys of the remote control, and the motion they play."""

    first: int
    second: int
    motion: int


@dataclass(frozen=True)
class Trims(Reply):
    """Trims of the twelve channels, 20 for 0 degrees."""

    trims: tuple[int, ...]


@dataclass(frozen=True)
class Command(Frame):
    """What a board is sent."""

    CODE: ClassVar[bytes] = b""
    REPLY: ClassVar[type[Reply]] = Acknowledged

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


@dataclass(frozen=True)
class SetId(Command):
    """Give the only board on the line an id."""

    CODE: ClassVar[bytes] = bytes.fromhex("FF 5A")

    board: int


@dataclass(frozen=True)
class GetId(Command):
    """Ask for the id; with two boards on the line either answers."""

    CODE: ClassVar[bytes] = bytes.fromhex("FE")
    REPLY: ClassVar[type[Reply]] = BoardId


@dataclass(frozen=True)
class SetPositions(Command):
    """Move: speed 0 (fast) to 7 (slow), twelve channels."""

    CODE: ClassVar[bytes] = bytes.fromhex("FD")

    board: int
    speed: int
    channels: tuple[int, ...]


@dataclass(frozen=True)
class GetPositions(Command):
    """Ask where the channels are."""

    CODE: ClassVar[bytes] = bytes.fromhex("FC")
    REPLY: ClassVar[type[Reply]] = Channels

    board: int


@dataclass(frozen=True)
class StoreHome(Command):
    """Keep the present pose as home."""

    CODE: ClassVar[bytes] = bytes.fromhex("FB")

    board: int


@dataclass(frozen=True)
class GetHome(Command):
    """Ask for home."""

    CODE: ClassVar[bytes] = bytes.fromhex("FA")
    REPLY: ClassVar[type[Reply]] = Channels

    board: int


@dataclass(frozen=True)
class WritePose(Command):
    """Store a pose of a motion."""

    CODE: ClassVar[bytes] = bytes.fromhex("F9")

    board: int
    motion: int
    pose: int
    speed: int
    channels: tuple[int, ...]


@dataclass(frozen=True)
class ReadPose(Command):
    """Ask for a pose of a motion."""

    CODE: ClassVar[bytes] = bytes.fromhex("F8")
    REPLY: ClassVar[type[Reply]] = StoredPose

    board: int
    motion: int
    pose: int


@dataclass(frozen=True)
class SetMotionLength(Command):
    """Say how many poses a motion has."""

    CODE: ClassVar[bytes] = bytes.fromhex("F7")

    board: int
    motion: int
    poses: int


@dataclass(frozen=True)
class GetMotionLength(Command):
    """Ask how many poses a motion has."""

    CODE: ClassVar[bytes] = bytes.fromhex("F6")
    REPLY: ClassVar[type[Reply]] = MotionLength

    board: int
    motion: int


@dataclass(frozen=True)
class SetScenario(Command):
    """Put a motion into a scenario."""

    CODE: ClassVar[bytes] = bytes.fromhex("F5")

    board: int
    scenario: int
    index: int
    motion: int


@dataclass(frozen=True)
class GetScenario(Command):
    """Ask for a motion of a scenario."""

    CODE: ClassVar[bytes] = bytes.fromhex("F4")
    REPLY: ClassVar[type[Reply]] = ScenarioMotion

    board: int
    scenario: int
    index: int


@dataclass(frozen=True)
class SetScenarioLength(Command):
    """Say how many motions a scenario has."""

    CODE: ClassVar[bytes] = bytes.fromhex("F3")

    board: int
    scenario: int
    length: int


@dataclass(frozen=True)
class GetScenarioLength(Command):
    """Ask how many motions a scenario has."""

    CODE: ClassVar[bytes] = bytes.fromhex("F2")
    REPLY: ClassVar[type[Reply]] = ScenarioLength

    board: int
    scenario: int


@dataclass(frozen=True)
class SetSwitches(Command):
    """Bit 0: sleep; bit 1: motion."""

    CODE: ClassVar[bytes] = bytes.fromhex("F1")

    board: int
    switches: int


@dataclass(frozen=True)
class GetSwitches(Command):
    """Ask for the switches."""

    CODE: ClassVar[bytes] = bytes.fromhex("F0")
    REPLY: ClassVar[type[Reply]] = Switches

    board: int


@dataclass(frozen=True)
class PlayMotion(Command):
    """Play a stored motion."""

    CODE: ClassVar[bytes] = bytes.fromhex("EF")

    board: int
    motion: int


@dataclass(frozen=True)
class PlayScenario(Command):
    """Play a stored scenario."""

    CODE: ClassVar[bytes] = bytes.fromhex("EE")

    board: int
    scenario: int


@dataclass(frozen=True)
class SetRemoteKeys(Command):
    """Let keys of the remote control play a motion."""

    CODE: ClassVar[bytes] = bytes.fromhex("ED")

    board: int
    key: int
    first: int
    second: int
    motion: int


@dataclass(frozen=True)
class GetRemoteKeys(Command):
    """Ask what keys of the remote control play."""

    CODE: ClassVar[bytes] = bytes.fromhex("EC")
    REPLY: ClassVar[type[Reply]] = RemoteKeys

    board: int
    key: int


@dataclass(frozen=True)
class SetTrims(Command):
    """Set the trims, 0 to 39 for -20 to +19 degrees."""

    CODE: ClassVar[bytes] = bytes.fromhex("E9")

    board: int
    trims: tuple[int, ...]


@dataclass(frozen=True)
class GetTrims(Command):
    """Ask for the trims."""

    CODE: ClassVar[bytes] = bytes.fromhex("E8")
    REPLY: ClassVar[type[Reply]] = Trims

    board: int


COMMANDS: dict[int, type[Command]] = {
    kind.CODE[0]: kind
    for kind in (
        SetId,
        GetId,
        SetPositions,
        GetPositions,
        StoreHome,
        GetHome,
        WritePose,
        ReadPose,
        SetMotionLength,
        GetMotionLength,
        SetScenario,
        GetScenario,
        SetScenarioLength,
        GetScenarioLength,
        SetSwitches,
        GetSwitches,
        PlayMotion,
        PlayScenario,
        SetRemoteKeys,
        GetRemoteKeys,
        SetTrims,
        GetTrims,
    )
}
"""Commands by their first byte."""


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
