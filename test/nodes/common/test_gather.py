# SPDX-License-Identifier: Apache-2.0
"""Messages put together by their stamps, whatever their order."""

from __future__ import annotations

from itertools import permutations

import pytest

from humans_sim.nodes.common.gather import Gather

TOPICS = ("joint_states", "imu", "l_sole/wrench")


def gather(depth: int = 8) -> Gather:
    """A gatherer of three topics."""
    return Gather(TOPICS[0], TOPICS[1:], depth)


@pytest.mark.parametrize("order", list(permutations(TOPICS)))
def test_complete_in_any_order(order: tuple[str, ...]) -> None:
    """The last topic completes the set, whichever it is."""
    found = gather()
    for topic in order[:-1]:
        assert found.put(topic, 5, topic.upper()) is None
    assert found.missing(5) == [order[-1]]
    complete = found.put(order[-1], 5, order[-1].upper())
    assert complete == {topic: topic.upper() for topic in TOPICS}
    assert found.newest == 5 and found.beginnings == 1


def test_stamps_do_not_mix() -> None:
    """Messages of two times on their way at once stay apart."""
    found = gather()
    for stamp in (1, 2):
        assert found.put("imu", stamp, stamp) is None
        assert found.put("joint_states", stamp, stamp) is None
    assert found.put("l_sole/wrench", 2, 2) == dict.fromkeys(TOPICS, 2)
    assert found.put("l_sole/wrench", 1, 1) == dict.fromkeys(TOPICS, 1)


def test_time_that_goes_back() -> None:
    """A reset begins anew; sensors that came ahead of the state count."""
    found = gather()
    found.put("joint_states", 900, "old")
    found.put("imu", 0, "new")
    assert found.put("joint_states", 0, "new") is None
    assert found.beginnings == 2 and found.newest == 0
    assert found.put("l_sole/wrench", 0, "new") == dict.fromkeys(TOPICS, "new")
    # What is left of the time before never becomes a state.
    assert found.put("imu", 900, "old") is None
    assert found.put("l_sole/wrench", 900, "old") is None
    assert found.missing(900) == ["joint_states"]


def test_same_state_again() -> None:
    """A simulation that waits repeats itself; that is no new beginning."""
    found = gather()
    for _ in range(2):
        complete = [found.put(topic, 0, topic) for topic in TOPICS][-1]
        assert complete is not None
    assert found.beginnings == 1


def test_memory_is_bounded() -> None:
    """A topic that never comes does not fill the memory."""
    found = gather(depth=4)
    for stamp in range(100):
        found.put("joint_states", stamp, None)
    assert found.dropped == 96
    assert found.missing(99) == sorted(TOPICS[1:])
    assert found.missing(0) == sorted(TOPICS)
