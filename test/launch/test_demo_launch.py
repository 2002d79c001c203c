# SPDX-License-Identifier: Apache-2.0
"""demo.launch.py: joints move, nothing is simulated."""

from __future__ import annotations

from typing import Any

import launch_testing
import launched_graph
import pytest
from sensor_msgs.msg import JointState


@pytest.mark.launch_test
def generate_test_description() -> Any:
    """Of another model."""
    return launched_graph.launch_graph("demo", model="bip")


class TestDemo(launched_graph.GraphCase):
    """The graph, while it runs."""

    graph = "demo"

    def test_joints_move(self) -> None:
        """Everything flows, and the knees of Bip move."""
        knee: list[float] = []
        self.listen(
            JointState,
            "joint_states",
            lambda m: knee.append(m.position[list(m.name).index("l_knee")]),
        )
        self.wait_for_graph()
        self.assertEqual(self.parameter("state_publisher", "model"), "bip")
        self.wait(lambda: max(knee) - min(knee) > 0.1, "the knee to move")


@launch_testing.post_shutdown_test()
class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
