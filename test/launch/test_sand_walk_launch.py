# SPDX-License-Identifier: Apache-2.0
"""sand-walk.launch.py: the KHR-1 walks over sand and leaves footprints."""

from __future__ import annotations

import launched_graph
from humans_msgs.msg import WalkStatus
from nav_msgs.msg import OccupancyGrid

generate_test_description = launched_graph.launch_test(
    "sand-walk", real_time_factor="0"
)
"""As fast as the machine can."""


class TestSandWalk(launched_graph.GraphCase, graph="sand-walk"):
    """The graph, while it runs."""

    def test_leaves_footprints(self) -> None:
        """Everything flows; prints are as deep as a millimetre, the robot is up."""
        seen: list[WalkStatus] = []
        depths: list[int] = []

        def see(message: OccupancyGrid) -> None:
            depths.append(max(message.data))

        self.listen(WalkStatus, "walk_status", seen.append)
        self.listen(OccupancyGrid, "ground/depth", see)
        self.wait_for_graph()
        self.wait(lambda: bool(seen) and seen[-1].steps >= 2, "two steps")
        self.wait(lambda: bool(depths) and depths[-1] >= 10, "footprints")
        self.assertNotIn(WalkStatus.FALLEN, {status.phase for status in seen})
        self.assert_upright()


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
