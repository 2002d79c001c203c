# SPDX-License-Identifier: Apache-2.0
"""Replies in a stream of bytes, as a driver hears them.

Nothing is thrown away that may be a reply: a late acknowledgement counts for the
request that it answers. What is no reply to anything that was asked is left out. Nor
are twelve channels that all are zero taken for a reply of board 0: short replies in a
row, and a line at break, give the same bytes, and their sum is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.frames import CHANNELS, ProtocolError
from humans_sim.kondo.protocol.owed_replies import SHORT, OwedReplies, board_of

HOLD = 0.02
"""Bytes of one reply are no further apart on any line: adapters gather them for 16 ms
[s]."""


class Heard(NamedTuple):
    """A reply.

    Attributes:
        number: of the oldest request that it may answer.
        sent: when that one was sent [s].
        newest: when the newest one was sent that it may answer [s].
        time: when the reply was heard [s].
        command: one that asks for such a reply of that board.
        reply: it.
    """

    number: int
    sent: float
    newest: float
    time: float
    command: rcb1.Command
    reply: rcb1.Reply


class ReplyStream:
    """Finds the replies to requests that are open.

    Args:
        owed: the requests.

    Attributes:
        hold: bytes of one reply are no further apart on this line [s].
    """

    def __init__(self, owed: OwedReplies) -> None:
        """Nothing was heard yet."""
        self._owed, self.hold = owed, HOLD
        self._bytes = b""
        self._since = self._now = 0.0

    def feed(self, data: bytes, now: float) -> Iterator[Heard]:
        """Replies that these bytes complete.

        Args:
            data: what came; empty: nothing.
            now: time [s].
        """
        self._now = now
        if not self._bytes:
            self._since = now
        self._bytes += data
        while self._bytes:
            expected = self._owed.expected()
            if not expected:
                self._bytes = b""
                return
            heard = self._reply(expected, now)
            if heard is not None:
                self._since = now
                yield heard
            elif self._may_begin(expected, now):
                return
            elif self._owed.owes_long():  # a damaged one: no part of it is another
                self._bytes = b""
            else:
                self._bytes = self._bytes[1:]

    def look_again(self, end: float) -> float:
        """When to feed again, with nothing if nothing came, at a time at most [s]."""
        if not self._bytes or self._now >= self._since + self.hold:
            return end
        return min(end, self._since + self.hold)  # then these bytes begin no long reply

    def _reply(self, expected: list[rcb1.Command], now: float) -> Heard | None:
        """What the bytes begin with, the longest that it may be."""
        for command in expected:
            size = command.REPLY.size()
            if not self._of(command):
                continue
            if len(self._bytes) < size:
                if size > SHORT and now < self._since + self.hold:
                    return None  # a short one may be a part of it
                continue
            if size <= SHORT and not self._only_short(expected):
                continue
            if size > CHANNELS and not any(self._bytes[:size]):
                continue  # late switches of board 0 in a row, or a line at break
            try:
                reply = command.read_reply(self._bytes[:size])
            except ProtocolError:
                continue
            self._bytes = self._bytes[size:]
            sent = self._owed.oldest(command), self._owed.newest(command)
            return Heard(self._owed.received(command), *sent, now, command, reply)
        return None

    def _only_short(self, expected: list[rcb1.Command]) -> bool:
        """Whether these bytes are no part of a long reply that is owed.

        Angles that lost a byte on the line may hold the bytes of an acknowledgement: a
        run of bytes is short replies where all of it is.
        """
        if not self._owed.owes_long():
            return True
        short, left = [c for c in expected if c.REPLY.size() <= SHORT], self._bytes
        while left:
            for command in short:
                size = command.REPLY.size()
                with suppress(ProtocolError):
                    command.read_reply(left[:size])
                    left = left[size:]
                    break
            else:
                return False
        return True

    def _may_begin(self, expected: list[rcb1.Command], now: float) -> bool:
        """Whether more bytes could make a reply of these, or of a damaged one."""
        if self._owed.owes_long() and now < self._since + self.hold:
            return True
        for command in expected:
            size = command.REPLY.size()
            if len(self._bytes) < size and self._of(command):
                # What is left of a damaged reply would make one with the next one.
                return now < self._since + self.hold
        return False

    def _of(self, command: rcb1.Command) -> bool:
        return board_of(command) in (None, self._bytes[0])
