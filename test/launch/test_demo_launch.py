# SPDX-License-Identifier: Apache-2.0
"""demo.launch.py: joints move, nothing is simulated."""

from __future__ import annotations

import launched_graph
from sensor_msgs.msg import JointState

generate_test_description = launched_graph.launch_test("demo", model="bip")
"""Of another model."""


class TestDemo(launched_graph.GraphCase, graph="demo"):
    """The graph, while it runs."""

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


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
