# SPDX-License-Identifier: Apache-2.0
"""simulate.launch.py: the KHR-1 falls on its feet and stands."""

from __future__ import annotations

import launched_graph
from humans_msgs.msg import SimulationEvent

generate_test_description = launched_graph.launch_test("simulate", real_time_factor="0")
"""As fast as the machine can."""


class TestSimulate(launched_graph.GraphCase, graph="simulate"):
    """The graph, while it runs."""

    def test_lands_and_stands(self) -> None:
        """Everything flows; it stands a moment after the landing."""
        events: list[SimulationEvent] = []
        self.listen(SimulationEvent, "events", events.append)
        self.wait_for_graph()
        self.assertEqual(self.parameter("dynamics", "sync"), "free")
        count = len(self.places) + 100
        self.wait(lambda: len(self.places) > count, "a second of simulated time")
        self.assertNotIn("failure", {event.kind for event in events})
        self.assert_upright()
        self.assertLess(self.distance, 0.02)


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
