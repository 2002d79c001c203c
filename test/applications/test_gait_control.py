# SPDX-License-Identifier: Apache-2.0
"""The section ``gait`` of scenarios: it starts in stride; wrong keys are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario
from humans_sim.control.gait.leg_fit import stride_time

TEXT = """\
title: A human walks
model: human36
method: time_stepping
controller: {{gait: {gait}}}
stands: true
time: {{end: 0.3, sampling_period: 0.01}}
"""


def write(folder: Path, gait: str) -> Path:
    """A scenario of half a step."""
    path = folder / "gait.yaml"
    path.write_text(TEXT.format(gait=gait))
    return path


@pytest.mark.study
def test_it_starts_in_stride_and_walks(tmp_path: Path) -> None:
    """The first sample moves at the speed of the walk; the physics is right."""
    run = read_scenario(str(write(tmp_path, "{speed: 1.1}"))).run()
    assert run.check()
    assert run.v[0, 0] == pytest.approx(1.1, abs=0.25)
    assert run.q[-1, 0] - run.q[0, 0] == pytest.approx(0.33, abs=0.06)
    assert np.ptp(run.joint("l_shoulder_pitch")) > np.radians(5.0)


@pytest.mark.parametrize(
    ("gait", "words"),
    [
        ("{speed: 3.0}", "m/s"),
        ("{}", "speed"),
        ("{speed: 1.0, velocity: 2}", "velocity"),
        ("{speed: 1.0, period: 0}", "period"),
        ("{speed: 1.0, slope: 30}", "slope"),
        ("{speed: 1.0, slope: 3, turn: 0.4}", "turn"),
    ],
)
def test_what_it_cannot_walk_is_refused(tmp_path: Path, gait: str, words: str) -> None:
    """With the file and the line."""
    with pytest.raises(hs.HumansError, match=words) as caught:
        read_scenario(str(write(tmp_path, gait))).prepare()
    assert "gait.yaml" in str(caught.value)


def test_the_scenario_of_the_package_is_there() -> None:
    """It walks for ten strides."""
    scenario = read_scenario("human-gait")
    assert scenario.end > 10 * stride_time(1.0, 1.741)
