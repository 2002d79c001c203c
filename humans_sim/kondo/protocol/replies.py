# SPDX-License-Identifier: Apache-2.0
"""Replies of boards: the request of each, and the time it is waited for.

An acknowledgement of the RCB-1 names its board and nothing else. A late one, of a
request that was given up, looks like that of the next request. A board does what it is
commanded in order and answers in order, so a reply proves that no reply to an earlier
request of that board follows it. Which of several equal requests it answers is open:
here it is always taken for the oldest one. So what counts as answered was answered, or
a later one was.

*Stream of bytes*, as a driver hears it. Nothing is thrown away that may be a reply: a
late acknowledgement counts for the request that it answers. What is no reply to
anything that was asked is left out. Nor are twelve channels that all are zero taken for
a reply of board 0: short replies in a row, and a line at break, give the same bytes,
and their sum is right.

*Waiting* on a line that loses or on one that is slow. Both leave requests unanswered. A
line that loses is served by short waits and repeats; one that is slow would be flooded
by them. They differ in this: a slow line's answers come late, some of them so late
after the newest request that they may belong to that there is no doubt; and where it
says nothing at all, it says nothing for long. Only then do waits grow.

*Timeout*: a little longer than answers usually take, as the round-trip times of
networks: mean and mean deviation of what answers took beyond their time on the wire.
What goes unanswered widens it again, so that a line that became slow is not given up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import BYTE, CHANNELS, ProtocolError

SHORT = rcb1.Switches.size()
"""Bytes of a reply that has no room for another one."""
LATEST = 1.0
"""No reply comes later than this after its request [s]."""


class _Request(NamedTuple):
    number: int
    time: float
    command: rcb1.Command

    @property
    def board(self) -> int | None:
        return board_of(self.command)

    @property
    def key(self) -> tuple[int | None, type[rcb1.Reply]]:
        return self.board, self.command.REPLY


def board_of(command: rcb1.Command) -> int | None:
    """The board that a command is for; None: any."""
    return getattr(command, "board", None)


class OwedReplies:
    """Requests whose replies may still come, in the order in which they were sent.

    Attributes:
        next_number: of the next request.
    """

    def __init__(self) -> None:
        self.next_number = 0
        self._requests: list[_Request] = []
        self._orders: dict[int | None, tuple[rcb1.Command, int]] = {}

    def sent(self, command: rcb1.Command, now: float) -> int:
        """A request goes out at a time [s]; its number."""
        number, board = self.next_number, board_of(command)
        self._requests.append(_Request(number, now, command))
        if command.REPLY is rcb1.Acknowledged:
            self._orders[board] = (command, self.first_number(command))
        self.next_number += 1
        return number

    def first_number(self, command: rcb1.Command) -> int:
        """Number of the first request whose reply is as good as a command's own.

        An order that is repeated, with no other to that board in between, is done
        whichever of its repeats was acknowledged. An answer is of its own time.
        """
        order, number = self._orders.get(board_of(command), (None, 0))
        return number if order == command else self.next_number

    def count(self, since: float) -> int:
        """How many were sent after a time [s]."""
        return sum(request.time > since for request in self._requests)

    def oldest(self, command: rcb1.Command) -> float:
        """When the oldest open request like a command was sent [s]; inf: none is."""
        key = board_of(command), command.REPLY
        return min((r.time for r in self._requests if r.key == key), default=math.inf)

    def newest(self, command: rcb1.Command) -> float:
        """When the newest open request like a command was sent [s]; -inf: none is."""
        key = board_of(command), command.REPLY
        return max((r.time for r in self._requests if r.key == key), default=-math.inf)

    def owes_long(self) -> bool:
        """Whether a reply is open that a short one may be a part of."""
        return any(r.command.REPLY.size() > SHORT for r in self._requests)

    def expected(self) -> list[rcb1.Command]:
        """One request of each board and kind of reply, the longest replies first."""
        kinds = {request.key: request.command for request in reversed(self._requests)}
        return sorted(kinds.values(), key=lambda c: c.REPLY.size(), reverse=True)

    def received(self, command: rcb1.Command) -> int:
        """A reply came; number of the oldest request that it may answer, or -1."""
        board = board_of(command)
        for request in self._requests:
            if request.key == (board, command.REPLY):
                self._requests = [
                    other
                    for other in self._requests
                    if other.board != board or other.number > request.number
                ]
                return request.number
        return -1

    def expire(self, heard: float) -> None:
        """All was heard that came until a time [s]: older replies come no more."""
        oldest = heard - LATEST
        if self._requests and self._requests[0].time <= oldest:
            self._requests = [r for r in self._requests if r.time > oldest]

    def stale(self, command: rcb1.Command, first: int) -> int | None:
        """Board that owes an earlier reply which would be taken for a command's.

        That is one of its kind, or a long one: it may hold bytes that look like it.

        Args:
            command: that is, or will be, asked.
            first: number from which on requests are this command's own.
        """
        board, kind = board_of(command), command.REPLY
        for request in self._requests:
            if request.number >= first:
                break
            long = request.command.REPLY.size() > SHORT and request.key[1] is not kind
            # The first bytes of a short answer may look like an acknowledgement.
            alike = request.board == board and request.key[1] in (
                (kind, rcb1.Acknowledged)
                if kind.size() == SHORT and kind is not rcb1.Switches
                else (kind,)
            )
            if alike or long:
                return request.board
        return None


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
    """

    number: int
    sent: float
    newest: float
    time: float
    command: rcb1.Command
    reply: rcb1.Reply


