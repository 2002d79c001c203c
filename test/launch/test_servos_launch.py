# SPDX-License-Identifier: Apache-2.0
"""servos.launch.py: the KHR-1 stands on servos that are a node of their own."""

from __future__ import annotations

from typing import Any

import launch_testing
import launched_graph
import pytest
from sensor_msgs.msg import JointState


@pytest.mark.launch_test
def generate_test_description() -> Any:
    """As fast as the machine can."""
    return launched_graph.launch_graph("servos", real_time_factor="0")


class TestServos(launched_graph.GraphCase):
    """The graph, while it runs."""

    graph = "servos"

    def test_head_turns_to_its_command(self) -> None:
        """Everything flows, and a command moves its joint alone."""
        angles: dict[str, float] = {}
        self.listen(
            JointState,
            "joint_states",
            lambda m: angles.update(zip(m.name, m.position, strict=True)),
        )
        commands = self.node.create_publisher(JointState, "joint_commands", 10)
        self.wait_for_graph()
        self.assertEqual(self.parameter("dynamics", "sync"), "lockstep")
        order = JointState(name=["head_yaw"], position=[0.3])

        def turned() -> bool:
            commands.publish(order)
            return abs(angles["head_yaw"] - 0.3) < 0.05

        self.wait(turned, "the head to turn")
        self.assertLess(abs(angles["l_knee"]), 0.1)
        self.assertLess(self.way, 0.02)
        self.assertGreater(self.places[-1][2], 0.9 * self.places[0][2])


@launch_testing.post_shutdown_test()
class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
