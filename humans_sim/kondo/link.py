"""The serial line to the boards: one command, one answer, bounded retries.

The RCB-1 knows no refusal and no way to begin again: what was damaged is not answered.
So the input is thrown away, and the command said once more, a few times at most.
"""

from __future__ import annotations

import errno
import math
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import serial

from humans_sim.errors import HumansError, ParameterError
from humans_sim.kondo import protocol as rcb1
from humans_sim.kondo.frames import BAUD, ProtocolError
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
_OWED = 0.5
"""So long after a miss its answer may still come [s]."""


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
        self._missed = -math.inf
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

    def exchange(self, command: rcb1.Command, retries: int | None = None) -> rcb1.Reply:
        """Say a command and hear its answer.

        Args:
            command: what is said.
            retries: how often it is said once more; the link's unless given.

        Raises:
            NoAnswerError: no sound answer came.
            PortError: the port is gone.
        """
        data = command.encode()
        size = len(data) + command.REPLY.size()
        longest = self._timeout / 3 if isinstance(command, QUICK) else self._timeout
        times = 1 + (self._retries if retries is None else retries)
        reason = ""
        with self._lock:
            for attempt in range(times):
                self.statistics.repeated += attempt > 0
                limit = longest
                if self._adapt:
                    limit = self._patience.limit(size, longest)
                begun = time.monotonic()
                try:
                    reply = self._once(command, data, begun + limit)
                except ProtocolError as error:
                    reason = str(error)
                    self._patience.miss()
                    self._missed = time.monotonic()
                    continue
                taken = time.monotonic() - begun
                self._patience.learn(size, taken)
                self.statistics.latencies.append(taken)
                self.statistics.answered += 1
                return reply
            self.statistics.failed += 1
        raise NoAnswerError(
            f"{self.port}: no answer to {type(command).__name__} "
            f"({times} times asked; {reason}): is the board on, and its id right?"
        )

    def settle(self) -> None:
        """Wait for answers that are still owed, before a command that matters.

        An acknowledgement does not tell of what: a late one of a command that was given
        up would be taken for the next one's.
        """
        with self._lock:
            if time.monotonic() < self._missed + _OWED:
                time.sleep(self._timeout)

    def _once(self, command: rcb1.Command, data: bytes, end: float) -> rcb1.Reply:
        """Say it once; the answer that comes in time, whatever comes before it.

        An earlier command's late answer does not hide the one that is waited for.

        Raises:
            ProtocolError: none came.
        """
        line, size = self._serial, command.REPLY.size()
        answer, missing = b"", size
        try:
            line.reset_input_buffer()
            self.statistics.sent += 1
            try:
                line.write(data)
            except serial.SerialTimeoutException:
                raise ProtocolError("the line took no bytes") from None
            while True:
                line.timeout = max(end - time.monotonic(), 0.0)
                more = line.read(missing)
                answer += more
                try:
                    return command.read_reply(answer[-size:])
                except ProtocolError:
                    if not more:
                        raise
                missing = max(size - len(answer), 1)
        except _GONE as error:
            if isinstance(error, ProtocolError):  # which is a ValueError, too
                raise
            raise PortError(_plainly(self.port, error)) from error


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
