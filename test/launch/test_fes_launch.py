# SPDX-License-Identifier: Apache-2.0
"""fes.launch.py: pulses move the right knee of a human."""

from __future__ import annotations

import launched_graph
from humans_msgs.msg import Stimulation

generate_test_description = launched_graph.launch_test("fes", real_time_factor="0")
"""As fast as the machine can."""


class TestFes(launched_graph.GraphCase, graph="fes"):
    """The graph, while it runs."""

    def test_hamstrings_bend_the_knee(self) -> None:
        """Everything flows; the knee hangs, and moves when it is stimulated."""
        angles = self.joint_angles()
        pulses = self.node.create_publisher(Stimulation, "stimulation", 10)
        self.wait_for_graph()
        before = dict(angles)
        train = Stimulation(muscle_names=["r_hamstrings"])
        train.pulse_width, train.pulse_current = [0.0003], [0.1]
        train.pulse_period = [0.02]

        def bent() -> bool:
            # A train that runs keeps its clock, so it may be commanded again and again.
            pulses.publish(train)
            return abs(angles["r_knee"] - before["r_knee"]) > 0.2

        self.wait(bent, "the knee to bend")
        self.assertEqual(angles["l_knee"], before["l_knee"])


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
