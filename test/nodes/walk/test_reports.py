# SPDX-License-Identifier: Apache-2.0
"""Ticks are reported with the odometry of their time, in whatever order both come."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from humans_sim.nodes.walk.reports import BaseSample, TickReports, WalkTick

PERIOD = 20


def sample(stamp: int) -> BaseSample:
    """Where the base is at a time."""
    return BaseSample(stamp, np.full(7, float(stamp)), np.zeros(6), "odom")


def tick(stamp: int) -> WalkTick:
    """A tick at a time."""
    command: Any = None
    none = np.zeros(0)
    return WalkTick(stamp, stamp * 1e-9, command, none, none, 0.0, "", "", False)


class Log:
    """What was reported: stamps of ticks, and of the odometry with each."""

    def __init__(self, expected: bool = True) -> None:
        """Nothing yet."""
        self.said: list[tuple[int, int | None]] = []
        self.reports = TickReports(lambda: expected, self._keep)

    def _keep(self, made: WalkTick, seen: BaseSample | None) -> None:
        self.said.append((made.stamp, None if seen is None else seen.stamp))


@given(st.lists(st.booleans(), max_size=40), st.integers(1, 12))
def test_order_does_not_matter(odometry_first: list[bool], ticks: int) -> None:
    """Each tick has its own odometry, as long as both come in their own order."""
    log, put, seen = Log(), 0, 0
    for first in [*odometry_first, *[True, False] * ticks]:
        if first and seen < ticks:
            log.reports.see(sample(PERIOD * seen))
            seen += 1
        elif not first and put < ticks:
            log.reports.add(tick(PERIOD * put))
            put += 1
    for k in range(put, ticks):
        log.reports.add(tick(PERIOD * k))
    for k in range(seen, ticks):
        log.reports.see(sample(PERIOD * k))
    assert log.said == [(PERIOD * k, PERIOD * k) for k in range(ticks)]


def test_nobody_publishes_odometry() -> None:
    """Ticks do not wait for what does not come."""
    log = Log(expected=False)
    log.reports.add(tick(0))
    assert log.said == [(0, None)]


def test_odometry_of_other_times() -> None:
    """On the wall clock stamps are not the same: the next one counts."""
    log = Log()
    log.reports.see(sample(5))
    log.reports.add(tick(20))
    assert not log.said
    log.reports.see(sample(25))
    assert log.said == [(20, 25)]


def test_odometry_that_stops() -> None:
    """Only so many ticks wait."""
    log = Log()
    log.reports.see(sample(0))
    for k in range(1, 60):
        log.reports.add(tick(PERIOD * k))
    assert log.said[0] == (PERIOD, 0)
    assert len(log.said) == 59 - 32


def test_time_begins_anew() -> None:
    """Nothing of the time before is taken for the new one, whoever begins first."""
    for odometry_first in (True, False):
        log = Log()
        for k in range(3):
            log.reports.see(sample(PERIOD * k))
            log.reports.add(tick(PERIOD * k))
        log.reports.add(tick(PERIOD * 3))  # its odometry never comes
        if odometry_first:
            log.reports.see(sample(0))
        log.reports.begin(0)
        log.reports.add(tick(0))
        if not odometry_first:
            log.reports.see(sample(0))
        assert log.said[3][0] == PERIOD * 3
        assert log.said[4:] == [(0, 0)]