class ReplyStream:
    """Finds the replies to requests that are open.

    Attributes:
        hold: bytes of one reply are no further apart on this line [s].
    """

    def __init__(self, owed: OwedReplies) -> None:
        self._owed, self.hold = owed, HOLD
        self._bytes = b""
        self._since = self._now = 0.0

    def feed(self, data: bytes, now: float) -> Iterator[Heard]:
        """Replies that these bytes, or none, complete at a time [s]."""
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
            elif now < self._since + self.hold and self._may_begin(expected):
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
        """The reply at the beginning of the bytes, the longest that it may be."""
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

    def _may_begin(self, expected: list[rcb1.Command]) -> bool:
        """Whether more bytes could make a reply of these, or of a damaged one."""
        # Later, what is left of a damaged reply would make one with the next one.
        return self._owed.owes_long() or any(
            len(self._bytes) < command.REPLY.size() and self._of(command)
            for command in expected
        )

    def _of(self, command: rcb1.Command) -> bool:
        return board_of(command) in (None, self._bytes[0])


_GAIN, _DEVIATION_GAIN, _DEVIATIONS = 0.125, 0.25, 4.0
_LEAST = 0.001
"""Never less beyond the time on the wire: the machine itself is late at times [s]."""
_LOST_BEFORE_DOUBLING, _MOST_DOUBLINGS = 3, 16
"""Unanswered in a row before the wait is doubled each time, and doublings at most."""


class RoundTripTime:
    """Learns from answers; not safe for several threads at once."""

    def __init__(self) -> None:
        self._mean: float | None = None
        self._deviation = 0.0
        self._missed = 0

    def miss(self) -> None:
        """No sound answer came in time."""
        self._missed += 1

    def hear(self) -> None:
        """An answer came soon, to one of several requests."""
        self._missed = 0

    def learn(self, size: int, taken: float) -> None:
        """An answer came: bytes of both ways, from the first to the last byte [s]."""
        self._missed = 0
        beyond = max(taken - size * BYTE, 0.0)
        if self._mean is None:
            self._mean, self._deviation = beyond, beyond / 2
            return
        self._deviation += _DEVIATION_GAIN * (
            abs(beyond - self._mean) - self._deviation
        )
        self._mean += _GAIN * (beyond - self._mean)

    def limit(
        self, size: int, longest: float, slow: float = 0.0, grows: bool = True
    ) -> float:
        """Time to wait for an answer [s].

        Args:
            size: bytes to be sent and received.
            longest: never more than this [s] ...
            slow: ... or than this, where answers were seen to take so long [s].
            grows: whether it grows with what went unanswered.
        """
        if self._mean is None:
            return longest
        beyond = max(self._mean + _DEVIATIONS * self._deviation, _LEAST)
        doublings = (
            min(max(self._missed - _LOST_BEFORE_DOUBLING, 0), _MOST_DOUBLINGS)
            if grows
            else 0
        )
        usual = size * BYTE + beyond
        return max(min(size * BYTE + beyond * 2**doublings, longest), min(usual, slow))


