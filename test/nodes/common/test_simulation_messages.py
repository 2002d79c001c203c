# SPDX-License-Identifier: Apache-2.0
"""Events of a simulation as messages."""

from __future__ import annotations

import pytest

from humans_sim.core.doctor import ros_hint
from humans_sim.results.records import IMPACT, Event

pytestmark = pytest.mark.ros


def test_numbers_and_words_of_an_event() -> None:
    """An impact without a collision has a reason: a word among its numbers."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from humans_sim.nodes.common.simulation_messages import simulation_event

    detail = {"energy_before [J]": 2.0, "reason": "no collision", "text": "it jumps"}
    message = simulation_event(Event(1.5, IMPACT, "toe", detail))
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 500_000_000)
    assert (message.time, message.kind, message.subject) == (1.5, IMPACT, "toe")
    assert message.detail == "reason: no collision; it jumps"
    assert list(message.value_names) == ["energy_before [J]"]
    assert list(message.values) == [2.0]
