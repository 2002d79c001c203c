# SPDX-License-Identifier: Apache-2.0
"""push-box.launch.py: the KHR-1 walks and pushes a box."""

from __future__ import annotations

import launched_graph
from humans_msgs.msg import WalkStatus
from visualization_msgs.msg import MarkerArray

generate_test_description = launched_graph.launch_test("push-box", real_time_factor="0")
"""As fast as the machine can."""
WAY = 0.02
"""How far the box is pushed, at least [m]."""


class TestPushBox(launched_graph.GraphCase, graph="push-box"):
    """The graph, while it runs."""

    def test_pushes_the_box(self) -> None:
        """Everything flows; the box moves forwards, and the robot stays up."""
        seen: list[WalkStatus] = []
        places: list[float] = []

        def see(message: MarkerArray) -> None:
            boxes = [marker for marker in message.markers if marker.ns == "box"]
            places.extend(marker.pose.position.x for marker in boxes)

        self.listen(WalkStatus, "walk_status", seen.append)
        self.listen(MarkerArray, "scene", see)
        self.wait_for_graph()
        self.wait(lambda: len(places) > 1, "the box")
        self.wait(lambda: places[-1] > 0.235 + WAY, "the box to be pushed")
        self.assertNotIn(WalkStatus.FALLEN, {status.phase for status in seen})
        self.assert_upright()


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
