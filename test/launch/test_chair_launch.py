# SPDX-License-Identifier: Apache-2.0
"""chair.launch.py: a human leans forward on its chair, by torques."""

from __future__ import annotations

import launched_graph

generate_test_description = launched_graph.launch_test("chair", real_time_factor="0")
"""As fast as the machine can."""


class TestChair(launched_graph.GraphCase, graph="chair"):
    """The graph, while it runs."""

    def test_leans_forward(self) -> None:
        """Everything flows, and it moves its arms while it sits."""
        angles = self.joint_angles()
        self.wait_for_graph()
        self.assertEqual(
            self.parameter("scenario_law", "scenario"), "chair-sit-to-stand"
        )
        first = angles["l_shoulder_pitch"]
        self.wait(
            lambda: abs(angles["l_shoulder_pitch"] - first) > 0.05, "it to raise an arm"
        )
        self.assert_upright()


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
