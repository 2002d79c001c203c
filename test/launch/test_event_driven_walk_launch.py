# SPDX-License-Identifier: Apache-2.0
"""walk.launch.py method:=event_driven: the KHR-1 walks from event to event."""

from __future__ import annotations

import launched_graph
from humans_msgs.msg import SimulationEvent, WalkStatus

generate_test_description = launched_graph.launch_test(
    "walk", cmd_vel="[0.05, 0, 0]", real_time_factor="0", method="event_driven"
)
"""It sets off at once, as fast as the machine can."""


class TestEventDrivenWalk(launched_graph.GraphCase, graph="walk"):
    """The graph, while it runs."""

    def test_walks(self) -> None:
        """Everything flows, two steps are made, and no time step is needed for them."""
        seen: list[WalkStatus] = []
        kinds: set[str] = set()
        self.listen(WalkStatus, "walk_status", seen.append)
        self.listen(SimulationEvent, "events", lambda event: kinds.add(event.kind))
        self.wait_for_graph()
        self.assertEqual(self.parameter("dynamics", "method"), "event_driven")
        self.assertEqual(self.parameter("dynamics", "integrator"), "rosenbrock")
        self.wait(lambda: seen[-1].steps >= 2, "two steps")
        self.assertNotIn(WalkStatus.FALLEN, {status.phase for status in seen})
        self.assertIn("contact_closed", kinds)
        self.assertNotIn("hand_over", kinds)
        self.assert_upright()


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
