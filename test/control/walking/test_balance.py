# SPDX-License-Identifier: Apache-2.0
"""Balance: corrections have the right sign and size, and end with their cause."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.control.walking import (
    SoleWrench,
    Walker,
    WalkSensors,
    WalkSettings,
)
from humans_sim.control.walking.balance import Balance
from humans_sim.control.walking.feedback_kernels import tilt_against

NONE = np.full(2, math.nan)


def sensors(tilt: tuple[float, float], heading: float = 0.0) -> WalkSensors:
    """A base that leans by roll and pitch, both soles loaded below their frames."""
    half = SoleWrench(np.array([0.0, 0.0, 6.4]), np.zeros(3))
    attitude = pin.rpy.rpyToMatrix(0.0, 0.0, heading) @ pin.rpy.rpyToMatrix(*tilt, 0.0)
    return WalkSensors(attitude, np.zeros(3), half, half)


@pytest.mark.parametrize("heading", [0.0, 2.0])
def test_tilt_is_seen_whatever_the_heading(heading: float) -> None:
    """The heading that is measured does not count, that of the plan does."""
    planned = pin.rpy.rpyToMatrix(0.0, 0.1, 0.7)
    turn = pin.exp3(np.array([0.02, -0.03, 0.0]))
    seen = pin.utils.rotate("z", heading) @ turn @ planned
    np.testing.assert_allclose(
        tilt_against(seen, planned)[:2], [0.02, -0.03], atol=1e-9
    )
    assert np.abs(tilt_against(planned, planned)).max() < 1e-12


def test_slope_is_found(khr1: hs.Model) -> None:
    """A lasting tilt is taken out of the attitude, and the weight goes uphill."""
    settings = WalkSettings.of_model(khr1)
    balance = Balance(settings, 0.02)
    tilt = np.array([0.0, 0.05])  # forwards: the floor falls
    for _ in range(round(8 * settings.lean_time / 0.02)):
        correction = balance.update(tilt, np.zeros(2), NONE)
    assert correction.com[0] == pytest.approx(-0.05 * settings.com_height, rel=1e-2)
    turned = correction.attitude @ pin.exp3(np.append(tilt, 0.0))
    np.testing.assert_allclose(turned, np.eye(3), atol=1e-3)
    # The slope is not the ankles' business.
    np.testing.assert_allclose(correction.soles, np.eye(3), atol=1e-3)


def test_ankles_push_back(khr1: hs.Model) -> None:
    """A sudden tilt forwards turns the toes down, within the limit."""
    settings = WalkSettings.of_model(khr1)
    small = Balance(settings, 0.02).update(np.array([0.0, 0.01]), np.zeros(2), NONE)
    assert pin.log3(small.soles)[1] == pytest.approx(
        0.01 * settings.ankle_gain, rel=0.02
    )
    large = Balance(settings, 0.02).update(np.array([0.0, 9.0]), np.zeros(2), NONE)
    assert pin.log3(large.soles)[1] == pytest.approx(settings.ankle_limit)


def test_pressure_gives_way_and_comes_back(khr1: hs.Model) -> None:
    """The centre of mass follows the pressure, and is back when that is gone."""
    settings = WalkSettings.of_model(khr1)
    balance = Balance(settings, 0.02)
    for _ in range(200):
        balance.update(np.zeros(2), np.zeros(2), np.array([0.01, 0.0]))
    expected = 0.01 * settings.pressure_gain * settings.pressure_time
    assert balance.giving[0] == pytest.approx(expected, rel=1e-3)
    for _ in range(200):
        balance.update(np.zeros(2), np.zeros(2), NONE)
    assert np.abs(balance.giving).max() < 1e-5


def test_walker_corrects_its_plan(khr1: hs.Model) -> None:
    """Without a tilt the plan is followed; with one the ankles differ, no arms."""
    blind, upright, leaning = (Walker(khr1) for _ in range(3))
    plan = blind.tick(0.0).joints
    level = upright.tick(0.0, sensors((0.0, 0.0)))
    assert np.abs(level.joints - plan).max() < 2e-3
    command = leaning.tick(0.0, sensors((0.0, 0.05), heading=1.0))
    change = command.joints - level.joints
    ankles = [khr1.joint_names.index(f"{side}_ankle_pitch") for side in "lr"]
    assert (change[ankles] > 0.2 * 0.05 * 0.8).all()
    arms = [k for k, name in enumerate(khr1.joint_names) if "shoulder" in name]
    assert np.abs(change[arms]).max() == 0.0
    assert command.tilt == pytest.approx(0.05)
    np.testing.assert_allclose(level.zmp, [0.0, 0.0, 0.0], atol=1e-9)


def test_fall(khr1: hs.Model) -> None:
    """Beyond the limit the joints are held, also when it is upright again."""
    walker = Walker(khr1)
    walker.pattern.command(0.05, 0.0, 0.0)
    for k in range(100):
        last = walker.tick(0.02 * k, sensors((0.0, 0.0)))
    assert not last.fallen
    fallen = walker.tick(2.0, sensors((0.7, 0.0)))
    assert fallen.fallen
    np.testing.assert_array_equal(fallen.joints, last.joints)
    later = walker.tick(2.02, sensors((0.0, 0.0)))
    assert later.fallen
    np.testing.assert_array_equal(later.joints, last.joints)
    walker.reset(3.0)
    assert not walker.tick(3.0, sensors((0.0, 0.0))).fallen


def test_period_and_measurements_are_checked(khr1: hs.Model) -> None:
    """Nothing that is no number comes near the servos."""
    with pytest.raises(hs.errors.ParameterError, match="period"):
        Walker(khr1, period=0.0)
    walker = Walker(khr1)
    bad = sensors((0.0, 0.0))._replace(angular_velocity=np.array([0.0, math.nan, 0.0]))
    with pytest.raises(hs.errors.ParameterError, match="finite"):
        walker.tick(0.0, bad)
    assert np.isfinite(walker.tick(0.0, sensors((0.0, 0.0))).joints).all()
