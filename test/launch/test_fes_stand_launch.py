# SPDX-License-Identifier: Apache-2.0
"""fes-stand.launch.py: a human builds up force in its stimulated knees."""

from __future__ import annotations

import launched_graph
from humans_msgs.msg import MuscleStates

generate_test_description = launched_graph.launch_test(
    "fes-stand", real_time_factor="0"
)
"""As fast as the machine can."""


class TestFesStand(launched_graph.GraphCase, graph="fes-stand"):
    """The graph, while it runs."""

    def test_muscles_pull(self) -> None:
        """Everything flows, and the quadriceps pull after the delay of the pulses."""
        forces: dict[str, float] = {}
        self.listen(
            MuscleStates,
            "muscle_states",
            lambda m: forces.update({one.name: one.force for one in m.muscles}),
        )
        self.wait_for_graph()
        self.wait(
            lambda: min(forces.get(f"{s}_quadriceps", 0.0) for s in "lr") > 1.0,
            "force of both quadriceps",
        )
        self.assert_upright()


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""
