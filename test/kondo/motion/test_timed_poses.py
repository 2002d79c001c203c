# SPDX-License-Identifier: Apache-2.0
"""Motions of the boards whose poses come when they are wanted."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.kondo.motion.channels import load_channels, timed_motion
from humans_sim.kondo.motion.motion_file import MotionFileError
from humans_sim.kondo.motion.player import MotionPlayer

NAMES = ("l_knee", "r_knee")


def knees(times: np.ndarray) -> np.ndarray:
    """A slow bend of both."""
    return np.column_stack([0.4 - 0.4 * np.cos(np.pi * times / times[-1])] * 2)


def test_the_boards_are_where_the_motion_is() -> None:
    """Played as the boards play it, joints are within a degree at every time."""
    times = np.arange(0.0, 3.0 + 1e-9, 0.02)
    channels = load_channels()
    motion = timed_motion("bend", times, knees(times), NAMES, channels)
    player = MotionPlayer(hs.load_model("khr1"), motion, channels)
    assert player.duration == pytest.approx(3.0, abs=0.003)
    column = hs.load_model("khr1").joint_names.index("l_knee")
    for t in np.linspace(0.0, 3.0, 61):
        expected = np.interp(t, times, knees(times)[:, 0])
        assert player.at(t)[column] == pytest.approx(expected, abs=np.radians(1.0))


def test_values_stay_within_the_channels() -> None:
    """Angles beyond a channel are cut to its range."""
    times = np.array([0.0, 1.0, 2.0])
    joints = np.column_stack([[0.0, 5.0, 0.0], [0.0, -5.0, 0.0]])
    channels = load_channels()
    motion = timed_motion("far", times, joints, NAMES, channels)
    for pose in motion.poses:
        channels.angles(pose.channels)


def test_too_long_for_the_boards() -> None:
    """A board keeps a hundred poses."""
    times = np.arange(0.0, 30.0, 0.02)
    with pytest.raises(MotionFileError, match="too long"):
        timed_motion("long", times, knees(times), NAMES, load_channels())
