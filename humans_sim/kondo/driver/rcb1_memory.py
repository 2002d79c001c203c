# SPDX-License-Identifier: Apache-2.0
"""What RCB-1 boards keep: trims and motions, read back after they are written."""

from __future__ import annotations

from collections.abc import Sequence

from humans_sim.kondo.driver.board import BoardError
from humans_sim.kondo.motion.motion_file import UNUSED, KondoMotion, Pose
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.frames import CHANNELS, DEGREES, MOTION, TRIM_ZERO
from humans_sim.kondo.protocol.link import SerialLink

_TRIES = 5
"""How often something is written until it is read back as it was written."""


class Rcb1Memory:
    """The memory of the boards of a robot, as one."""

    def __init__(self, link: SerialLink, ids: tuple[int, ...]) -> None:
        """Of boards on an open link, in the order of their channels."""
        self._link, self._ids = link, ids

    def trims(self) -> tuple[int, ...]:
        """What the boards add to every channel [deg]."""
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
                f"{CHANNELS * len(self._ids)} trims are wanted, not {len(trims)}"
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

    def stored(self, number: int) -> KondoMotion | None:
        """The motion in the boards' memory; None where there is none.

        Raises:
            BoardError: the boards do not agree on its length or its speeds.
        """
        lengths = set()
        for board in self._ids:
            reply = self._link.exchange(rcb1.GetMotionLength(board, number))
            assert isinstance(reply, rcb1.MotionLength)
            lengths.add(reply.poses)
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
