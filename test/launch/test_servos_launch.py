# SPDX-License-Identifier: Apache-2.0
"""servos.launch.py: the KHR-1 stands on servos that are a node of their own."""

from __future__ import annotations

import launched_graph
from sensor_msgs.msg import JointState

generate_test_description = launched_graph.launch_test("servos", real_time_factor="0")
"""As fast as the machine can."""


class TestServos(launched_graph.GraphCase, graph="servos"):
    """The graph, while it runs."""

    def test_head_turns_to_its_command(self) -> None:
        """Everything flows, and a command moves its joint alone."""
        angles = self.joint_angles()
        commands = self.node.create_publisher(JointState, "joint_commands", 10)
        self.wait_for_graph()
        self.assertEqual(self.parameter("dynamics", "sync"), "lockstep")
        order = JointState(name=["head_yaw"], position=[0.3])

        def turned() -> bool:
            commands.publish(order)
            return abs(angles["head_yaw"] - 0.3) < 0.05

        self.wait(turned, "the head to turn")
        self.assertLess(abs(angles["l_knee"]), 0.1)
        self.assertLess(self.distance, 0.02)
        self.assert_upright()


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
