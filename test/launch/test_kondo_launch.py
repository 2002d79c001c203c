# SPDX-License-Identifier: Apache-2.0
"""kondo.launch.py: emulated boards are energised, and follow a command."""

from __future__ import annotations

import launched_graph
from sensor_msgs.msg import JointState
from std_msgs.msg import String

generate_test_description = launched_graph.launch_test(
    "kondo", use_fake_hardware="true"
)
"""Without a robot."""


class TestKondo(launched_graph.GraphCase, graph="kondo"):
    """The graph, while it runs."""

    def test_head_turns(self) -> None:
        """Everything flows; a command moves the head, and states say so."""
        angles = self.joint_angles()
        commands = self.node.create_publisher(JointState, "joint_commands", 10)
        sources: list[str] = []
        self.node.create_subscription(
            String, "joint_states_source", lambda m: sources.append(m.data), 10
        )
        self.wait_for_graph()
        self.assertTrue(self.parameter("kondo_bridge", "use_fake_hardware"))

        def turned() -> bool:
            commands.publish(JointState(name=["head_yaw"], position=[0.5]))
            return abs(angles.get("head_yaw", 0.0) - 0.5) < 1e-6

        self.wait(turned, "the head to turn")
        self.assertNotIn("read back", sources)


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
