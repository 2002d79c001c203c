# SPDX-License-Identifier: Apache-2.0
"""carpus.launch.py: a wrist is moved, and played."""

from __future__ import annotations

import tempfile
from pathlib import Path

import launched_graph
from diagnostic_msgs.msg import DiagnosticArray
from humans_msgs.msg import ContactStates
from sensor_msgs.msg import JointState
from small_wrists import write_own
from tf2_msgs.msg import TFMessage

FOLDER = Path(tempfile.mkdtemp())
PARAMETERS = FOLDER / "parameters.yaml"
PARAMETERS.write_text(
    "/**/anatomy:\n  ros__parameters:\n"
    f"    wrist: {write_own(FOLDER)}\n    step: 0.02\n"
    "    duration: 0.4\n    settling: 0.04\n    holding: 0.1\n"
)
generate_test_description = launched_graph.launch_test(
    "carpus",
    params_file=str(PARAMETERS),
    motion="extension",
    angle="8.0",
    resolution="0.002",
)
"""Three round bones: computed within a moment."""


class TestCarpus(launched_graph.GraphCase, graph="carpus"):
    """The graph, while it runs."""

    def test_wrist_moves_within_bounds(self) -> None:
        """Everything flows; the hand turns; nothing overlaps and no bone leaves."""
        turns: list[float] = []
        tensions: list[float] = []
        gaps: list[float] = []
        frames: set[str] = set()
        values: dict[str, str] = {}

        def on_status(message: DiagnosticArray) -> None:
            for status in message.status:
                values.update((entry.key, entry.value) for entry in status.values)

        self.listen(JointState, "bone_turns", lambda m: turns.append(m.position[0]))
        self.listen(JointState, "ligaments", lambda m: tensions.extend(m.effort))
        self.listen(
            ContactStates,
            "bone_contacts",
            lambda m: gaps.extend(point.gap for point in m.points),
        )
        self.listen(
            TFMessage,
            "/tf",
            lambda m: frames.update(t.child_frame_id for t in m.transforms),
        )
        self.listen(DiagnosticArray, "/diagnostics", on_status)
        self.wait_for_graph()
        self.assertEqual(self.parameter("anatomy", "motion"), "extension")
        self.wait(lambda: bool(turns) and max(turns) > 0.13, "the hand to turn")
        self.wait(lambda: "overlap [m]" in values, "the metrics")
        self.assertEqual(frames, {"radius", "lunate", "metacarpal-3"})
        self.assertGreater(max(tensions), 1.0)
        self.assertGreaterEqual(min(tensions), 0.0)
        self.assertGreater(min(gaps, default=0.0), -1e-6)
        self.assertLess(float(values["overlap [m]"]), 1e-6)
        self.assertLess(float(values["deep contacts"]), 0.02)
        self.assertLess(float(values["friction over normal force"]), 0.02 + 1e-6)


class TestExit(launched_graph.ExitCase):
    """The processes, after it."""

    processes = 1
