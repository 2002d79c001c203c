# SPDX-License-Identifier: Apache-2.0
"""What boards may have in force, and how far the next set point may be from it."""

from __future__ import annotations

import math
from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from humans_sim.kondo.driver.board import TakenRange


def test_channels_of_which_nothing_is_known() -> None:
    """They bound nothing, and no way to them is known."""
    taken = TakenRange(2)
    lower, upper = taken.reach(12.0, 1.0)
    assert list(lower) == [-math.inf] * 2
    assert list(upper) == [math.inf] * 2
    assert taken.farthest([10.0, None]) == 0.0
    taken.sent(0, [90.0, None])
    assert taken.farthest([80.0, 80.0]) == 10.0


def test_late_acknowledgements_let_it_go_on() -> None:
    """Each that comes, of whichever frame, moves the reach on by the frame before."""
    taken = TakenRange(1)
    taken.known([90.0])
    for number, value in enumerate((95.0, 100.0, 102.0)):
        taken.sent(number, [value])
    assert taken.reach(12.0, 1.0)[1] == [102.0]
    taken.acknowledged(0)  # that of 95 degrees, or of any sent after it
    assert taken.reach(12.0, 1.0)[1] == [102.0]
    assert not taken.certain([102.0])
    taken.acknowledged(2)
    assert taken.certain([102.0])
    assert taken.reach(12.0, 1.0)[1] == [107.0]
    taken.sent(3, [102.0])
    taken.acknowledged(3)
    assert taken.reach(12.0, 1.0)[1] == [114.0]


def test_one_false_acknowledgement_makes_no_step_too_long() -> None:
    """What it rules out counts until the next one comes."""
    taken = TakenRange(1)
    taken.known([90.0])
    taken.sent(0, [100.0])  # lost, or taken as something else
    taken.acknowledged(0)
    assert taken.certain([100.0])
    assert [end[0] for end in taken.reach(12.0, 1.0)] == [88.0, 102.0]
    taken.acknowledged(0)  # the same one again is no news
    assert [end[0] for end in taken.reach(12.0, 1.0)] == [88.0, 102.0]
    taken.sent(1, [102.0])
    taken.acknowledged(1)
    assert [end[0] for end in taken.reach(12.0, 1.0)] == [90.0, 112.0]
    again = TakenRange(1)
    again.inherit(taken, [101.0])
    assert [end[0] for end in again.ends()] == [100.0, 102.0]


def test_repeats_are_one_set_point() -> None:
    """Any of them that is acknowledged makes it certain."""
    taken = TakenRange(2)
    taken.known([90.0, None])
    assert taken.same_since([90.0, None]) is None  # nothing of it is open
    for number, value in ((3, 95.0), (5, 96.0), (8, 96.0)):
        taken.sent(number, [value, None])
    assert taken.same_since([96.0, None]) == 5
    assert taken.same_since([95.0, None]) is None
    taken.acknowledged(5)
    assert taken.certain([96.0, None])


def test_a_line_that_is_opened_anew() -> None:
    """The last set points still count beside where the servo is."""
    old, new = TakenRange(1), TakenRange(1)
    old.known([90.0])
    old.sent(7, [100.0])
    new.inherit(old, [94.0])
    assert [end[0] for end in new.ends()] == [90.0, 100.0]


@given(
    st.lists(
        st.tuples(
            st.floats(0.0, 180.0), st.booleans(), st.booleans(), st.integers(0, 3)
        ),
        max_size=120,
    )
)
def test_no_step_is_too_long(sent: list[tuple[float, bool, bool, int]]) -> None:
    """Whatever is taken, answered and late: no frame is too far from the one before.

    Acknowledgements come in order, and each counts for the oldest frame without one.
    """
    step, at = 12.5, 90.0
    taken = TakenRange(1)
    taken.known([at])
    owed, coming = deque[int](), 0
    for number, (target, takes, answers, arrive) in enumerate(sent):
        lower, upper = taken.reach(step, 1.0)
        assert lower[0] <= upper[0]
        value = round(min(max(target, lower[0]), upper[0]))
        taken.sent(number, [value])
        owed.append(number)
        if takes:
            assert abs(value - at) <= step
            at = value
            coming += answers
        for _ in range(min(arrive, coming)):
            taken.acknowledged(owed.popleft())
            coming -= 1
