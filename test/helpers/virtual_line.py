# SPDX-License-Identifier: Apache-2.0
"""A robot, its line and its boards in a time of their own: no thread, no waiting.

The driver's own code runs; its port is replaced by one that computes when bytes arrive,
and its clock by one that moves on when the port is waited for. The same seed gives the
same run on every machine, however busy.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from humans_sim.kondo.driver import watchdog
from humans_sim.kondo.driver.board import BoardError, RobotState
from humans_sim.kondo.driver.rcb1_boards import open_rcb1
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.emulation.emulator import (
    THINK,
    CommandStream,
    FaultyLine,
    LineFaults,
    khr1_boards,
)
from humans_sim.kondo.protocol import link as link_module
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.link import NoAnswerError, PortError
from humans_sim.kondo.protocol.rcb1 import BYTE, DEGREES

_CALL = 5e-5
"""Time that a call of the port takes [s]."""
_JITTER = 3e-4
"""Mean time by which an answer is late on a machine that has nothing else to do [s]."""


class VirtualLine:
    """Two boards at the other end of a line with faults; it is the driver's port.

    Args:
        faults: of the line.

    Attributes:
        now: time [s].
        taken: times and commands that boards took.
        sent: commands of the driver.
        steps: between set points that a board took one after the other [deg].
        most_open: replies that were on their way at the same time, at most.
        latest: how late after its command a reply came, at most [s].
        deaf: the boards receive nothing.
    """

    def __init__(self, faults: LineFaults) -> None:
        """Nothing was sent yet."""
        self.now = 100.0
        self.taken: list[tuple[float, rcb1.Command]] = []
        self.steps: list[int] = []
        self.sent: list[rcb1.Command] = []
        self.most_open, self.latest, self.deaf = 0, 0.0, False
        self.boards = khr1_boards()
        self._line, self._stream = FaultyLine(faults), CommandStream()
        self._rng = random.Random(faults.seed + 1)
        self._free = 0.0
        self._coming: list[tuple[float, int, bytes]] = []
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._last: dict[int, tuple[int, ...]] = {}

    def at(self, t: float, action: Callable[[], None]) -> None:
        """Let something happen at a time [s]."""
        heapq.heappush(self._due, (t, len(self._due), action))

    def advance(self, t: float) -> None:
        """Until a time [s], with all that happens meanwhile."""
        while self._due and self._due[0][0] <= t:
            due, _, action = heapq.heappop(self._due)
            self.now = max(self.now, due)
            action()
        self.now = max(self.now, t)

    def write(self, data: bytes) -> None:
        """Bytes from the driver: boards take their time, and answer."""
        self.advance(self.now + _CALL)
        due = max(self._free, self.now) + len(data) * BYTE
        self.sent.append(rcb1.decode_command(data))
        if self.deaf:
            return
        for command in self._stream.feed(self._line.carry(data)):
            reply = self._answer(command, due)
            if reply:
                due += THINK + len(reply) * BYTE + self._line.delay()
                due += self._rng.expovariate(1.0 / _JITTER)
                self._send(due, self._line.carry(reply))
                self.latest = max(self.latest, due - self.now)
        self._free = due

    def answers_in(self, delay: float, reply: rcb1.Reply) -> None:
        """Let a reply come after a time [s], whatever was asked."""
        self._send(self.now + delay, reply.encode())

    def _send(self, due: float, data: bytes) -> None:
        if data:
            heapq.heappush(self._coming, (due, len(self.taken), data))
            self.most_open = max(self.most_open, len(self._coming))

    def read(self, end: float) -> bytes:
        """What comes first before a time [s]."""
        self.advance(self.now + _CALL)
        if self._coming and self._coming[0][0] <= end:
            due, _, data = heapq.heappop(self._coming)
            self.advance(due)
            return data
        self.advance(end)
        return b""

    def drain(self) -> bytes:
        """What has come."""
        data = b""
        while self._coming and self._coming[0][0] <= self.now:
            data += heapq.heappop(self._coming)[2]
        return data

    def close(self) -> None:
        """There is no port."""

    def _answer(self, command: rcb1.Command, t: float) -> bytes:
        for board in self.boards:
            reply = board.hear(command, t)
            if reply is not None:
                self.taken.append((t, command))
                self._note(command)
                return reply.encode()
        return b""

    def _note(self, command: rcb1.Command) -> None:
        """A damaged frame that keeps its sum is no step of the driver's."""
        if isinstance(command, rcb1.SetPositions) and command in self.sent[-64:]:
            values = command.channels
            pairs = zip(self._last.get(command.board, values), values, strict=True)
            self.steps += [abs(b - a) for a, b in pairs if max(a, b) <= DEGREES]
            self._last[command.board] = values


class VirtualRobot:
    """A robot whose thread's beats are run one after the other.

    Attributes:
        line: with its boards.
        robot: the driver's.
    """

    def __init__(self, line: VirtualLine, settings: RobotSettings) -> None:
        """Find the boards, read the pose and hold it."""
        self.line = line
        self.robot = KondoRobot(settings, "virtual")
        boards = open_rcb1("virtual", settings)
        boards.find()
        self.robot._boards = boards
        self.robot._opened(boards)
        while self.robot.state is not RobotState.HOLDING:
            with suppress(NoAnswerError, BoardError):
                self.robot._take_pose(boards)

    def run(self, end: float) -> None:
        """Beat after beat until a time [s]."""
        while self.line.now < end:
            begun = self.line.now
            wait = self._beat()
            while self.line.now < begun + wait and not self.robot._hurries():
                due = self.line._due[0][0] if self.line._due else math.inf
                self.line.advance(min(begun + wait, max(due, self.line.now)))

    def _beat(self) -> float:
        """As the robot's thread does it; the time to the next one [s]."""
        robot = self.robot
        try:
            return (
                robot._look() if robot._boards is None else robot._beat(robot._boards)
            )
        except PortError as error:
            robot._lose(str(error))
            return 0.0


@contextmanager
def virtual_robot(faults: LineFaults) -> Iterator[VirtualRobot]:
    """A robot in a time of its own, its servos holding.

    Args:
        faults: of the line.
    """
    line = VirtualLine(faults)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.monotonic", lambda: line.now)
        patch.setattr(watchdog, "now", lambda: line.now)
        patch.setattr(link_module, "SerialPort", lambda *_: line)
        yield VirtualRobot(line, load_robot())
