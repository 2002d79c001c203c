# SPDX-License-Identifier: Apache-2.0
"""bip-stand.launch.py: Bip stands by its task law."""

from __future__ import annotations

import launched_graph

generate_test_description = launched_graph.launch_test(
    "bip-stand", real_time_factor="0"
)
"""As fast as the machine can."""


class TestBipStand(launched_graph.GraphCase, graph="bip-stand"):
    """The graph, while it runs."""

    def test_stands(self) -> None:
        """Everything flows, and it stays where it is for a second."""
        self.wait_for_graph()
        self.assertEqual(self.parameter("task_law", "model"), "bip")
        self.wait(lambda: len(self.places) > 200, "a second of standing")
        self.assertLess(self.distance, 0.005)
        self.assert_upright()


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
