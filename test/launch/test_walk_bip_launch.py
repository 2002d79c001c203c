# SPDX-License-Identifier: Apache-2.0
"""walk-bip.launch.py: Bip walks."""

from __future__ import annotations

import launched_graph
from humans_msgs.msg import WalkStatus

generate_test_description = launched_graph.launch_test(
    "walk-bip", cmd_vel="[0.15, 0, 0]", real_time_factor="0"
)
"""It sets off at once, as fast as the machine can."""


class TestWalkBip(launched_graph.GraphCase, graph="walk-bip"):
    """The graph, while it runs."""

    def test_walks(self) -> None:
        """Everything flows, and steps are made."""
        seen: list[WalkStatus] = []
        self.listen(WalkStatus, "walk_status", seen.append)
        self.wait_for_graph()
        self.assertEqual(self.parameter("walk", "model"), "bip")
        self.wait(lambda: seen[-1].steps >= 3, "three steps")
        self.assertNotIn(WalkStatus.FALLEN, {status.phase for status in seen})
        self.assertGreater(self.distance, 0.1)
        self.assert_upright()


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
