# SPDX-License-Identifier: Apache-2.0
"""Replies that may still come: which request a reply belongs to, where none says so.

An acknowledgement of the RCB-1 names its board and nothing else. A late one, of a
request that was given up, looks like that of the next request. A board does what it is
commanded in order and answers in order, so a reply proves that no reply to an earlier
request of that board follows it. Which of several equal requests it answers is open:
here it is always taken for the oldest one. So what counts as answered was answered, or
a later one was.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from humans_sim.kondo.protocol import rcb1

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
        """Nothing was sent yet."""
        self.next_number = 0
        self._requests: list[_Request] = []
        self._orders: dict[int | None, tuple[rcb1.Command, int]] = {}

    def sent(self, command: rcb1.Command, now: float) -> int:
        """A request goes out; its number.

        Args:
            command: the request.
            now: time [s].
        """
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
        """A reply came that could be the one to a command.

        Returns:
            number of the oldest request that it may answer; -1 if there is none.
        """
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
        """All that came until a time was heard: what is old by then comes no more.

        Args:
            heard: the time [s].
        """
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
