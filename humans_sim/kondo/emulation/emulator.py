# SPDX-License-Identifier: Apache-2.0
"""A pair of RCB-1 boards on a pseudo-terminal: a robot to talk to without a robot.

A program opens :attr:`Emulator.port` as it would the serial port. Answers come as late
as the line's rate makes them: 115200 baud, ten bits a byte. Faults are injected on both
ways; :meth:`Emulator.unplug` takes the port away.
"""

from __future__ import annotations

import os
import random
import select
import threading
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from humans_sim.core.errors import ParameterError
from humans_sim.core.settings import check_settings, describe, setting
from humans_sim.kondo.emulation.virtual_board import VirtualBoard, virtual_boards
from humans_sim.kondo.motion.channels import load_channels
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import BYTE, FIRST_COMMAND, ProtocolError


@describe
@dataclass(frozen=True)
class LineFaults:
    """How often a line fails.

    Raises:
        SettingError: a share is not 0 to 1, or the delay not 0 to 60 s.
    """

    lost: float = setting(0.0, "Share of bytes that get lost.", 0.0, 1.0)
    corrupted: float = setting(0.0, "Share that is damaged.", 0.0, 1.0)
    doubled: float = setting(0.0, "Share that comes twice.", 0.0, 1.0)
    late: float = setting(0.0, "Share of answers that are late.", 0.0, 1.0)
    delay: float = setting(0.05, "Of late answers [s].", 0.0, 60.0)
    seed: int = setting(0, "Of the faults' chance.")

    def __post_init__(self) -> None:
        """Refuse numbers out of their ranges."""
        check_settings(self)


class FaultyLine:
    """A line that fails by the seed: the same bytes fail in the same way."""

    def __init__(self, faults: LineFaults) -> None:
        self.faults = faults
        self._rng = random.Random(faults.seed)

    def carry(self, data: bytes) -> bytes:
        """The bytes as they arrive."""
        out = bytearray()
        for byte in data:
            if self._rng.random() < self.faults.lost:
                continue
            if self._rng.random() < self.faults.corrupted:
                byte ^= self._rng.randrange(1, 256)
            out.append(byte)
            if self._rng.random() < self.faults.doubled:
                out.append(byte)
        return bytes(out)

    def delay(self) -> float:
        """How much later than it should a reply comes [s]."""
        return self.faults.delay if self._rng.random() < self.faults.late else 0.0


class CommandStream:
    """Commands in a stream of bytes, as a board hears them.

    A command byte always begins a frame: one that was not whole is given up. Bytes
    outside a frame, and frames that are none, are counted and left out.

    Attributes:
        lost: bytes that were no part of a command.
    """

    def __init__(self) -> None:
        self._frame = bytearray()
        self.lost = 0

    def feed(self, data: bytes) -> list[rcb1.Command]:
        """Commands that these bytes complete."""
        commands = []
        for byte in data:
            if byte >= FIRST_COMMAND:
                self.lost += len(self._frame)
                self._frame.clear()
            if not self._frame and byte not in rcb1.COMMANDS:
                self.lost += 1
                continue
            self._frame.append(byte)
            if len(self._frame) < rcb1.COMMANDS[self._frame[0]].size():
                continue
            try:
                commands.append(rcb1.decode_command(bytes(self._frame)))
            except ProtocolError:
                self.lost += len(self._frame)
            self._frame.clear()
        return commands


THINK = 0.0005
"""Time a board takes before it answers (assumed) [s]."""
_BEAT = 0.05
"""Longest wait for a byte before the thread looks whether it should end [s]."""
_YIELD = 0.001
"""Wait while the port is changed [s]."""


Listener = Callable[[float, rcb1.Command], None]
"""Called with the time of time.monotonic() [s] and a command that a board took."""
T = TypeVar("T")


def khr1_boards() -> tuple[VirtualBoard, ...]:
    """Boards 0 (upper body) and 1 (legs) of a KHR-1, at home."""
    return virtual_boards((0, 1), load_channels().home())


