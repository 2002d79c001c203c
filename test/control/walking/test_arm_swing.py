# SPDX-License-Identifier: Apache-2.0
"""Arms that swing: against the legs, with the speeds that belong to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.control.walking import WalkPattern, WalkSettings
from humans_sim.control.walking.derived import derived_settings


def test_arms_swing_against_the_legs(khr1: hs.Model) -> None:
    """The left arm is ahead of the right one where the right foot is, and the same."""
    settings = replace(WalkSettings.of_model(khr1), arm_swing=0.6)
    pattern = WalkPattern(khr1, settings)
    pattern.walk(8, 0.06)
    hands = ("l_elbow", "r_elbow")
    feet, arms = [], []
    for t in np.arange(0.0, 7.0, 0.02):
        point = pattern.tick(float(t))
        left, right = point.left.pose.translation, point.right.pose.translation
        feet.append(right[0] - left[0])
        data = khr1.data()
        pin.forwardKinematics(khr1.pin, data, point.q)
        places = [data.oMi[khr1.pin.getJointId(name)].translation[0] for name in hands]
        arms.append(places[0] - places[1])
        assert (point.joints >= khr1.lower_limits).all()
        assert (point.joints <= khr1.upper_limits).all()
    assert np.corrcoef(feet, arms)[0, 1] > 0.95
    assert np.ptp(arms) > 0.1 * np.ptp(feet)
    rest = WalkPattern(khr1, settings).standing()[7:]
    np.testing.assert_allclose(point.joints, rest, atol=1e-6)


def test_speeds_are_rates_of_angles(khr1: hs.Model) -> None:
    """Arms included: a small time later every angle has gone as its speed says."""
    settings = replace(WalkSettings.of_model(khr1), arm_swing=0.6)
    pattern, step = WalkPattern(khr1, settings), 1e-5
    pattern.walk(8, 0.06)
    fastest = 0.0
    for t in np.arange(1.003, 2.0, 0.0437):
        before, after = pattern.tick(float(t)), pattern.tick(float(t) + step)
        moved = pin.difference(khr1.pin, before.q, after.q) / step
        np.testing.assert_allclose(moved, before.v, atol=5e-3)
        fastest = max(fastest, abs(before.joint_speeds).max())
    assert fastest > 0.3


def test_arms_rest_unless_they_are_asked(khr1: hs.Model, bip: hs.Model) -> None:
    """The package's robots keep theirs still; without shoulders it is refused."""
    assert WalkSettings.of_model(khr1).arm_swing == 0.0
    assert derived_settings(khr1, "l_sole", "r_sole")["arm_swing"].value > 0.0
    assert derived_settings(bip, "l_sole", "r_sole")["arm_swing"].value == 0.0
    with pytest.raises(hs.errors.SettingError, match="shoulders"):
        WalkPattern(bip, replace(WalkSettings.of_model(bip), arm_swing=0.5))
