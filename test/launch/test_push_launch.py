# SPDX-License-Identifier: Apache-2.0
"""push.launch.py: the KHR-1 walks, is pushed, and walks on."""

from __future__ import annotations

from typing import Any

import launch_testing
import launched_graph
import pytest
from humans_msgs.msg import SimulationEvent, WalkStatus


@pytest.mark.launch_test
def generate_test_description() -> Any:
    """As fast as the machine can."""
    return launched_graph.launch_graph("push", real_time_factor="0")


class TestPush(launched_graph.GraphCase):
    """The graph, while it runs."""

    graph = "push"

    def test_walks_on_after_a_push(self) -> None:
        """Everything flows; two more steps are made after the first push."""
        seen: list[WalkStatus] = []
        pushed_at: list[int] = []

        def see(event: SimulationEvent) -> None:
            if event.kind == "push" and seen:
                pushed_at.append(seen[-1].steps)

        self.listen(WalkStatus, "walk_status", seen.append)
        self.listen(SimulationEvent, "events", see)
        self.wait(lambda: bool(pushed_at), "a push")
        self.wait_for_graph()
        self.wait(lambda: seen[-1].steps >= pushed_at[0] + 2, "two more steps")
        self.assertNotIn(WalkStatus.FALLEN, {status.phase for status in seen})
        self.assertGreater(self.places[-1][2], 0.9 * self.places[0][2])


@launch_testing.post_shutdown_test()
class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
