# SPDX-License-Identifier: Apache-2.0
"""Bip by its task law and its motors, over real topics."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import humans_sim as hs
from humans_sim.control.bip.task import StepShape
from humans_sim.core.doctor import ros_hint

pytestmark = [pytest.mark.ros, pytest.mark.study]

DOWN = 4.5
"""By then the foot that steps has come down [s]."""


def test_one_step(
    node: Any, wait_for: Callable[..., None], start: Callable[..., Any], tmp_path: Path
) -> None:
    """The left foot comes down one step ahead, the right one stays where it is."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from rosgraph_msgs.msg import Clock

    now = [0.0]
    node.create_subscription(
        Clock, "/clock", lambda m: now.append(m.clock.sec + 1e-9 * m.clock.nanosec), 100
    )
    record = tmp_path / "run.npz"
    process = start(
        *("-m", "humans_sim", "up", "bip-one-step", "--headless"),
        *("--ros", "p dynamics:real_time_factor:=0.0"),
        *("--ros", f"p dynamics:record:={record}"),
    )
    wait_for(lambda: now[-1] > DOWN or process.poll() is not None, "the step")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60.0)
    assert process.returncode == 0, output
    run, bip = hs.load_run(record), hs.load_model("bip")
    assert run.check().ok
    left, right = (
        [bip.frame_pose(q, sole).translation for q in (run.q[0], run.q[-1])]
        for sole in ("l_sole", "r_sole")
    )
    step = StepShape()
    assert left[1][0] - left[0][0] == pytest.approx(step.length, abs=0.01)
    assert left[1][2] == pytest.approx(left[0][2], abs=1e-3)
    assert right[1] == pytest.approx(right[0], abs=0.01)
    lifted = max(bip.frame_pose(q, "l_sole").translation[2] for q in run.q[::10])
    assert lifted > 0.5 * step.lift
