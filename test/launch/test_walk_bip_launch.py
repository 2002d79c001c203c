# SPDX-License-Identifier: Apache-2.0
"""walk-bip.launch.py: Bip walks."""

from __future__ import annotations

from typing import Any

import launch_testing
import launched_graph
import pytest
from humans_msgs.msg import WalkStatus


@pytest.mark.launch_test
def generate_test_description() -> Any:
    """It sets off at once, as fast as the machine can."""
    return launched_graph.launch_graph(
        "walk-bip", cmd_vel="[0.15, 0, 0]", real_time_factor="0"
    )


class TestWalkBip(launched_graph.GraphCase):
    """The graph, while it runs."""

    graph = "walk-bip"

    def test_walks(self) -> None:
        """Everything flows, and steps are made."""
        seen: list[WalkStatus] = []
        self.listen(WalkStatus, "walk_status", seen.append)
        self.wait_for_graph()
        self.assertEqual(self.parameter("walk", "model"), "bip")
        self.wait(lambda: seen[-1].steps >= 3, "three steps")
        self.assertNotIn(WalkStatus.FALLEN, {status.phase for status in seen})
        self.assertGreater(self.way, 0.1)
        self.assertGreater(self.places[-1][2], 0.9 * self.places[0][2])


@launch_testing.post_shutdown_test()
class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
