# SPDX-License-Identifier: Apache-2.0
"""The upper body that follows a person at once."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.retargeting.upper_body import LiveRetargeting


def test_it_comes_to_the_person_within_its_speed() -> None:
    """Arms of the robot end where the person's are, never faster than allowed."""
    person, robot = hs.load_model("human36"), hs.load_model("khr1")
    live = LiveRetargeting(person, robot, speed_share=0.5)
    assert "l_knee" not in live.joint_names and "head_yaw" in live.joint_names
    angles = np.zeros(len(person.joint_names))
    for name, value in (("r_shoulder_roll", 1.5), ("head_yaw", 0.4)):
        angles[person.joint_names.index(name)] = value
    with pytest.raises(hs.errors.ParameterError, match="not known yet"):
        live.follow(angles, 0.01)
    live.begin({})
    last = dict.fromkeys(live.joint_names, 0.0)
    for _ in range(200):
        now = live.follow(angles, 0.01)
        for name, angle in now.items():
            limit = robot.velocity_limits[robot.joint_names.index(name)]
            assert abs(angle - last[name]) <= 0.5 * limit * 0.01 + 1e-9
        last = now
    assert last["r_shoulder_roll"] == pytest.approx(1.5, abs=0.05)
    assert last["head_yaw"] == pytest.approx(0.4)
    assert live.error < np.radians(2.0)


def test_what_is_no_posture_is_refused() -> None:
    """Numbers that are none, and shares without meaning."""
    person, robot = hs.load_model("human36"), hs.load_model("khr1")
    with pytest.raises(hs.errors.ParameterError, match="speed_share"):
        LiveRetargeting(person, robot, speed_share=0.0)
    live = LiveRetargeting(person, robot)
    live.begin({})
    with pytest.raises(hs.errors.ParameterError, match="finite"):
        live.follow(np.full(len(person.joint_names), np.nan), 0.01)
