# SPDX-License-Identifier: Apache-2.0
"""kondo.launch.py: emulated boards are energised, and follow a command."""

from __future__ import annotations

from typing import Any

import launch_testing
import launched_graph
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String


@pytest.mark.launch_test
def generate_test_description() -> Any:
    """Without a robot."""
    return launched_graph.launch_graph("kondo", use_fake_hardware="true")


class TestKondo(launched_graph.GraphCase):
    """The graph, while it runs."""

    graph = "kondo"

    def test_head_turns(self) -> None:
        """Everything flows; a command moves the head, and states say so."""
        angles: dict[str, float] = {}
        self.listen(
            JointState,
            "joint_states",
            lambda m: angles.update(zip(m.name, m.position, strict=True)),
        )
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


@launch_testing.post_shutdown_test()
class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
