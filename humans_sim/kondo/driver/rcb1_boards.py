# SPDX-License-Identifier: Apache-2.0
"""Two RCB-1 on one line as one robot: set points, readings, limp servos."""

from __future__ import annotations

import time
from collections.abc import Sequence

from humans_sim.core.constants import SPEED_STEPS
from humans_sim.kondo.driver.board import BoardError, Boards, NotFreedError, array_of
from humans_sim.kondo.driver.robot_settings import RobotSettings
from humans_sim.kondo.motion.motion_file import UNUSED, KondoMotion, Pose
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.link import SerialLink
from humans_sim.kondo.protocol.rcb1 import (
    CHANNELS,
    DEGREES,
    FREE,
    MOTION,
    SLEEP,
    TRIM_ZERO,
)

_TRIES = 5
"""How often something is written until it is read back as it was written."""


class Rcb1Memory:
    """The memory of the boards of a robot, as one."""

    def __init__(self, link: SerialLink, ids: tuple[int, ...]) -> None:
        self._link, self._ids = link, ids

    def trims(self) -> tuple[int, ...]:
        """Trims that the boards add to every channel [deg]."""
        trims: list[int] = []
        for board in self._ids:
            reply = self._link.exchange(rcb1.GetTrims(board))
            assert isinstance(reply, rcb1.Trims)
            trims += [trim - TRIM_ZERO for trim in reply.trims]
        return tuple(trims)

    def set_trims(self, trims: Sequence[int]) -> None:
        """Let the boards add so much to every channel, -20 to 19 [deg]; compared.

        Raises:
            ProtocolError: a trim is out of its range.
            BoardError: the boards keep other ones.
        """
        if len(trims) != CHANNELS * len(self._ids):
            raise BoardError(
                f"{CHANNELS * len(self._ids)} trims must be given, not {len(trims)}"
            )
        orders = [
            rcb1.SetTrims(board, tuple(t + TRIM_ZERO for t in trims[k : k + CHANNELS]))
            for board, k in zip(self._ids, range(0, len(trims), CHANNELS), strict=True)
        ]
        for _ in range(_TRIES):
            for order in orders:
                self._link.exchange(order)
            if self.trims() == tuple(trims):
                return
        raise BoardError("the boards do not keep the trims")

    def store(self, number: int, motion: KondoMotion) -> None:
        """Write a motion into the boards' memory; every pose is read back.

        Raises:
            ProtocolError: the number is out of its range.
            BoardError: a board keeps another pose.
        """
        for k, board in enumerate(self._ids):
            part = slice(k * CHANNELS, (k + 1) * CHANNELS)
            for place, pose in enumerate(motion.poses):
                self._keep(
                    rcb1.WritePose(
                        board, number, place, pose.speed, pose.channels[part]
                    ),
                    rcb1.ReadPose(board, number, place),
                    rcb1.StoredPose(board, pose.speed, pose.channels[part]),
                )
            count = len(motion.poses)
            self._keep(
                rcb1.SetMotionLength(board, number, count),
                rcb1.GetMotionLength(board, number),
                rcb1.MotionLength(board, count),
            )

    def _keep(
        self, order: rcb1.Command, question: rcb1.Command, expected: rcb1.Reply
    ) -> None:
        for _ in range(_TRIES):
            self._link.exchange(order)
            if self._link.exchange(question) == expected:
                return
        raise BoardError(f"board {expected.board} does not keep {order}")

    def lengths(self, number: int) -> list[int]:
        """How many poses of a motion each board keeps."""
        lengths = []
        for board in self._ids:
            reply = self._link.exchange(rcb1.GetMotionLength(board, number))
            assert isinstance(reply, rcb1.MotionLength)
            lengths.append(reply.poses)
        return lengths

    def stored(self, number: int) -> KondoMotion | None:
        """The motion in the boards' memory; None where there is none.

        Raises:
            BoardError: the boards do not agree on its length or its speeds.
        """
        lengths = set(self.lengths(number))
        if len(lengths) != 1:
            raise BoardError(f"the boards keep motion {number} in different lengths")
        poses = [self._stored(number, place) for place in range(lengths.pop())]
        return KondoMotion(f"motion_{number}", tuple(poses)) if poses else None

    def _stored(self, number: int, place: int) -> Pose:
        channels: list[int] = []
        speeds = set()
        for board in self._ids:
            reply = self._link.exchange(rcb1.ReadPose(board, number, place))
            assert isinstance(reply, rcb1.StoredPose)
            channels += reply.channels
            speeds.add(reply.speed)
        if len(speeds) != 1:
            raise BoardError(f"motion {number}: speeds of pose {place} differ")
        used = (v if v <= DEGREES else UNUSED for v in channels)
        return Pose(speeds.pop(), tuple(used))

    def play(self, number: int) -> None:
        """Let every board play a motion of its memory.

        The boards time their own channels: they need not arrive together.
        """
        for board in self._ids:
            reply = self._link.exchange(rcb1.GetSwitches(board))
            assert isinstance(reply, rcb1.Switches)
            if not reply.switches & MOTION:
                self._link.exchange(rcb1.SetSwitches(board, reply.switches | MOTION))
        for board in self._ids:
            self._link.exchange(rcb1.PlayMotion(board, number))


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
        rounded, taken = self.rounded(values[self.channels(board)]), self.taken[board]
        target = array_of(rounded)
        far = taken.farthest(target)
        in_time = [k for k, s in enumerate(SPEED_STEPS) if far * s <= duration]
        speed = max(in_time, default=0)  # the fastest if none gets there in time
        channels = tuple(self._unused if v is None else int(v) for v in rounded)
        order = rcb1.SetPositions(self._ids[board], speed, channels)
        enough = taken.same_since(target)
        # A question takes time that the set point has to wait: it is asked where what
        # may be in force is far apart, so that the next steps would be shorter.
        if far > self._far or self._link.doubtful:
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
            pairs = list(zip(before, now, strict=True))
            if all(
                abs(a - b) <= _NEAR and (a > DEGREES) == (b > DEGREES) for a, b in pairs
            ):
                return now
            before = now
        raise BoardError(
            f"board {board} reports other angles at every reading: is the line good?"
        )

    def free(self, within: float) -> None:
        """Every servo is sent the byte that makes it limp."""
        begun, orders = time.monotonic(), list[rcb1.Command]()
        for k, board in enumerate(self._ids):
            used = self._used[self.channels(k)]
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
