"""The serial line to the boards: one command, one answer, bounded retries.

The RCB-1 knows no refusal and no way to begin again: what was damaged is not answered.
So the input is thrown away, and the command said once more: a few times at most, or
until a deadline, with waits that grow, so that a slow line is not flooded by repeats. A
late reply to an earlier request is not taken for the answer (:mod:`.owed_replies`).
"""

from __future__ import annotations

import errno
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import serial

from humans_sim.errors import HumansError, ParameterError
from humans_sim.kondo import protocol as rcb1
from humans_sim.kondo.frames import BAUD, ProtocolError
from humans_sim.kondo.owed_replies import OwedReplies
from humans_sim.kondo.patience import Patience

try:
    import termios

    _GONE: tuple[type[Exception], ...] = (OSError, ValueError, TypeError, termios.error)
except ImportError:  # not a Unix
    _GONE = (OSError, ValueError, TypeError)

TIMEOUT = 0.03
"""Longest wait for an answer [s]."""
SHORT_TIMEOUT = 0.01
"""That of the commands that are answered at once [s]."""
QUICK = (rcb1.StoreHome, rcb1.WritePose)
RETRIES = 4
_LATENCIES = 1000
_BORNE, _GROWTH, _LONGEST = 4, 3.0, 0.3
"""Unanswered in a row before each wait is longer by this factor, up to so long [s]."""
_SHORTEST = 1e-3
"""Shortest wait for an answer before a deadline [s]."""
_CHUNK = 4096
"""Bytes that are looked at at once."""


class LinkError(HumansError):
    """The line does not do what it should."""


class PortError(LinkError, OSError):
    """The port cannot be opened, or is gone."""


class NoAnswerError(LinkError, TimeoutError):
    """A board did not answer, however often it was asked."""


