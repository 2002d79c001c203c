# SPDX-License-Identifier: Apache-2.0
"""One set point after the other to all boards, and which of them acknowledged what."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence

from humans_sim.kondo.driver.board import Boards

_SILENCE = 1.0
"""A board that did not answer for so long is lost [s]."""
_MISSES = 5
"""... and left so many frames in a row unanswered: a busy machine is no lost line."""
_TRY = 0.1
"""A set point is repeated for no longer [s]."""


class SetPointDelivery:
    """Says set points to boards; of one thread.

    Args:
        boards: that receive them.
        period: between two set points [s].
    """

    def __init__(self, boards: Boards, period: float) -> None:
        """Every board counts as heard just now."""
        self._boards, self._period = boards, period
        self._beats = 0
        self.answered()

    def answered(self) -> None:
        """Every board answered just now."""
        now = time.monotonic()
        self._last = now
        self._begun = [now] * len(self._boards.names)
        self._acknowledged = [-math.inf] * len(self._boards.names)
        self._misses = [0] * len(self._boards.names)

    def deliver(
        self,
        values: Sequence[float | None],
        repeat: bool,
        interrupted: Callable[[], bool],
    ) -> bool:
        """Say a set point until every board acknowledged it, or another one is due.

        An acknowledgement that may be an earlier set point's will do: on a line that
        loses it is this one's, and on one that is slow no repeat would be any faster.

        Args:
            values: of all channels [deg].
            repeat: whether it is new: one that was heard once is said again by the next
                beat.
            interrupted: whether something else is due.

        Returns:
            whether every board did.
        """
        boards, begun = self._boards, time.monotonic()
        # Where the line is slow, the next one comes later, and so may the servos: a
        # frame whose damage its sum does not see then moves them more slowly, too.
        duration = min(max(begun - self._last, self._period), _TRY)
        self._last = begun
        self._beats = 0 if repeat else self._beats + 1
        # The board that has waited longest comes first, or none would ever be heard
        # of that is second where commands come faster than the line takes them.
        waiting = deque(sorted(range(len(boards.names)), key=self._heard_at))
        heard = 0
        while waiting and not interrupted():
            board = waiting.popleft()
            before = boards.heard_at[board]
            acknowledged = boards.move(board, values, duration)
            alive = acknowledged or boards.heard_at[board] > before
            self._misses[board] = 0 if alive else self._misses[board] + 1
            if boards.certain(board, values):
                self._acknowledged[board] = begun
            if acknowledged:
                heard += 1
            elif repeat and time.monotonic() < begun + _TRY:
                waiting.append(board)
        return heard == len(boards.names) and not interrupted()

    def settle(self, interrupted: Callable[[], bool]) -> None:
        """Ask boards that may have taken something else, in the time to spare.

        Not after the first beat since a new set point: the next one is near.

        Args:
            interrupted: whether something else is due.
        """
        if self._beats == 1:
            return
        for board in range(len(self._boards.names)):
            certain = self._acknowledged[board] >= self._last
            if not certain and not interrupted():
                self._boards.settle(board)

    def silent(self) -> str | None:
        """A board that has not answered for too long; None: none."""
        now = time.monotonic()
        for board, name in enumerate(self._boards.names):
            overdue = now > self._heard_at(board) + _SILENCE
            if overdue and self._misses[board] >= _MISSES:
                return f"{name} did not answer for {_SILENCE:g} s: is it on?"
        return None

    def unacknowledged(self, since: float) -> tuple[str, ...]:
        """Boards that have acknowledged no set point since a time [s]."""
        pairs = zip(self._boards.names, self._acknowledged, strict=True)
        return tuple(name for name, t in pairs if t <= since)

    def _heard_at(self, board: int) -> float:
        return max(self._boards.heard_at[board], self._begun[board])
