# SPDX-License-Identifier: Apache-2.0
"""Emulated boards in a process of their own: nothing a test does keeps them waiting."""

from __future__ import annotations

import time
from multiprocessing import get_context
from multiprocessing.managers import BaseManager
from pathlib import Path

from humans_sim.kondo.emulation.emulator import Emulator
from humans_sim.kondo.emulation.virtual_board import VirtualBoard
from humans_sim.kondo.protocol.rcb1 import SetMotionLength, WritePose

HEAD, HEAD_HOME = 5, 90
"""Place of the head among the channels, and its value at zero [deg]."""
KNEE = 14
"""Place of the left knee among the channels."""
_UNUSED = 0xE1


class Line:
    """A pair of boards on a line."""

    def __init__(self, link: str) -> None:
        """Plug it in.

        Args:
            link: name of the port.
        """
        self._emulator = Emulator(link=Path(link))

    def unplug(self) -> None:
        """Take the port away."""
        self._emulator.unplug()

    def replug(self) -> None:
        """Give it back."""
        self._emulator.replug()

    def bend(self, degrees: int) -> None:
        """Switch the boards off, bend the left knee by hand, switch them on."""
        home = [list(board.memory.home) for board in self._emulator.boards]
        home[1][KNEE - len(home[0])] -= degrees
        boards = [VirtualBoard(number, pose) for number, pose in enumerate(home)]
        self._emulator.boards = tuple(boards)

    def angles(self) -> tuple[float, ...]:
        """Where all channels are led to [deg]."""
        return self._emulator.angles()

    def head(self) -> float:
        """Where the head is led to, from its zero [deg]."""
        return self._emulator.angles()[HEAD] - HEAD_HOME

    def driven(self) -> int:
        """Servos that are driven."""
        return sum(sum(board.driven) for board in self._emulator.boards)

    def keep_motion(self, number: int, degrees: int) -> None:
        """Write a motion of one pose into the memory: the head turned."""
        for board in self._emulator.boards:
            pose = [v if v <= 180 else _UNUSED for v in board.memory.home]
            if board.board == 0:
                pose[HEAD] = HEAD_HOME + degrees
            now = time.monotonic()
            board.hear(WritePose(board.board, number, 0, 3, tuple(pose)), now)
            board.hear(SetMotionLength(board.board, number, 1), now)


class LineManager(BaseManager):
    """Starts the process; ``Line`` makes a line in it."""

    Line: type[Line]


LineManager.register("Line", Line)


def line_manager() -> LineManager:
    """A process for lines; shut it down at the end."""
    manager = LineManager(ctx=get_context("spawn"))
    manager.start()
    return manager
