# SPDX-License-Identifier: Apache-2.0
"""walk.launch.py: the KHR-1 walks, turns to cmd_vel, and stops."""

from __future__ import annotations

import launched_graph
from geometry_msgs.msg import Twist
from humans_msgs.msg import WalkStatus

generate_test_description = launched_graph.launch_test(
    "walk", cmd_vel="[0.05, 0, 0]", real_time_factor="0"
)
"""It sets off at once, as fast as the machine can."""


class TestWalk(launched_graph.GraphCase, graph="walk"):
    """The graph, while it runs."""

    def test_walks_and_stops(self) -> None:
        """Everything flows, steps are made, a zero velocity lets it stand."""
        seen: list[WalkStatus] = []
        self.listen(WalkStatus, "walk_status", seen.append)
        velocity = self.node.create_publisher(Twist, "cmd_vel", 10)
        self.wait_for_graph()
        self.assertEqual(self.parameter("dynamics", "real_time_factor"), 0.0)
        self.assertEqual(list(self.parameter("walk", "cmd_vel")), [0.05, 0.0, 0.0])
        self.wait(lambda: seen[-1].steps >= 4, "four steps")
        self.assertAlmostEqual(seen[-1].commanded_velocity.linear.x, 0.05)
        velocity.publish(Twist())
        self.wait(lambda: seen[-1].phase == WalkStatus.STANDING, "standing")
        self.assertNotIn(WalkStatus.FALLEN, {status.phase for status in seen})
        self.assertLess(seen[-1].steps, 100)
        self.assertGreater(self.distance, 0.04)
        self.assert_upright()


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
