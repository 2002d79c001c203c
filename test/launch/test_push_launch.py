# SPDX-License-Identifier: Apache-2.0
"""push.launch.py: the KHR-1 walks, is pushed, and walks on."""

from __future__ import annotations

import launched_graph
from humans_msgs.msg import SimulationEvent, WalkStatus

generate_test_description = launched_graph.launch_test("push", real_time_factor="0")
"""As fast as the machine can."""


class TestPush(launched_graph.GraphCase, graph="push"):
    """The graph, while it runs."""

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
        self.assert_upright()


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
