# SPDX-License-Identifier: Apache-2.0
"""reconstruct.launch.py: a person's posture from markers that are made up."""

from __future__ import annotations

from typing import Any

import launch_testing
import launched_graph
import pytest
from humans_msgs.msg import ReconstructionQuality
from sensor_msgs.msg import JointState


@pytest.mark.launch_test
def generate_test_description() -> Any:
    """With the markers of a laboratory."""
    return launched_graph.launch_graph("reconstruct", marker_set="canonical")


class TestReconstruct(launched_graph.GraphCase):
    """The graph, while it runs."""

    graph = "reconstruct"

    def test_posture_follows_the_markers(self) -> None:
        """Everything flows; the knee bends, and the fit is that of the noise."""
        knee: list[float] = []
        rms: list[float] = []
        self.listen(
            JointState,
            "joint_states",
            lambda m: knee.append(m.position[list(m.name).index("l_knee")]),
        )
        self.listen(
            ReconstructionQuality, "reconstruction_quality", lambda m: rms.append(m.rms)
        )
        self.wait_for_graph()
        self.assertEqual(self.parameter("reconstruction", "model"), "human36")
        self.wait(lambda: max(knee) - min(knee) > 0.3, "the knee to bend")
        self.assertLess(sorted(rms)[len(rms) // 2], 0.012)


@launch_testing.post_shutdown_test()
class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
