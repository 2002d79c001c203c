# SPDX-License-Identifier: Apache-2.0
"""fes.launch.py: pulses move the right knee of a human."""

from __future__ import annotations

from typing import Any

import launch_testing
import launched_graph
import pytest
from humans_msgs.msg import Stimulation
from sensor_msgs.msg import JointState


@pytest.mark.launch_test
def generate_test_description() -> Any:
    """As fast as the machine can."""
    return launched_graph.launch_graph("fes", real_time_factor="0")


class TestFes(launched_graph.GraphCase):
    """The graph, while it runs."""

    graph = "fes"

    def test_hamstrings_bend_the_knee(self) -> None:
        """Everything flows; the knee hangs, and moves when it is stimulated."""
        angles: dict[str, float] = {}
        self.listen(
            JointState,
            "joint_states",
            lambda m: angles.update(zip(m.name, m.position, strict=True)),
        )
        pulses = self.node.create_publisher(Stimulation, "stimulation", 10)
        self.wait_for_graph()
        before = dict(angles)
        train = Stimulation(muscle_names=["r_hamstrings"])
        train.pulse_width, train.pulse_current = [0.0003], [0.1]
        train.pulse_period = [0.02]

        def bent() -> bool:
            # A train that runs keeps its clock, so it may be told again and again.
            pulses.publish(train)
            return abs(angles["r_knee"] - before["r_knee"]) > 0.2

        self.wait(bent, "the knee to bend")
        self.assertEqual(angles["l_knee"], before["l_knee"])


@launch_testing.post_shutdown_test()
class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
