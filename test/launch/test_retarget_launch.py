# SPDX-License-Identifier: Apache-2.0
"""retarget.launch.py: emulated boards follow a person."""

from __future__ import annotations

import launched_graph
from sensor_msgs.msg import JointState

generate_test_description = launched_graph.launch_test(
    "retarget", use_fake_hardware="true"
)
"""Without a robot."""


class TestRetarget(launched_graph.GraphCase, graph="retarget"):
    """The graph, while it runs."""

    def test_it_follows(self) -> None:
        """Everything flows where a person is."""
        person = self.node.create_publisher(JointState, "person/joint_states", 10)

        def move() -> None:
            message = JointState(name=["r_elbow_pitch"], position=[1.0])
            message.header.stamp = self.node.get_clock().now().to_msg()
            person.publish(message)

        self.node.create_timer(0.02, move)
        self.wait_for_graph()


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
