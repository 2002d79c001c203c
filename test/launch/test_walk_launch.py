# SPDX-License-Identifier: Apache-2.0
"""walk.launch.py: the KHR-1 walks, turns to cmd_vel, and stops."""

from __future__ import annotations

from typing import Any

import launch_testing
import launched_graph
import pytest
from geometry_msgs.msg import Twist
from humans_msgs.msg import WalkStatus


@pytest.mark.launch_test
def generate_test_description() -> Any:
    """It sets off at once, as fast as the machine can."""
    return launched_graph.launch_graph(
        "walk", cmd_vel="[0.05, 0, 0]", real_time_factor="0"
    )


class TestWalk(launched_graph.GraphCase):
    """The graph, while it runs."""

    graph = "walk"

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
        self.assertGreater(self.way, 0.04)
        self.assertGreater(self.places[-1][2], 0.9 * self.places[0][2])


@launch_testing.post_shutdown_test()
class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
