# SPDX-License-Identifier: Apache-2.0
"""fes-swing.launch.py: stimulation swings the right shank of a human."""

from __future__ import annotations

import launched_graph

generate_test_description = launched_graph.launch_test(
    "fes-swing", real_time_factor="0"
)
"""As fast as the machine can."""


class TestFesSwing(launched_graph.GraphCase, graph="fes-swing"):
    """The graph, while it runs."""

    def test_shank_swings_up(self) -> None:
        """Everything flows; the stimulated knee extends, the other one stays."""
        angles = self.joint_angles()
        self.wait_for_graph()
        self.wait(lambda: angles["r_knee"] > angles["l_knee"] + 0.2, "the knee")


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
