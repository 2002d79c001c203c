# SPDX-License-Identifier: Apache-2.0
"""two-robots.launch.py: two KHR-1 in one scene walk until they touch each other."""

from __future__ import annotations

import launched_graph
from humans_msgs.msg import ContactStates
from nav_msgs.msg import Odometry

generate_test_description = launched_graph.launch_test(
    "two-robots", real_time_factor="0"
)
"""As fast as the machine can."""
NAMES = ("robot1", "robot2")


class TestTwoRobots(launched_graph.GraphCase, graph="two-robots"):
    """The graph, while it runs."""

    def test_they_meet(self) -> None:
        """Everything flows; each feels the other, and both stay up."""
        heights: dict[str, list[float]] = {name: [] for name in NAMES}
        met: dict[str, set[str]] = {name: set() for name in NAMES}
        for name in NAMES:
            self.listen(
                Odometry,
                f"{name}/ground_truth/odom",
                lambda m, own=heights[name]: own.append(m.pose.pose.position.z),
            )
            self.listen(
                ContactStates,
                f"{name}/ground_contacts",
                lambda m, own=met[name]: own.update(p.surface for p in m.points),
            )
        self.wait_for_graph()
        for name, other in (NAMES, NAMES[::-1]):
            self.wait(
                lambda n=name, o=other: any(s.startswith(f"{o}/") for s in met[n]),
                f"{name} to touch {other}",
            )
            self.assertGreater(min(heights[name]), 0.9 * heights[name][0])


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""

    processes = 7
