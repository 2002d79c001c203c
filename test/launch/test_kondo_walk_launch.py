# SPDX-License-Identifier: Apache-2.0
"""kondo_walk.launch.py: emulated boards are led into a walk."""

from __future__ import annotations

import launched_graph
from humans_msgs.msg import WalkStatus

generate_test_description = launched_graph.launch_test(
    "kondo_walk", use_fake_hardware="true", cmd_vel="[0.03, 0, 0]"
)
"""Without a robot."""


class TestKondoWalk(launched_graph.GraphCase, graph="kondo_walk"):
    """The graph, while it runs."""

    def test_it_steps(self) -> None:
        """Everything flows, and steps are made."""
        steps = [0]
        self.listen(WalkStatus, "walk_status", lambda m: steps.append(m.steps))
        self.wait_for_graph()
        self.wait(lambda: max(steps) >= 4, "four steps")


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