LONGEST_WAIT, GROWTH = 0.3, 3.0
"""Waits grow up to so long [s], by this factor each."""
_QUICK = (rcb1.StoreHome, rcb1.WritePose)
"""Commands that are answered at once: they wait a third of the time."""
_BORNE = 4
"""Unanswered in a row before waits grow."""
_AHEAD, _RECENT = 3, 0.1
"""Open requests that lengthen a wait, at most, and how old they are [s]."""
_SHORTEST_HOLD = 0.003
"""The rest of a reply is waited for so long at least [s]."""


class ReplyTimeout:
    """Waits of a line; not safe for several threads at once.

    Args:
        timeout: longest wait for an answer of a line that is as usual [s].
        adapt: wait less once it is known how long answers take.
    """

    def __init__(self, timeout: float, adapt: bool, owed: OwedReplies) -> None:
        self._timeout, self._adapt, self._owed = timeout, adapt, owed
        self._round_trip = RoundTripTime()
        self._unanswered = 0
        self._late_at = -math.inf

    @property
    def doubtful(self) -> bool:
        """Whether so much went unanswered that the line loses much, or is slow."""
        return self._unanswered >= _BORNE

    def limit(self, command: rcb1.Command, now: float, grows: bool = True) -> float:
        """How long an answer to a command is waited for [s].

        Args:
            command: that is sent now.
            now: time [s].
            grows: whether to find out if the line is slow; set points do not, because
                a question goes before them where much went unanswered.
        """
        usual = self.usual(
            command.size() + command.REPLY.size(), self._longest(command)
        )
        limit, slow = usual, self._slow(now)
        most = max(self._longest(command), LONGEST_WAIT)
        if self._adapt and (grows or slow):
            size = command.size() + command.REPLY.size()
            limit = self._round_trip.limit(size, self._longest(command), most)
        if grows and self._unanswered > _BORNE:
            grown = usual * GROWTH ** min(self._unanswered - _BORNE, 10)
            limit = max(limit, min(grown, LONGEST_WAIT))
        if slow and command.REPLY is not rcb1.Acknowledged:
            # What is open is answered first.
            ahead = min(self._owed.count(now - _RECENT), _AHEAD)
            limit = min((1 + ahead) * limit, most)
        if self._owed.owes_long():  # the reply may be kept for a part of it
            limit += self.hold()
        return limit

    def usual(self, size: int, longest: float) -> float:
        """How long answers of so many bytes take as a rule, or the longest [s]."""
        if not self._adapt:
            return longest
        most = max(longest, LONGEST_WAIT)
        return self._round_trip.limit(size, longest, most, grows=False)

    def hold(self) -> float:
        """How far the bytes of one reply are apart at most [s]."""
        if not self._adapt:
            return HOLD
        return max(self._round_trip.limit(0, HOLD, grows=False), _SHORTEST_HOLD)

    def hear(self, heard: Heard) -> None:
        """A reply came, to whatever was asked."""
        if heard.time > heard.newest + self._timeout:
            self._late_at = heard.time

    def answered(
        self, command: rcb1.Command, heard: Heard, taken: float | None
    ) -> None:
        """A command was answered, or an earlier one was.

        Args:
            command: that was asked.
            heard: the reply.
            taken: how long it took, if it is certain that it is this command's [s].
        """
        # One that was asked for earlier says little of how long answers take: the line
        # loses, or it is slow, as was seen where one came for certain late.
        soon = heard.time < heard.sent + self._longest(command)
        if taken is not None:
            self._round_trip.learn(command.size() + command.REPLY.size(), taken)
        if taken is not None or soon or not self._slow(heard.time):
            self._unanswered = 0
            self._round_trip.hear()

    def missed(self, waited: float, anything: bool, now: float) -> None:
        """No answer came.

        Args:
            waited: for so long [s].
            anything: whether any bytes did.
            now: time [s].
        """
        self._round_trip.miss()
        # Bytes that are no answer, and none that came late: the line is quick, and
        # damages them.
        if not anything or self._slow(now):
            self._unanswered += 1
        if waited >= LONGEST_WAIT and not anything:
            # A slow line would have answered one of the requests before: this one loses
            # them, and longer waits do not help it.
            self._unanswered = 0
            self._round_trip.hear()

    def _longest(self, command: rcb1.Command) -> float:
        return self._timeout / 3 if isinstance(command, _QUICK) else self._timeout

    def _slow(self, now: float) -> bool:
        """Whether an answer came late for certain, not long before a time [s]."""
        return now <= self._late_at + LATEST
