"""Replies that may still come: which request a reply belongs to, where none says so.

An acknowledgement of the RCB-1 names its board and nothing else. A late one, of a
request that was given up, looks like that of the next request. A board does what it is
told in order and answers in order, so a reply proves that no reply to an earlier
request of that board follows it. Which of several equal requests it answers is open:
here it is always taken for the oldest one. So what counts as answered was answered.
"""

from __future__ import annotations

from typing import NamedTuple

from humans_sim.kondo import protocol as rcb1

_SHORT = rcb1.Switches.size()
"""Bytes of a reply that has no room for another one."""
_LATEST = 1.0
"""No reply comes later than this after its request [s]."""


class _Request(NamedTuple):
    number: int
    time: float
    board: int | None
    kind: type[rcb1.Reply]


def _board_of(command: rcb1.Command) -> int | None:
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

    def sent(self, command: rcb1.Command, now: float) -> None:
        """A request goes out.

        Args:
            command: the request.
            now: time [s].
        """
        request = _Request(self.next_number, now, _board_of(command), command.REPLY)
        self._requests.append(request)
        if command.REPLY is rcb1.Acknowledged:
            self._orders[request.board] = (command, self.first_number(command))
        self.next_number += 1

    def first_number(self, command: rcb1.Command) -> int:
        """Number of the first request whose reply is as good as a command's own.

        An order that is repeated, with no other to that board in between, is done
        whichever of its repeats was acknowledged. An answer tells of its own time.
        """
        order, number = self._orders.get(_board_of(command), (None, 0))
        return number if order == command else self.next_number

    def received(self, command: rcb1.Command) -> int:
        """A reply came that could be the one to a command.

        Returns:
            number of the oldest request that it may answer; -1 if there is none.
        """
        board = _board_of(command)
        for request in self._requests:
            if (request.board, request.kind) == (board, command.REPLY):
                self._requests = [
                    other
                    for other in self._requests
                    if other.board != board or other.number > request.number
                ]
                return request.number
        return -1

    def flushed(self, before: float) -> None:
        """The input was thrown away: replies that had come by then do not come again.

        Args:
            before: time at which that began [s].
        """
        oldest = before - _LATEST
        self._requests = [r for r in self._requests if r.time > oldest]

    def stale(self, command: rcb1.Command, first: int) -> int | None:
        """Board that owes an earlier reply which would be taken for a command's.

        That is one of its kind, or a long one: it may hold bytes that look like it.

        Args:
            command: that is, or will be, asked.
            first: number from which on requests are this command's own.
        """
        own = (_board_of(command), command.REPLY)
        for request in self._requests:
            long = request.kind.size() > _SHORT and request.kind is not command.REPLY
            if request.number < first and (own == request[2:] or long):
                return request.board
        return None
