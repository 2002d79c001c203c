# SPDX-License-Identifier: Apache-2.0
"""The serial line to the boards: one command, one answer, bounded retries.

The RCB-1 knows no refusal and no way to begin again: what was damaged is not answered.
So the command is said once more: a few times at most, or until a deadline. Waits grow
where the line is slow, so that it is not flooded by repeats, and stay short where it
loses. A late reply counts for the request that it answers, and is not taken for that
of a later one (:mod:`.replies`).
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Self

from humans_sim.core.errors import ParameterError
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import BYTE, ProtocolError
from humans_sim.kondo.protocol.replies import (
    GROWTH,
    LONGEST_WAIT,
    Heard,
    OwedReplies,
    ReplyStream,
    ReplyTimeout,
    board_of,
)
from humans_sim.kondo.protocol.serial_port import LinkError, PortError, SerialPort

__all__ = ["LinkError", "LinkStatistics", "NoAnswerError", "PortError", "SerialLink"]

TIMEOUT = 0.03
"""Longest wait for an answer [s]."""
RETRIES = 4
_LATENCIES = 1000
_SHORTEST = 1e-3
"""Shortest wait for an answer before a deadline [s]."""


class NoAnswerError(LinkError, TimeoutError):
    """A board did not answer, however often it was asked."""


@dataclass
class LinkStatistics:
    """Statistics of a line.

    Attributes:
        sent: frames, repeated ones included.
        answered: commands that were.
        repeated: frames said once more.
        failed: commands that were given up.
        latencies: of the last answers, from the first byte sent [s].
    """

    sent: int = 0
    answered: int = 0
    repeated: int = 0
    failed: int = 0
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=_LATENCIES))


class SerialLink:
    """An open port; for one exchange at a time, from any thread.

    Whatever is said or heard raises a PortError where the port is gone.

    Args:
        timeout: longest wait for an answer [s]; quick commands wait a third of it.
        retries: how often a command is repeated that was not answered.
        adapt: wait less once it is known how long answers take.

    Raises:
        ParameterError: a number is out of its range.
        PortError: there is no such port, it is busy, or one may not use it.
    """

    def __init__(
        self,
        port: str,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        adapt: bool = True,
    ) -> None:
        if not 1e-3 <= timeout <= 10.0:
            raise ParameterError(f"timeout must be 0.001 to 10 s, not {timeout}")
        if not 0 <= retries <= 100:
            raise ParameterError(f"retries must be 0 to 100, not {retries}")
        self.port = port
        self.statistics = LinkStatistics()
        self._timeout, self._retries = timeout, retries
        self._lock = threading.Lock()
        self._owed = OwedReplies()
        self._waits = ReplyTimeout(timeout, adapt, self._owed)
        self._replies = ReplyStream(self._owed)
        self._latest: dict[tuple[int | None, type[rcb1.Reply]], Heard] = {}
        self._acknowledged: dict[int | None, int] = {}
        self._heard_at: dict[int, float] = {}
        self._bytes = 0
        self._port = SerialPort(port, timeout)

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Free the port."""
        with self._lock:
            self._port.close()

    def acknowledged(self, board: int | None) -> int:
        """Number of the last request that a board took, or it took a later one.

        That is as far as its acknowledgements prove it; -1: none did.
        """
        return self._acknowledged.get(board, -1)

    def heard_at(self, board: int) -> float:
        """When a board answered last, by time.monotonic() [s]; -inf: never."""
        return self._heard_at.get(board, -math.inf)

    def exchange(
        self,
        command: rcb1.Command,
        retries: int | None = None,
        within: float | None = None,
    ) -> rcb1.Reply:
        """Send a command and return its answer, never one to an earlier command.

        Args:
            command: what is said.
            retries: how often it is said once more; the link's unless given.
            within: say it again and again for so long instead [s].

        Raises:
            NoAnswerError: no sound answer came.
        """
        times = 1 + (self._retries if retries is None else retries)
        attempt, reason = 0, ""
        with self._lock:
            self._drain()
            first = self._owed.first_number(command)
            end = math.inf if within is None else time.monotonic() + within
            while attempt < times if within is None else self._left(attempt, end):
                self.statistics.repeated += attempt > 0
                attempt += 1
                # With a deadline the command itself comes first and is never left out.
                if within is None or attempt > 1:
                    settled = self._settle(command, first, end)
                    if within is None and not settled:
                        reason = "an earlier answer is still owed"
                        continue
                try:
                    reply = self._try(command, first, end)
                except ProtocolError as error:
                    reason = str(error)
                    continue
                self.statistics.answered += 1
                return reply
            self.statistics.failed += 1
        raise NoAnswerError(
            f"{self.port}: no answer to {type(command).__name__} "
            f"({attempt} times asked; {reason}): is the board on, and its id right?"
        )

    @property
    def next_number(self) -> int:
        """Number of the next request."""
        return self._owed.next_number

    @property
    def doubtful(self) -> bool:
        """Whether so much went unanswered that the line loses much, or is slow.

        A question decides which (:meth:`settle`); longer waits do, too.
        """
        return self._waits.doubtful

    def settle(self, order: rcb1.Command, enough: int | None = None) -> None:
        """Ask, where an earlier acknowledgement could be taken for an order's.

        The answer to a question comes after all that was owed, and distinguishes a slow
        line from one that loses bytes.

        Args:
            order: what is to be said next.
            enough: number of an earlier request whose acknowledgement is as good.
        """
        with self._lock:
            self._drain()
            first = self._owed.next_number if enough is None else enough
            self._settle(order, first, math.inf)

    def send(self, order: rcb1.Command, enough: int | None = None) -> bool:
        """Say an order once; whether an acknowledgement came that may be its own.

        It may be an earlier order's, too, where one is open: :meth:`acknowledged` names
        the order that was taken for certain, or a later one was. Late ones are heard
        with it. The caller says nothing that must not follow on what the board may have
        missed.

        Args:
            order: what is said.
            enough: number of an earlier request whose acknowledgement is as good.
        """
        with self._lock:
            self._drain()
            first = self._owed.next_number if enough is None else enough
            if self.acknowledged(board_of(order)) >= first:
                return True  # it came late
            try:
                self._try(order, first, math.inf, perhaps=True)
            except ProtocolError:
                self.statistics.failed += 1
                return False
            self.statistics.answered += 1
            return True

    def deliver(
        self, commands: Sequence[rcb1.Command], within: float
    ) -> list[rcb1.Command]:
        """Say commands to different boards until each acknowledged its own.

        Each is said at once. What is not acknowledged is said again when a question
        that was asked after it is answered, or nothing came for long: a line that is
        slow gets nothing more to do. A silent board does not keep the others waiting.

        Args:
            commands: one for each board.
            within: give up after so long [s].

        Returns:
            commands that were not acknowledged.
        """
        longest = max(LONGEST_WAIT, self._timeout)
        size = max(c.size() + c.REPLY.size() for c in commands)
        short = max(self._waits.usual(size, self._timeout), self._timeout)
        with self._lock:
            self._drain()
            end = time.monotonic() + within
            said = {c: self._owed.next_number + k for k, c in enumerate(commands)}
            probes: dict[rcb1.Command, int] = {}

            def left() -> list[rcb1.Command]:
                return [c for c in commands if not self._answered(c, said[c])]

            def settled() -> list[rcb1.Command]:
                return [c for c, n in probes.items() if self._answered(_probe(c), n)]

            def progress(before: int) -> bool:
                return bool(settled()) or len(left()) < before

            for command in commands:
                self._say_for(command, short, end, said[command])
            wait = short
            while left() and time.monotonic() < end:
                for command in left():
                    if command not in probes:
                        probes[command] = self._owed.next_number
                        self._say_for(_probe(command), short, end, probes[command])
                limit = min(time.monotonic() + wait, end)
                if self._listen(limit, partial(progress, len(left()))):
                    wait, again = short, settled()
                else:
                    probes.clear()  # the question was lost, or its answer
                    again = left() if wait >= longest else []
                    wait = min(GROWTH * wait, longest)
                self._drain()
                for command in again:
                    probes.pop(command, None)
                    if command in left():
                        self.statistics.repeated += 1
                        self._say_for(command, short, end, said[command])
            open_ones = left()
        self.statistics.answered += len(commands) - len(open_ones)
        self.statistics.failed += len(open_ones)
        return open_ones

    def _say_for(
        self, command: rcb1.Command, wait: float, end: float, first: int
    ) -> None:
        """Send a command and listen for a while."""
        with suppress(ProtocolError):
            self._write(command)
            limit = min(time.monotonic() + wait, end)
            self._listen(limit, lambda: self._answered(command, first))

    def _write(self, command: rcb1.Command) -> None:
        """Every command goes out here."""
        self.statistics.sent += 1
        self._owed.sent(command, time.monotonic())
        self._port.write(command.encode())

    @staticmethod
    def _left(attempt: int, end: float) -> bool:
        return attempt == 0 or time.monotonic() < end

    def _settle(self, command: rcb1.Command, first: int, end: float) -> bool:
        """Whether no earlier reply can be taken for a command's; ask, if one could.

        The answer to a question of another kind comes after all that was owed before.
        """
        board = self._owed.stale(command, first)
        if board is None and self.doubtful:
            board = board_of(command)  # before waits grow: is the line slow?
        if board is None or isinstance(command, rcb1.GetSwitches):
            return True  # or its own repeats will do
        # A question of a kind that is open would be taken for the earlier one.
        questions: Sequence[rcb1.Command] = (
            rcb1.GetSwitches(board),
            rcb1.GetPositions(board),
            rcb1.ReadPose(board, 0, 0),
        )
        free = (q for q in questions if self._owed.oldest(q) == math.inf)
        question = next(free, questions[0])
        with suppress(ProtocolError):
            self._try(question, 0, end)
        return self._owed.stale(command, first) is None

    def _try(
        self, command: rcb1.Command, first: int, end: float, perhaps: bool = False
    ) -> rcb1.Reply:
        """Send a command once and wait as long as answers usually take.

        Args:
            command: what is said.
            first: number of the first request that this is an answer to.
            end: of all waiting, by time.monotonic() [s].
            perhaps: an answer will do that may be an earlier request's, and may be this
                one's. On a line that loses no other one comes.
        """
        begun = time.monotonic()
        limit = self._waits.limit(command, begun, grows=not perhaps)
        limit = max(min(limit, end - begun), _SHORTEST)
        self._replies.hold = self._waits.hold()
        self._latest.pop((board_of(command), command.REPLY), None)
        self._bytes, number = 0, self._owed.next_number
        self._write(command)
        # Nothing that comes sooner is an answer to bytes that are still on the line.
        wire = (command.size() + command.REPLY.size()) * BYTE
        soonest = begun + wire if perhaps else math.inf

        def enough() -> bool:
            return self._answered(command, first, soonest)

        if not self._listen(begun + limit, enough):
            self._waits.missed(limit, self._bytes > 0, time.monotonic())
            raise ProtocolError(f"{self._bytes} bytes came, none of them the answer")
        heard = self._latest[board_of(command), command.REPLY]
        own = heard.number == number
        self._waits.answered(command, heard, heard.time - begun if own else None)
        if own:
            self.statistics.latencies.append(heard.time - begun)
        return heard.reply

    def _answered(
        self, command: rcb1.Command, first: int, soonest: float = math.inf
    ) -> bool:
        """Whether the last answer is to a request of this number, or came so late."""
        heard = self._latest.get((board_of(command), command.REPLY))
        return heard is not None and (heard.number >= first or heard.time >= soonest)

    def _listen(self, end: float, enough: Callable[[], object]) -> bool:
        """Hear replies until it is enough; whether it is, at a time [s]."""
        while not enough():
            self._hear(self._port.read(self._replies.look_again(end)))
            # Bytes that never end must not keep us.
            if time.monotonic() >= end:
                return bool(enough())
        return True

    def _drain(self) -> None:
        """Hear what has come meanwhile."""
        begun = time.monotonic()
        self._hear(self._port.drain())
        self._owed.expire(begun)

    def _hear(self, data: bytes) -> None:
        self._bytes += len(data)
        now = time.monotonic()
        for heard in self._replies.feed(data, now):
            self._latest[board_of(heard.command), heard.command.REPLY] = heard
            self._heard_at[heard.reply.board] = now
            self._waits.hear(heard)
            if isinstance(heard.reply, rcb1.Acknowledged):
                self._acknowledged[heard.reply.board] = heard.number


def _probe(command: rcb1.Command) -> rcb1.GetSwitches:
    """A question to the board of a command."""
    board = board_of(command)
    assert board is not None
    return rcb1.GetSwitches(board)