@dataclass
class LinkStatistics:
    """What a line has done.

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
    """An open port; for one exchange at a time, from any thread."""

    def __init__(
        self,
        port: str,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        adapt: bool = True,
    ) -> None:
        """Open a port: 115200 baud, 8N1, no flow control, DTR low.

        Args:
            port: its name.
            timeout: longest wait for an answer [s]; quick commands wait a third of it.
            retries: how often a command is repeated that was not answered.
            adapt: wait less once it is known how long answers take.

        Raises:
            ParameterError: a number is out of its range.
            PortError: there is no such port, it is busy, or one may not use it.
        """
        if not 1e-3 <= timeout <= 10.0:
            raise ParameterError(f"timeout must be 0.001 to 10 s, not {timeout}")
        if not 0 <= retries <= 100:
            raise ParameterError(f"retries must be 0 to 100, not {retries}")
        self.port = port
        self.statistics = LinkStatistics()
        self._timeout, self._retries, self._adapt = timeout, retries, adapt
        self._lock = threading.Lock()
        self._patience = Patience()
        self._owed = OwedReplies()
        self._unanswered = 0
        self._serial = serial.Serial()
        self._serial.port, self._serial.baudrate = port, BAUD
        self._serial.timeout = self._serial.write_timeout = timeout
        self._serial.dtr = False  # or no answer is heard
        self._serial.exclusive = True
        try:
            self._serial.open()
        except _GONE as error:
            raise PortError(_plainly(port, error)) from error
        with suppress(NotImplementedError, *_GONE):
            # Adapters gather answers for 16 ms otherwise; few ports know this.
            self._serial.set_low_latency_mode(True)

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Free the port."""
        with self._lock:
            self._serial.close()

    def exchange(
        self,
        command: rcb1.Command,
        retries: int | None = None,
        within: float | None = None,
    ) -> rcb1.Reply:
        """Say a command and hear its answer: none that could be an earlier one's.

        Args:
            command: what is said.
            retries: how often it is said once more; the link's unless given.
            within: say it again and again for so long instead [s].

        Raises:
            NoAnswerError: no sound answer came.
            PortError: the port is gone.
        """
        times = 1 + (self._retries if retries is None else retries)
        attempt, reason = 0, ""
        with self._lock:
            first = self._owed.first_number(command)
            end = None if within is None else time.monotonic() + within
            while attempt < times if end is None else self._left(attempt, end):
                self.statistics.repeated += attempt > 0
                attempt += 1
                # With a deadline the command itself comes first and is never left out.
                if end is None or attempt > 1:
                    settled = self._settle(command, first, end)
                    if end is None and not settled:
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

    def deliver(
        self, commands: Sequence[rcb1.Command], within: float
    ) -> list[rcb1.Command]:
        """Say commands to different boards until each acknowledged its own.

        Nothing that comes is thrown away, and waits grow: answers that are late come
        all the same. A board that is silent does not keep the others waiting for long.

        Args:
            commands: one for each board.
            within: give up after so long [s].

        Returns:
            commands that were not acknowledged.

        Raises:
            PortError: the port is gone.
        """
        left, heard = list(commands), b""
        short, long = self._timeout, max(_LONGEST, self._timeout)
        if self._adapt:  # a line that is known to be slow is not asked twice at once
            size = max(c.size() + c.REPLY.size() for c in commands)
            short = max(short, self._patience.limit(size, short, long))
        wait, asked = short, 0
        with self._lock:
            first = self._owed.next_number
            end = time.monotonic() + within
            while left and time.monotonic() < end:
                for command in list(left):
                    owing = self._owed.stale(command, first)
                    if asked >= len(commands) and owing is None:
                        owing = getattr(command, "board", None)
                    if owing is not None:
                        # A question tells a line that is slow from one that loses.
                        probe = rcb1.GetSwitches(owing)
                        heard = self._hear(heard, left, probe, first, wait, end)
                        answered = self._owed.stale(probe, self._owed.next_number)
                        wait = short if answered is None else min(_GROWTH * wait, long)
                    asked += 1
                    if command in left and (wait == short or asked % _BORNE == 0):
                        heard = self._hear(heard, left, command, first, wait, end)
        self.statistics.answered += len(commands) - len(left)
        self.statistics.failed += len(left)
        return left

    def _hear(
        self,
        heard: bytes,
        left: list[rcb1.Command],
        said: rcb1.Command,
        first: int,
        wait: float,
        end: float,
    ) -> bytes:
        """Say a command; take what is acknowledged off a list until it was answered.

        Returns:
            bytes that may be the beginning of an answer.
        """
        end = min(time.monotonic() + wait, end)
        try:
            self._write(said)
        except serial.SerialTimeoutException:
            return heard
        except _GONE as error:
            raise PortError(_plainly(self.port, error)) from error
        line = self._serial
        while True:
            try:
                line.timeout = max(end - time.monotonic(), 0.0)
                more = line.read(max(min(line.in_waiting, _CHUNK), 1))
            except _GONE as error:
                raise PortError(_plainly(self.port, error)) from error
            heard += more
            answered = False
            while heard:
                command = _answered(heard, (said, *left))
                if command is not None:
                    heard = heard[command.REPLY.size() :]
                    if self._owed.received(command) >= first:
                        answered |= command == said
                        if command in left:
                            left.remove(command)
                elif len(heard) < said.REPLY.size():
                    break
                else:
                    heard = heard[1:]
            if answered or not more or time.monotonic() >= end:
                return heard

    def _write(self, command: rcb1.Command) -> None:
        """Every command goes out here."""
        self.statistics.sent += 1
        self._owed.sent(command, time.monotonic())
        self._serial.write(command.encode())

    @staticmethod
    def _left(attempt: int, end: float) -> bool:
        return attempt == 0 or time.monotonic() < end

    def _settle(self, command: rcb1.Command, first: int, end: float | None) -> bool:
        """Whether no earlier reply can be taken for a command's; ask, if one could.

        The answer to a question of another kind comes after all that was owed before.
        """
        board = self._owed.stale(command, first)
        if board is None or isinstance(command, rcb1.GetSwitches):
            return True  # or its own repeats will do
        with suppress(ProtocolError):
            self._try(rcb1.GetSwitches(board), 0, end)
        return self._owed.stale(command, first) is None

    def _try(self, command: rcb1.Command, first: int, end: float | None) -> rcb1.Reply:
        """Say a command once and wait for as long as answers use to take.

        Raises:
            ProtocolError: no answer came.
        """
        size = command.size() + command.REPLY.size()
        limit = longest = (
            self._timeout / 3 if isinstance(command, QUICK) else self._timeout
        )
        if self._adapt:
            limit = self._patience.limit(size, longest, max(longest, _LONGEST))
        if self._unanswered > _BORNE:
            grown = longest * _GROWTH ** min(self._unanswered - _BORNE, 10)
            limit = max(longest, min(grown, _LONGEST))
        begun = time.monotonic()
        if end is not None:
            limit = max(min(limit, end - begun), _SHORTEST)
        try:
            reply = self._once(command, begun + limit, first)
        except ProtocolError:
            self._patience.miss()
            self._unanswered += 1
            raise
        taken = time.monotonic() - begun
        self._patience.learn(size, taken)
        self._unanswered = 0
        self.statistics.latencies.append(taken)
        return reply

    def _once(self, command: rcb1.Command, end: float, first: int) -> rcb1.Reply:
        """Say it once; the answer that comes in time, whatever comes before it.

        Args:
            command: what is said.
            end: of the wait, by time.monotonic() [s].
            first: number of the first request that this is an answer to.

        Raises:
            ProtocolError: none came.
        """
        line, size, answer, heard = self._serial, command.REPLY.size(), b"", 0
        try:
            begun = time.monotonic()
            line.reset_input_buffer()
            self._owed.flushed(begun)
            try:
                self._write(command)
            except serial.SerialTimeoutException:
                raise ProtocolError("the line took no bytes") from None
            while True:
                line.timeout = max(end - time.monotonic(), 0.0)
                there = min(line.in_waiting, _CHUNK)
                more = line.read(max(size - len(answer), there, 1))
                heard += len(more)
                answer += more
                at = 0
                while at + size <= len(answer):
                    try:
                        reply = command.read_reply(answer[at : at + size])
                    except ProtocolError:
                        at += 1
                        continue
                    at += size
                    if self._owed.received(command) >= first:
                        return reply
                answer = answer[at:]
                # Bytes that never end must not keep us.
                if not more or time.monotonic() >= end:
                    raise ProtocolError(f"{heard} bytes came, none of them the answer")
        except _GONE as error:
            if isinstance(error, ProtocolError):  # which is a ValueError, too
                raise
            raise PortError(_plainly(self.port, error)) from error


def _answered(data: bytes, commands: Sequence[rcb1.Command]) -> rcb1.Command | None:
    """The command that bytes begin with an answer to."""
    for command in commands:
        with suppress(ProtocolError):
            command.read_reply(data[: command.REPLY.size()])
            return command
    return None


def _plainly(port: str, error: Exception) -> str:
    """What went wrong with a port, and what to do."""
    number = getattr(error, "errno", None)
    if number is None and "FileNotFoundError" in str(error):
        number = errno.ENOENT
    if number == errno.ENOENT:
        return (
            f"{port}: there is no such port: is the cable in? `humans-sim kondo ports`"
        )
    if number in (errno.EACCES, errno.EPERM):
        return (
            f"{port}: you may not use this port: add yourself to its group (dialout, "
            "on Debian and Ubuntu), and log in again"
        )
    if number in (errno.EBUSY, errno.EAGAIN) or "exclusively lock" in str(error):
        return f"{port}: another program has this port open: close it first"
    return f"{port}: the port is gone or is none: {error}"
