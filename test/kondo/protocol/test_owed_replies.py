# SPDX-License-Identifier: Apache-2.0
"""Which request a reply belongs to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.replies import OwedReplies

ORDER, QUESTION = rcb1.SetPositions(0, 0, (90,) * 12), rcb1.GetSwitches(0)
OTHER = rcb1.SetPositions(1, 0, (90,) * 12)


def test_a_reply_answers_the_oldest_request() -> None:
    """And nothing before it on that board is owed any more."""
    owed = OwedReplies()
    for command in (ORDER, OTHER, ORDER, QUESTION, ORDER):
        owed.sent(command, 0.0)
    assert owed.received(ORDER) == 0
    assert owed.stale(ORDER, 4) == 0
    assert owed.received(QUESTION) == 3
    assert owed.stale(ORDER, 4) is None  # number 2 is not answered after number 3
    assert owed.stale(OTHER, 5) == 1  # the other board's is
    assert owed.received(ORDER) == 4
    assert owed.received(ORDER) == -1


def test_a_repeated_order_is_one() -> None:
    """Whichever repeat is acknowledged; another order in between ends it."""
    owed = OwedReplies()
    free = rcb1.SetPositions(0, 0, (0xDD,) * 12)
    assert owed.first_number(ORDER) == 0
    for command in (ORDER, OTHER, QUESTION, ORDER):
        owed.sent(command, 0.0)
    assert owed.first_number(ORDER) == 0
    assert owed.first_number(free) == owed.first_number(QUESTION) == 4
    owed.sent(free, 0.0)
    assert owed.first_number(ORDER) == 5


def test_what_is_old_was_thrown_away() -> None:
    """A second after it was sent, its reply had come, or never does."""
    owed = OwedReplies()
    owed.sent(ORDER, 0.0)
    owed.expire(0.9)
    assert owed.stale(ORDER, 1) == 0
    owed.expire(1.1)
    assert owed.stale(ORDER, 1) is None


def test_a_long_reply_may_look_like_an_acknowledgement() -> None:
    """Angles of another board begin with the bytes that are waited for."""
    owed = OwedReplies()
    owed.sent(rcb1.GetPositions(0), 0.0)
    assert owed.stale(OTHER, 1) == 0
    assert owed.stale(rcb1.GetPositions(1), 1) is None


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans())))
def test_no_reply_is_taken_for_a_later_request(
    line: list[tuple[bool, bool, bool]],
) -> None:
    """Whatever is lost or late: the true request is never before the one named."""
    owed, waiting = OwedReplies(), list[tuple[int, rcb1.Command]]()
    for number, (order, lost, read) in enumerate(line):
        command = ORDER if order else QUESTION
        owed.sent(command, 0.0)
        if not lost:
            waiting.append((number, command))
        if read and waiting:
            true, answered = waiting.pop(0)
            assert -1 <= owed.received(answered) <= true
