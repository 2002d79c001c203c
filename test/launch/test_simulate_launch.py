# SPDX-License-Identifier: Apache-2.0
"""simulate.launch.py: the KHR-1 falls on its feet and stands."""

from __future__ import annotations

from typing import Any

import launch_testing
import launched_graph
import pytest
from humans_msgs.msg import SimulationEvent


@pytest.mark.launch_test
def generate_test_description() -> Any:
    """As fast as the machine can."""
    return launched_graph.launch_graph("simulate", real_time_factor="0")


class TestSimulate(launched_graph.GraphCase):
    """The graph, while it runs."""

    graph = "simulate"

    def test_lands_and_stands(self) -> None:
        """Everything flows; it stands a moment after the landing."""
        events: list[SimulationEvent] = []
        self.listen(SimulationEvent, "events", events.append)
        self.wait_for_graph()
        self.assertEqual(self.parameter("dynamics", "sync"), "free")
        count = len(self.places) + 100
        self.wait(lambda: len(self.places) > count, "a second of simulated time")
        self.assertNotIn("failure", {event.kind for event in events})
        self.assertGreater(self.places[-1][2], 0.9 * self.places[0][2])
        self.assertLess(self.way, 0.02)


@launch_testing.post_shutdown_test()
class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
