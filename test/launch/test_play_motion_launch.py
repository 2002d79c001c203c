# SPDX-License-Identifier: Apache-2.0
"""play-motion.launch.py: the KHR-1 plays a motion of its boards, and stands."""

from __future__ import annotations

import launched_graph
from sensor_msgs.msg import JointState

generate_test_description = launched_graph.launch_test(
    "play-motion", real_time_factor="0"
)
"""As fast as the machine can."""


class TestPlayMotion(launched_graph.GraphCase, graph="play-motion"):
    """The graph, while it runs."""

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
            lambda: any(most[name] - least[name] > 0.5 for name in most),
            "a joint to move",
        )
        self.assert_upright()


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
