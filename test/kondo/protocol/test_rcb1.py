# SPDX-License-Identifier: Apache-2.0
"""The RCB-1's frames: known bytes, round trips, damage."""

from __future__ import annotations

import random
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from humans_sim.core.errors import HumansError
from humans_sim.kondo.emulation.emulator import CommandStream
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import (
    COMMANDS,
    DEGREES,
    FIRST_COMMAND,
    RANGES,
    SPECIAL,
    TRIM_MOST,
    ChecksumError,
    Command,
    Frame,
    ProtocolError,
    decode_command,
)

HOME_0 = (0x05, 0x00, 0x5A, 0xE1, 0xE1, 0x5A, 0xAF, 0xB4, 0x5A, 0xE1, 0xE1, 0xE1)
HOME_1 = (0x58, 0x73, 0x73, 0x5A, 0x5C, 0xE1, 0x5C, 0x41, 0x41, 0x5A, 0x58, 0xE1)
REPLIES = sorted({kind.REPLY for kind in COMMANDS.values()}, key=lambda k: k.__name__)


def values(name: str) -> some.SearchStrategy[object]:
    """All values of a field."""
    if name == "channels":
        one = some.one_of(some.integers(0, DEGREES), some.sampled_from(SPECIAL))
        return some.tuples(*[one] * 12)
    if name == "trims":
        return some.tuples(*[some.integers(0, TRIM_MOST)] * 12)
    return some.integers(0, RANGES[name] - 1)


def frames(kind: type[Frame]) -> some.SearchStrategy[Frame]:
    """All frames of a kind."""
    return some.builds(kind, **{f.name: values(f.name) for f in fields(kind)})


COMMAND = some.sampled_from(list(COMMANDS.values())).flatmap(frames)


@pytest.mark.parametrize(
    ("command", "bytes_"),
    [
        (rcb1.GetId(), "FE 7E"),
        (rcb1.SetId(2), "FF 5A 02 5B"),
        (rcb1.GetPositions(1), "FC 01 7D"),
        (rcb1.SetPositions(0, 4, (90,) * 12), "FD 00 04" + " 5A" * 12 + " 39"),
        (rcb1.SetPositions(1, 4, (90,) * 12), "FD 01 04" + " 5A" * 12 + " 3A"),
        (rcb1.SetPositions(0, 3, (45,) * 12), "FD 00 03" + " 2D" * 12 + " 1C"),
        (rcb1.PlayMotion(0, 1), "EF 00 01 70"),
        (rcb1.SetSwitches(0, 2), "F1 00 02 73"),
        (
            rcb1.SetPositions(0, 4, HOME_0),
            "FD 00 04 05 00 5A E1 E1 5A AF B4 5A E1 E1 E1 5C",
        ),
        (
            rcb1.SetPositions(1, 4, HOME_1),
            "FD 01 04 58 73 73 5A 5C E1 5C 41 41 5A 58 E1 48",
        ),
    ],
    ids=str,
)
def test_known_bytes(command: Command, bytes_: str) -> None:
    """Frames of the board's documentation and of open drivers."""
    assert command.encode() == bytes.fromhex(bytes_)
    assert decode_command(bytes.fromhex(bytes_)) == command


def test_sizes() -> None:
    """Lengths as the board's table has them."""
    sizes = {
        rcb1.SetPositions: (16, 2),
        rcb1.GetPositions: (3, 14),
        rcb1.GetHome: (3, 14),
        rcb1.WritePose: (18, 2),
        rcb1.ReadPose: (5, 15),
        rcb1.SetTrims: (15, 2),
        rcb1.GetTrims: (3, 14),
        rcb1.GetRemoteKeys: (4, 5),
        rcb1.GetId: (2, 2),
    }
    for kind, (asked, answered) in sizes.items():
        assert (kind.size(), kind.REPLY.size()) == (asked, answered), kind
    assert len(COMMANDS) == 22
    assert set(COMMANDS) == set(range(0xE8, 0x100)) - {0xEA, 0xEB}


@settings(max_examples=1000)
@given(COMMAND)
def test_commands_come_back(command: Command) -> None:
    """Every command over its whole range; no byte but the first begins a frame."""
    data = command.encode()
    assert len(data) == type(command).size()
    assert decode_command(data) == command
    assert max(data[1:]) < FIRST_COMMAND
    assert CommandStream().feed(data) == [command]


