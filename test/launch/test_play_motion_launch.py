# SPDX-License-Identifier: Apache-2.0
"""play-motion.launch.py: the KHR-1 plays a motion of its boards, and stands."""

from __future__ import annotations

from typing import Any

import launch_testing
import launched_graph
import pytest
from sensor_msgs.msg import JointState


@pytest.mark.launch_test
def generate_test_description() -> Any:
    """As fast as the machine can."""
    return launched_graph.launch_graph("play-motion", real_time_factor="0")


class TestPlayMotion(launched_graph.GraphCase):
    """The graph, while it runs."""

    graph = "play-motion"

    def test_joints_move_and_it_stands(self) -> None:
        """Everything flows; a joint goes more than half a radian, the robot stands."""
        least: dict[str, float] = {}
        most: dict[str, float] = {}

        def see(message: JointState) -> None:
            for name, angle in zip(message.name, message.position, strict=True):
                least[name] = min(angle, least.get(name, angle))
                most[name] = max(angle, most.get(name, angle))

        self.listen(JointState, "joint_states", see)
        self.wait_for_graph()
        self.wait(
            lambda: max(most[name] - least[name] for name in most) > 0.5,
            "a joint to move",
        )
        self.assertGreater(self.places[-1][2], 0.9 * self.places[0][2])


@launch_testing.post_shutdown_test()
class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
