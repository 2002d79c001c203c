# SPDX-License-Identifier: Apache-2.0
"""Files of robots: what they say, and their faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from humans_sim.core.errors import ModelFileError
from humans_sim.core.resources import resource
from humans_sim.kondo.driver.robot_settings import Limits, load_robot
from humans_sim.kondo.motion.channels import load_channels


def test_the_khr1() -> None:
    """Two boards, seventeen servos, limits below what the servo can."""
    robot = load_robot()
    assert (robot.model, robot.protocol, robot.ids) == ("khr1", "rcb1", (0, 1))
    assert robot.unused == 0xE1
    assert len(robot.joint_names) == 17
    assert robot.limits.approach < robot.limits.speed < 1 / 0.0028
    assert robot.channels.channels == load_channels().channels


def changed(tmp_path: Path, old: str, new: str) -> Path:
    """The KHR-1's file with a change."""
    text = resource("config/kondo/khr1.yaml").read_text()
    assert old in text
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace(old, new, 1))
    return path


def test_a_file_without_boards_and_limits(tmp_path: Path) -> None:
    """The parts that are left out are the usual ones."""
    text = resource("config/kondo/khr1.yaml").read_text()
    head, channels = text.split("channels:\n", 1)
    path = tmp_path / "short.yaml"
    path.write_text("model: khr1\nchannels:\n" + channels)
    assert load_robot(path).limits == Limits()
    assert load_robot(path).ids == (0, 1)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("rcb1", "rcb9", "protocol"),
        ("ids: [0, 1]", "ids: [1, 1]", "two different ids"),
        ("ids: [0, 1]", "ids: [0, 32]", "two different ids"),
        ("unused: 225", "unused: 200", "one of 221"),
        ("period: 0.01", "period: 1.0", "0.002 to 0.1 s"),
        ("speed: 340", "speed: 0", "speed"),
        ("approach: 40", "approach: 400", "must not be faster"),
        ("step: 12", "steep: 12", "steep"),
        ("step: 12", "step: 0.5", "whole degrees"),
        ("step: 12", "step: 181", "no limit of a servo"),
        ("range: [0, 105]", "range: [-1, 105]", "0 <= lower"),
        ("range: [0, 105]", "range: [0, 181]", "upper <= 180"),
        ("range: [0, 105]", "range: [105, 0]", "0 <= lower"),
        ("range: [0, 105]", "range: [0, .nan]", "range"),
        ("home: 88", "home: 106", "home 106"),
    ],
)
def test_faults_are_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    """With the line."""
    path = changed(tmp_path, old, new)
    with pytest.raises(ModelFileError, match=words) as caught:
        load_robot(path)
    assert caught.value.line is not None