@settings(max_examples=1000)
@given(some.sampled_from(REPLIES).flatmap(frames))
def test_replies_come_back(reply: rcb1.Reply) -> None:
    """Every reply over its whole range."""
    data = reply.encode()
    assert len(data) == type(reply).size()
    assert type(reply).decode(data) == reply


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rcb1.GetPositions(32), "board must be 0 to 31"),
        (lambda: rcb1.GetPositions(True), "board must be"),
        (lambda: rcb1.GetPositions(0.5), "board must be"),
        (lambda: rcb1.SetPositions(0, 8, (90,) * 12), "speed must be 0 to 7"),
        (lambda: rcb1.SetPositions(0, 0, (90,) * 11), "tuple of 12"),
        (lambda: rcb1.SetPositions(0, 0, (181,) + (90,) * 11), "channel 1 must"),
        (lambda: rcb1.SetPositions(0, 0, (-1,) + (90,) * 11), "channel 1 must"),
        (
            lambda: rcb1.SetPositions(0, 0, (90,) * 11 + (float("nan"),)),
            "channel 12 must",
        ),
        (lambda: rcb1.SetTrims(0, (40,) * 12), "trim 1 must be 0 to 39"),
        (lambda: rcb1.WritePose(0, 40, 0, 0, (90,) * 12), "motion must be"),
    ],
)
def test_values_that_cannot_be(make: object, message: str) -> None:
    """Nothing out of its range becomes a frame."""
    with pytest.raises(ProtocolError, match=message):
        make()  # type: ignore[operator]


@settings(max_examples=500)
@given(COMMAND, some.data())
def test_one_wrong_byte_is_noticed(command: Command, data: some.DataObject) -> None:
    """A damaged frame never becomes another command by chance.

    The sum is of seven bits: the top bit of a byte is the one thing it does not see.
    """
    good = command.encode()
    place = data.draw(some.integers(0, len(good) - 1))
    change = data.draw(some.integers(1, 127))
    bad = bytearray(good)
    bad[place] ^= change
    with pytest.raises(ProtocolError):
        decode_command(bytes(bad))


def test_wrong_answers() -> None:
    """Another board's, a cut one, a damaged one, none."""
    ask = rcb1.GetPositions(1)
    answer = rcb1.Channels(1, (90,) * 12).encode()
    assert ask.read_reply(answer) == rcb1.Channels(1, (90,) * 12)
    with pytest.raises(ProtocolError, match="board 0 answered for board 1"):
        ask.read_reply(rcb1.Channels(0, (90,) * 12).encode())
    with pytest.raises(ProtocolError, match="14 bytes, not 13"):
        ask.read_reply(answer[:-1])
    with pytest.raises(ChecksumError):
        ask.read_reply(answer[:-1] + bytes([answer[-1] ^ 1]))
    with pytest.raises(ProtocolError, match="no acknowledgement"):
        rcb1.PlayMotion(1, 1).read_reply(b"\x01\x15")
    with pytest.raises(ProtocolError, match="nothing"):
        decode_command(b"")


def test_a_million_random_bytes() -> None:
    """Nothing but its own error, and the next whole command is heard."""
    rng = random.Random(7)
    stream = CommandStream()
    sound = rcb1.SetPositions(1, 3, HOME_1)
    heard = 0
    for _ in range(1000):
        stream.feed(rng.randbytes(1000))
        heard += sound in stream.feed(sound.encode())
        data = rng.randbytes(rng.randrange(1, 20))
        for kind in (decode_command, rcb1.Channels.decode):
            try:
                kind(data)
            except HumansError as error:
                assert isinstance(error, ProtocolError)
    assert heard == 1000
    assert stream.lost > 900_000


@settings(max_examples=300)
@given(some.lists(COMMAND, min_size=1, max_size=8), some.data())
def test_a_stream_in_any_pieces(commands: list[Command], data: some.DataObject) -> None:
    """However the line cuts it, the same commands are heard, in order."""
    line = b"".join(command.encode() for command in commands)
    stream, heard, at = CommandStream(), [], 0
    while at < len(line):
        size = data.draw(some.integers(1, len(line) - at))
        heard += stream.feed(line[at : at + size])
        at += size
    assert heard == commands and stream.lost == 0
