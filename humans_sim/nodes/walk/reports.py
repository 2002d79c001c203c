# SPDX-License-Identifier: Apache-2.0
"""Ticks of a walk, reported with the odometry of their time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from humans_sim.control.walking import WalkCommand

_DEPTH = 32
"""Ticks that may wait for their odometry."""


class BaseSample(NamedTuple):
    """Where the base was.

    Attributes:
        stamp: when [ns].
        base: pose (7,).
        twist: in the base (6,).
        frame: of the pose.
    """

    stamp: int
    base: np.ndarray
    twist: np.ndarray
    frame: str


class WalkTick(NamedTuple):
    """A tick of a walk.

    Attributes:
        stamp: when [ns].
        t: when [s].
        joints: angles [rad].
        speeds: of the joints [rad/s].
        spent: wall time of the tick [s].
        text: what limits or stops the walk.
        failure: why the walk ended; empty: it has not.
        lies: whether the robot lies.
    """

    stamp: int
    t: float
    command: WalkCommand
    joints: np.ndarray
    speeds: np.ndarray
    spent: float
    text: str
    failure: str
    lies: bool


class TickReports:
    """Hands out ticks in their order, each with the base of its very time.

    So what is reported of a simulation in lock-step does not depend on which message
    came first. A tick does not wait where nobody publishes odometry, where odometry of
    a later time has come, or where too many wait; it is given the newest then.

    Args:
        expected: whether somebody publishes odometry.
        report: called with a tick, and with the base where that is known.
    """

    def __init__(
        self,
        expected: Callable[[], bool],
        report: Callable[[WalkTick, BaseSample | None], None],
    ) -> None:
        self._expected, self._report = expected, report
        self._waiting: deque[WalkTick] = deque()
        self._known: dict[int, BaseSample] = {}
        self._newest: BaseSample | None = None

    def see(self, sample: BaseSample) -> None:
        """Take odometry."""
        if self._newest is not None and sample.stamp < self._newest.stamp:
            self._known.clear()  # the time began anew
        self._known[sample.stamp] = self._newest = sample
        while len(self._known) > _DEPTH:
            del self._known[next(iter(self._known))]
        self._hand_out()

    def begin(self, stamp: int) -> None:
        """Time begins anew at a stamp [ns]; what waited of the time before is over."""
        while self._waiting:
            tick = self._waiting.popleft()
            self._report(tick, self._known.get(tick.stamp, self._newest))
        if self._newest is not None and self._newest.stamp > stamp:
            self._known.clear()
            self._newest = None

    def add(self, tick: WalkTick) -> None:
        """Report a tick, now or as soon as its odometry has come."""
        self._waiting.append(tick)
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting:
            tick = self._waiting[0]
            seen = self._known.get(tick.stamp)
            newest = self._newest
            later = newest is not None and newest.stamp > tick.stamp
            full = len(self._waiting) > _DEPTH
            if seen is None and not (later or full) and self._expected():
                return
            self._waiting.popleft()
            self._report(tick, seen or newest)
