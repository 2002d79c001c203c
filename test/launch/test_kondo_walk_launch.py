# SPDX-License-Identifier: Apache-2.0
"""kondo_walk.launch.py: emulated boards are led into a walk."""

from __future__ import annotations

from typing import Any

import launch_testing
import launched_graph
import pytest
from humans_msgs.msg import WalkStatus


@pytest.mark.launch_test
def generate_test_description() -> Any:
    """Without a robot."""
    return launched_graph.launch_graph(
        "kondo_walk", use_fake_hardware="true", cmd_vel="[0.03, 0, 0]"
    )


class TestKondoWalk(launched_graph.GraphCase):
    """The graph, while it runs."""

    graph = "kondo_walk"

    def test_it_steps(self) -> None:
        """Everything flows, and steps are made."""
        steps = [0]
        self.listen(WalkStatus, "walk_status", lambda m: steps.append(m.steps))
        self.wait_for_graph()
        self.wait(lambda: max(steps) >= 4, "four steps")


@launch_testing.post_shutdown_test()
class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
