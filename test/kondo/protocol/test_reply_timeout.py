# SPDX-License-Identifier: Apache-2.0
"""Waits on lines that lose and on lines that are slow."""

from __future__ import annotations

import pytest

from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.replies import (
    HOLD,
    LONGEST_WAIT,
    Heard,
    OwedReplies,
    ReplyTimeout,
)

QUESTION = rcb1.GetSwitches(0)
ORDER = rcb1.SetPositions(0, 0, (90,) * 12)
TIMEOUT = 0.03


def heard(sent: float, newest: float, time: float) -> Heard:
    """An answer that may be to one of several questions."""
    return Heard(0, sent, newest, time, QUESTION, rcb1.Switches(0, 0))


@pytest.fixture
def waits() -> ReplyTimeout:
    """Of a line that has answered for a while, after 2 ms."""
    timeout = ReplyTimeout(TIMEOUT, True, OwedReplies())
    for k in range(50):
        timeout.answered(QUESTION, heard(k, k, k + 0.002), 0.002)
    return timeout


def test_damaged_answers_are_no_reason_to_wait_longer(waits: ReplyTimeout) -> None:
    """The line is quick: only what is silent may be slow."""
    for _ in range(20):
        waits.missed(0.003, anything=True, now=100.0)
    assert not waits.doubtful
    for _ in range(8):
        waits.missed(0.003, anything=False, now=100.0)
    assert waits.doubtful
    assert waits.limit(QUESTION, 100.0) > TIMEOUT
    assert waits.limit(ORDER, 100.0, grows=False) < 0.005  # a question goes before it


def test_long_silence_is_no_slow_line(waits: ReplyTimeout) -> None:
    """After the longest wait without a byte the usual ones begin anew."""
    usual = waits.limit(QUESTION, 100.0)
    now, limits = 100.0, list[float]()
    for _ in range(20):
        limits.append(waits.limit(QUESTION, now))
        now += limits[-1]
        waits.missed(limits[-1], anything=False, now=now)
    assert max(limits) == LONGEST_WAIT
    assert limits[limits.index(LONGEST_WAIT) + 1] == usual


def test_a_late_answer_lets_waits_grow(waits: ReplyTimeout) -> None:
    """One that is late for certain: whatever comes then says little, for a second."""
    late = heard(99.5, 99.9, 100.0)
    for now in (100.0, 102.0):
        for _ in range(6):
            waits.missed(0.003, anything=False, now=now)
        assert waits.doubtful
        if now == 100.0:
            waits.hear(late)
        waits.answered(QUESTION, heard(now - 0.5, now, now + 0.002), None)
        assert waits.doubtful == (now == 100.0)


def test_what_is_open_on_a_slow_line_is_answered_first() -> None:
    """A question waits for what was asked before it; not where the line loses."""
    owed = OwedReplies()
    waits = ReplyTimeout(TIMEOUT, True, owed)
    waits.answered(QUESTION, heard(0.0, 0.0, 0.002), 0.002)
    before = waits.limit(QUESTION, 1.0)
    for _ in range(3):
        owed.sent(ORDER, 1.0)
    assert waits.limit(QUESTION, 1.0) == before
    waits.hear(heard(0.8, 0.9, 1.0))
    assert waits.limit(QUESTION, 1.0) == pytest.approx(4 * before)


def test_the_rest_of_a_reply(waits: ReplyTimeout) -> None:
    """It is waited for as long as this line needs, or where that is not known, any."""
    assert waits.hold() == pytest.approx(0.003)
    assert ReplyTimeout(TIMEOUT, True, OwedReplies()).hold() == HOLD
    assert ReplyTimeout(TIMEOUT, False, OwedReplies()).hold() == HOLD
    for k in range(100):  # an adapter that gathers bytes
        waits.answered(QUESTION, heard(k, k, k + 0.018), 0.018)
    assert waits.hold() > 0.016
