# SPDX-License-Identifier: Apache-2.0
"""reconstruct.launch.py: a person's posture from synthetic markers."""

from __future__ import annotations

import launched_graph
from humans_msgs.msg import ReconstructionQuality
from sensor_msgs.msg import JointState

generate_test_description = launched_graph.launch_test(
    "reconstruct", marker_set="canonical"
)
"""With the markers of a laboratory."""


class TestReconstruct(launched_graph.GraphCase, graph="reconstruct"):
    """The graph, while it runs."""

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


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
