# SPDX-License-Identifier: Apache-2.0
"""The example that walks along a path by odom and cmd_vel, as it is typed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from humans_sim.core.doctor import ros_hint

pytestmark = [pytest.mark.ros, pytest.mark.study]

EXAMPLE = Path(__file__).parents[2] / "examples" / "ros" / "follow_path.py"
NEAR, END = 100, 80
"""How far the base, which sways, may be from the path and its end [mm]."""


def test_it_walks_to_the_end(ros_environment: dict[str, str]) -> None:
    """Straight on and round a curve, on the path by the truth and not by odom alone."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env=ros_environment,
        capture_output=True,
        text=True,
        timeout=480,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    length, seconds, away, rest = map(float, re.findall(r"[\d.]+", done.stdout)[:4])
    assert length == pytest.approx(0.3 + 0.3 * 1.5708, abs=0.01)
    assert length / 0.0625 < seconds < 60.0  # it cannot walk faster, and did not wait
    assert away < NEAR and rest < END, done.stdout
