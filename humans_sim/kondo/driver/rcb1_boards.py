# SPDX-License-Identifier: Apache-2.0
"""Two RCB-1 on one line as one robot: set points, readings, limp servos."""

from __future__ import annotations

import time
from collections.abc import Sequence

from humans_sim.core.servo_speeds import SPEED_STEPS
from humans_sim.kondo.driver.board import BoardError, Boards, NotFreedError
from humans_sim.kondo.driver.rcb1_memory import Rcb1Memory
from humans_sim.kondo.driver.robot_settings import RobotSettings
from humans_sim.kondo.driver.taken_range import array_of
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.frames import CHANNELS, DEGREES, FREE, SLEEP
from humans_sim.kondo.protocol.link import SerialLink

_FIND, _SURE = 2.0, 4.0
"""How long it is tried to find a board, and to be sure of a pose [s]."""
_READINGS = 12
"""How often a board is asked until it says the same twice."""
_NEAR = 3
"""Two readings, one after the other, differ by no more [deg]."""


class Rcb1Boards(Boards):
    """Two RCB-1 on one line.

    Attributes:
        memory: trims and motions that they keep.
    """

    def __init__(self, link: SerialLink, settings: RobotSettings) -> None:
        """Talk over a link; it is closed with the boards.

        Args:
            link: open.
            settings: of the robot.
        """
        super().__init__(
            [f"board {number}" for number in settings.ids], link.statistics
        )
        self._link, self._ids, self._unused = link, settings.ids, settings.unused
        self._used = tuple(
            number in settings.channels.channels
            for number in range(1, CHANNELS * len(self._ids) + 1)
        )
        self._far = settings.limits.step / 2
        self._nothing = (self._unused,) * CHANNELS
        self.memory = Rcb1Memory(link, self._ids)

    def find(self) -> None:
        """Ask every board for its switches."""
        for board in self._ids:
            self._link.exchange(rcb1.GetSwitches(board), within=_FIND)

    def move(self, board: int, values: Sequence[float | None], duration: float) -> bool:
        """Say one frame: whole degrees, the slowest sufficient speed."""
        rounded, taken = self.rounded(values[_part(board)]), self.taken[board]
        target = array_of(rounded)
        speed = _speed(taken.farthest(target), duration)
        channels = tuple(self._unused if v is None else int(v) for v in rounded)
        order = rcb1.SetPositions(self._ids[board], speed, channels)
        enough = taken.same_since(target)
        # A question takes time that the set point has to wait: it is asked where what
        # may be in force is far apart, so that the next steps would be shorter.
        if taken.farthest(target) > self._far or self._link.doubtful:
            self._link.settle(order, enough)
            self._note_acknowledged()
        if self.withheld():
            return False
        # What goes out may be taken, whatever comes of it.
        taken.sent(self._link.next_number, target)
        try:
            return self._link.send(order, enough)
        finally:
            self._note_acknowledged()

    def settle(self, board: int) -> None:
        """Ask for the switches where an acknowledgement is open."""
        try:
            self._link.settle(rcb1.SetPositions(self._ids[board], 0, self._nothing))
        finally:
            self._note_acknowledged()

    def _note_acknowledged(self) -> None:
        for k, number in enumerate(self._ids):
            self.taken[k].acknowledged(self._link.acknowledged(number))
            self.heard_at[k] = self._link.heard_at(number)

    def read(self, sure: bool = False) -> tuple[float | None, ...]:
        """Whole degrees of the channels that have a servo."""
        readings: list[float | None] = []
        end = time.monotonic() + _SURE
        for k, board in enumerate(self._ids):
            if sure:
                self._awake(board, end)
            values = self._twice(board, end) if sure else self._read(board)
            for at, value in enumerate(values, k * CHANNELS):
                if self._used[at] and value > DEGREES:
                    raise BoardError(
                        f"board {board} reports no angle of channel {at + 1}: is its "
                        "servo plugged in?"
                    )
                readings.append(float(value) if self._used[at] else None)
        return tuple(readings)

    def _read(self, board: int, within: float | None = None) -> tuple[int, ...]:
        reply = self._link.exchange(rcb1.GetPositions(board), within=within)
        assert isinstance(reply, rcb1.Channels)
        return reply.channels

    def _awake(self, board: int, end: float) -> None:
        """A board that sleeps acknowledges set points and leaves its servos limp."""
        within = end - time.monotonic()
        reply = self._link.exchange(rcb1.GetSwitches(board), within=within)
        if isinstance(reply, rcb1.Switches) and reply.switches & SLEEP:
            raise BoardError(
                f"board {board} sleeps, its servos would not follow: clear its SLEEP "
                "bit first (rcb1.SetSwitches, or Kondo's own program)"
            )

    def _twice(self, board: int, end: float) -> tuple[int, ...]:
        """A frame's sum does not see every fault: two must agree."""
        before = self._read(board, end - time.monotonic())
        for _ in range(_READINGS):
            now = self._read(board, end - time.monotonic())
            if _near(before, now):
                return now
            before = now
        raise BoardError(
            f"board {board} reports other angles at every reading: is the line good?"
        )

    def free(self, within: float) -> None:
        """Every servo is sent the byte that makes it limp."""
        begun, orders = time.monotonic(), list[rcb1.Command]()
        for k, board in enumerate(self._ids):
            used = self._used[_part(k)]
            limp = tuple(FREE if u else self._unused for u in used)
            orders.append(rcb1.SetPositions(board, 0, limp))
        left = self._link.deliver(orders, within)
        self.forget()
        self.heard_at = [self._link.heard_at(number) for number in self._ids]
        if left:
            names = dict(zip(self.names, orders, strict=True))
            raise NotFreedError(
                [name for name, order in names.items() if order not in left],
                [name for name, order in names.items() if order in left],
                time.monotonic() - begun,
            )

    def close(self) -> None:
        """Free the port."""
        self._link.close()


def open_rcb1(port: str, settings: RobotSettings) -> Rcb1Boards:
    """The boards on a port.

    Raises:
        PortError: the port cannot be opened.
    """
    return Rcb1Boards(SerialLink(port), settings)


def _part(board: int) -> slice:
    """Channels of a board among all of the robot."""
    return slice(board * CHANNELS, (board + 1) * CHANNELS)


def _speed(change: float, duration: float) -> int:
    """The slowest speed step that gets there in time; the fastest if none does."""
    enough = [k for k, s in enumerate(SPEED_STEPS) if change * s <= duration]
    return max(enough, default=0)


def _near(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two readings give the same pose."""
    return all(
        abs(a - b) <= _NEAR and (a > DEGREES) == (b > DEGREES)
        for a, b in zip(one, other, strict=True)
    )
