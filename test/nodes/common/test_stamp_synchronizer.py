# SPDX-License-Identifier: Apache-2.0
"""Messages synchronized by their stamps, whatever their order."""

from __future__ import annotations

from itertools import permutations

import pytest

from humans_sim.nodes.common.stamp_synchronizer import StampSynchronizer

TOPICS = ("joint_states", "imu", "l_sole/wrench")


def synchronizer(depth: int = 8) -> StampSynchronizer:
    """A synchronizer of three topics."""
    return StampSynchronizer(TOPICS[0], TOPICS[1:], depth)


@pytest.mark.parametrize("order", list(permutations(TOPICS)))
def test_complete_in_any_order(order: tuple[str, ...]) -> None:
    """The last topic completes the set, whichever it is."""
    messages = synchronizer()
    for topic in order[:-1]:
        assert messages.put(topic, 5, topic.upper()) is None
    assert messages.missing(5) == [order[-1]]
    complete = messages.put(order[-1], 5, order[-1].upper())
    assert complete == {topic: topic.upper() for topic in TOPICS}
    assert messages.newest == 5 and messages.beginnings == 1


def test_stamps_do_not_mix() -> None:
    """Messages of two times on their way at once stay apart."""
    messages = synchronizer()
    for stamp in (1, 2):
        assert messages.put("imu", stamp, stamp) is None
        assert messages.put("joint_states", stamp, stamp) is None
    assert messages.put("l_sole/wrench", 2, 2) == dict.fromkeys(TOPICS, 2)
    assert messages.put("l_sole/wrench", 1, 1) == dict.fromkeys(TOPICS, 1)


def test_time_that_goes_back() -> None:
    """A reset begins anew; sensors that came ahead of the state count."""
    messages = synchronizer()
    messages.put("joint_states", 900, "old")
    messages.put("imu", 0, "new")
    assert messages.put("joint_states", 0, "new") is None
    assert messages.beginnings == 2 and messages.newest == 0
    assert messages.put("l_sole/wrench", 0, "new") == dict.fromkeys(TOPICS, "new")
    # What is left of the time before never becomes a state.
    assert messages.put("imu", 900, "old") is None
    assert messages.put("l_sole/wrench", 900, "old") is None
    assert messages.missing(900) == ["joint_states"]


def test_same_state_again() -> None:
    """A simulation that waits repeats itself; that is no new beginning."""
    messages = synchronizer()
    for _ in range(2):
        complete = [messages.put(topic, 0, topic) for topic in TOPICS][-1]
        assert complete is not None
    assert messages.beginnings == 1


def test_memory_is_bounded() -> None:
    """A topic that never comes does not fill the memory."""
    messages = synchronizer(depth=4)
    for stamp in range(100):
        messages.put("joint_states", stamp, None)
    assert messages.dropped == 96
    assert messages.missing(99) == sorted(TOPICS[1:])
    assert messages.missing(0) == sorted(TOPICS)
