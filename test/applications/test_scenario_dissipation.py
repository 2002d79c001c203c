# SPDX-License-Identifier: Apache-2.0
"""Friction of joints, friction against turning and sensors in scenario files."""

from __future__ import annotations

from pathlib import Path

import pytest

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario
from humans_sim.core.errors import ModelFileError

_SCENARIO = """
title: The KHR-1 stands
model: khr1
time: {end: 0.02, sampling_period: 0.01}
method: time_stepping
locked: ["*"]
"""


def scenario(folder: Path, more: str) -> hs.Run:
    """The run of a scenario."""
    path = folder / "standing.yaml"
    path.write_text(_SCENARIO + more)
    return read_scenario(str(path)).run()


def test_everything_reaches_the_run(tmp_path: Path) -> None:
    """What the file says is what acts and what is recorded."""
    run = scenario(
        tmp_path,
        """
joint_damping: false
joint_friction: {l_knee: 0.1}
ground: {friction: 0.5, rolling: 0.001, torsional: 0.002}
sensors:
  imu: {kind: imu, rate: 100}
""",
    )
    assert run.info["joint_friction"] == {"l_knee": 0.1}
    assert "joint_damping" not in run.info
    assert (run.info["rolling"], run.info["torsional"]) == (0.001, 0.002)
    assert run.signal("imu/specific_force_z")[-1] == pytest.approx(9.81, abs=1e-3)


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ("joint_friction: sometimes", r":\d+: joint_friction: "),
        ("ground: {rolling: -1}", r":\d+: ground: rolling must"),
        ("sensors: {nose: {kind: nose, rate: 1}}", r":\d+: sensors.nose"),
    ],
)
def test_mistakes_are_located(tmp_path: Path, more: str, match: str) -> None:
    """A wrong value is refused with its file and key."""
    with pytest.raises(ModelFileError, match=match):
        scenario(tmp_path, more)