class Emulator:
    """Boards that listen on a pseudo-terminal, in a thread of their own.

    Use it in a ``with`` statement, or call :meth:`close`.

    Args:
        boards: on the line; None: those of a KHR-1.
        faults: of the line; None: none.
        link: a name that points to the port, the same after :meth:`replug`.
        watch: called with the time and each command that a board took.

    Attributes:
        heard: commands that were understood.
        lost: bytes that were no part of a command.

    Raises:
        ParameterError: ``link`` is something else already.
    """

    def __init__(
        self,
        boards: Sequence[VirtualBoard] | None = None,
        *,
        faults: LineFaults | None = None,
        link: Path | None = None,
        watch: Listener | None = None,
    ) -> None:
        if link is not None and link.exists() and not link.is_symlink():
            raise ParameterError(f"{link} exists, and is no link: it is left alone")
        self.boards = tuple(boards if boards is not None else khr1_boards())
        self._line = FaultyLine(faults or LineFaults())
        self._stream = CommandStream()
        self._link, self._watch = link, watch
        self._listeners: list[Listener] = []
        self.heard = 0
        self._master: int | None = None
        self._slave: int | None = None
        self._name = ""
        self._lock = threading.Lock()  # of the boards
        self._port_lock = threading.Lock()  # of the descriptors
        self._hands_off = threading.Event()
        self._end = threading.Event()
        self.replug()
        self._thread = threading.Thread(target=self._run, name="rcb1", daemon=True)
        self._thread.start()

    def __enter__(self) -> Emulator:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    @property
    def lost(self) -> int:
        """Bytes that were no part of a command."""
        return self._stream.lost

    @property
    def port(self) -> str:
        """Name of the port to open; empty while unplugged."""
        return self._name

    def angles(self, t: float | None = None) -> tuple[float, ...]:
        """Where all channels are led to, board after board [deg]."""
        now = time.monotonic() if t is None else t
        with self._lock:
            return tuple(v for board in self.boards for v in board.angles(now))

    def join(self, listener: Listener) -> float:
        """Let someone hear every command with the boards, from now on; now [s].

        Listeners are called in the order of time, and should be quick: the boards wait.
        """
        with self._lock:
            self._listeners.append(listener)
            return time.monotonic()

    def leave(self, listener: Listener) -> None:
        """Let someone hear no more."""
        with self._lock:
            self._listeners.remove(listener)

    def moment(self, look: Callable[[], T]) -> tuple[float, T]:
        """A time, and what is found while the boards wait: all before it was heard."""
        with self._lock:
            return time.monotonic(), look()

    def unplug(self) -> None:
        """Take the port away; whoever has it open gets an error."""
        with self._changing():
            self._free()

    def replug(self) -> None:
        """Give a port again; its name may be another, that of ``link`` is not."""
        with self._changing():
            self._free()
            self._master, self._slave = os.openpty()
            tty.setraw(self._slave)
            os.set_blocking(self._master, False)
            self._stream = CommandStream()
            self._name = os.ttyname(self._slave)
            if self._link is not None:
                self._link.symlink_to(self._name)
                self._name = str(self._link)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """The thread lets go of the port."""
        self._hands_off.set()
        with self._port_lock:
            yield
        self._hands_off.clear()

    def _free(self) -> None:
        for descriptor in (self._slave, self._master):
            if descriptor is not None:
                os.close(descriptor)
        self._master = self._slave = None
        self._name = ""
        if self._link is not None and self._link.is_symlink():
            self._link.unlink()

    def close(self) -> None:
        """End the thread and free the port."""
        self._end.set()
        self._thread.join()
        self.unplug()

    def _run(self) -> None:
        while not self._end.is_set():
            if self._hands_off.is_set():
                time.sleep(_YIELD)
                continue
            with self._port_lock:
                if self._master is not None:
                    self._listen(self._master)
                    continue
            self._end.wait(_BEAT)

    def _listen(self, master: int) -> None:
        if not select.select([master], [], [], _BEAT)[0]:
            return
        due, data = time.monotonic(), os.read(master, 4096)
        # The bytes took their time on the line.
        due += len(data) * BYTE
        self._wait(due)
        for command in self._stream.feed(self._line.carry(data)):
            reply = self._answer(command)
            if reply:
                due += THINK + len(reply) * BYTE + self._line.delay()
                self._wait(due)
                with suppress(BlockingIOError):  # nobody reads: it is lost
                    os.write(master, self._line.carry(reply))

    def _wait(self, due: float) -> None:
        """Until a time; a machine that is late once is not late ever after."""
        left = due - time.monotonic()
        if left > 0.0:
            self._end.wait(left)

    def _answer(self, command: rcb1.Command) -> bytes:
        """The boards' answer to a command: all hear it, the first one answers."""
        with self._lock:
            now = time.monotonic()
            self.heard += 1
            replies = [board.hear(command, now) for board in self.boards]
            reply = next((reply for reply in replies if reply is not None), None)
            if reply is None:
                return b""
            for listener in self._listeners:
                listener(now, command)
        if self._watch is not None:
            self._watch(now, command)
        return reply.encode()
