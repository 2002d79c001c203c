# SPDX-License-Identifier: Apache-2.0
"""bip-one-step.launch.py: Bip makes one step by its task law."""

from __future__ import annotations

import launched_graph

generate_test_description = launched_graph.launch_test(
    "bip-one-step", real_time_factor="0"
)
"""As fast as the machine can."""


class TestBipOneStep(launched_graph.GraphCase, graph="bip-one-step"):
    """The graph, while it runs."""

    def test_steps(self) -> None:
        """Everything flows, and it comes forwards by half a step."""
        self.wait_for_graph()
        self.assertEqual(self.parameter("task_law", "model"), "bip")
        self.wait(lambda: self.places[-1][0] > self.places[0][0] + 0.09, "the step")
        self.assert_upright()


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
