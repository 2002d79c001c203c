"""What boards may have taken, and how far the next set point may be from it."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from humans_sim.kondo.taken_range import TakenRange

ALL = slice(None)


def test_channels_of_which_nothing_is_known() -> None:
    """They bound nothing, and no way to them is known."""
    taken = TakenRange(2)
    lower, upper = taken.reach(12.0, 1.0)
    assert list(lower) == [-math.inf] * 2
    assert list(upper) == [math.inf] * 2
    assert taken.farthest(ALL, [10.0, None]) == 0.0
    taken.perhaps(slice(0, 1), [90.0])
    assert taken.farthest(ALL, [80.0, 80.0]) == 10.0


@given(st.lists(st.tuples(st.floats(0.0, 180.0), st.booleans(), st.booleans())))
def test_no_step_is_too_long(sent: list[tuple[float, bool, bool]]) -> None:
    """Whatever was taken and whatever was acknowledged, in whole degrees."""
    step, at = 12.5, 90.0
    taken = TakenRange(1)
    taken.taken(ALL, [at])
    for target, takes, answers in sent:
        lower, upper = taken.reach(step, 1.0)
        assert lower[0] <= upper[0]
        value = round(min(max(target, lower[0]), upper[0]))
        taken.perhaps(ALL, [value])
        assert abs(value - at) <= step
        assert taken.farthest(ALL, [value]) <= step
        if takes:
            at = value
            if answers:
                taken.taken(ALL, [value])
