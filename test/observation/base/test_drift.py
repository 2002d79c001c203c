# SPDX-License-Identifier: Apache-2.0
"""What an estimate of the base says of its error, and attitudes of inertial units."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.observation.base.drift import DriftCovariance, DriftRates
from humans_sim.observation.base.observer import BaseObserver, ObservationError

HEIGHT = 0.25
NOTHING = dict.fromkeys(DriftRates.__dataclass_fields__, 0.0)


def placed(x: float, y: float, yaw: float = 0.0) -> pin.SE3:
    """A base on a level floor."""
    return pin.SE3(pin.utils.rotate("z", yaw), np.array([x, y, HEIGHT]))


def straight(rates: DriftRates, steps: int, yaw: float = 0.0) -> np.ndarray:
    """Covariance after a metre straight on."""
    drift = DriftCovariance(rates, HEIGHT, level=True)
    drift.begin(placed(0.0, 0.0, yaw))
    for k in range(1, steps + 1):
        along = k / steps
        drift.step(placed(along * math.cos(yaw), along * math.sin(yaw), yaw), False)
    return drift.matrix(False)


def test_slip_grows_with_the_distance() -> None:
    """However many steps it was made in."""
    rates = DriftRates(**{**NOTHING, "slip": 0.02})
    for steps in (1, 10, 100):
        expected = np.zeros((6, 6))
        expected[0, 0] = expected[1, 1] = 0.02**2
        np.testing.assert_allclose(straight(rates, steps), expected, atol=1e-15)


def test_a_heading_that_is_lost_bends_the_path() -> None:
    """Errors of a rate b: b s of heading, b s^2 / 2 beside, all of one rate."""
    rates = DriftRates(**{**NOTHING, "heading": 0.01 * HEIGHT})
    covariance = straight(rates, 2000)
    assert covariance[5, 5] == pytest.approx(0.01**2)
    assert covariance[1, 1] == pytest.approx((0.01 / 2) ** 2, rel=2e-3)
    assert covariance[1, 5] == pytest.approx(0.01**2 / 2, rel=1e-3)
    assert covariance[0, 0] == pytest.approx(0.0, abs=1e-15)


def test_covariances_turn_with_the_path() -> None:
    """The same walk in another direction has the same errors along and across."""
    rates, yaw = DriftRates(), 0.7
    turn = np.kron(np.eye(2), pin.utils.rotate("z", yaw))
    expected = turn @ straight(rates, 20) @ turn.T
    found = straight(rates, 20, yaw)
    np.testing.assert_allclose(found, expected, atol=1e-15)
    assert np.linalg.eigvalsh(found).min() > 0.0


def test_standing_does_not_drift_and_falling_does() -> None:
    """A covariance stays while one foot is the reference."""
    drift = DriftCovariance(DriftRates(), HEIGHT, level=False)
    before = drift.matrix(True)
    np.testing.assert_array_equal(drift.matrix(True), before)
    drift.reckon(0.1, True)
    assert (np.diag(drift.matrix(True)) > np.diag(before)).all()


def loads(model: hs.Model) -> dict[str, float]:
    """Both feet carry the body."""
    half = 9.81 * model.mass / 2
    return {sole.name: half for sole in model.soles}


def test_a_turn_on_slipping_soles_is_seen_by_an_inertial_unit(khr1: hs.Model) -> None:
    """Joints alone see none of it; its heading may count from anywhere."""
    joints = khr1.neutral()[7:]
    blind, led = BaseObserver(khr1), BaseObserver(khr1)
    offset = pin.utils.rotate("z", 2.0)
    for k in range(11):
        turn = pin.utils.rotate("z", 0.1 * k)
        seen = pin.Quaternion(offset @ turn).coeffs()
        still = blind.update(0.1 * k, joints, sole_forces=loads(khr1))
        found = led.update(0.1 * k, joints, sole_forces=loads(khr1), attitude=seen)
    assert still.quaternion[3] == pytest.approx(1.0)
    yaw = 2 * math.atan2(found.quaternion[2], found.quaternion[3])
    assert yaw == pytest.approx(1.0, abs=1e-12)
    # The reference foot stays where it was.
    place = khr1.frame_pose(np.concatenate([found.pose, joints]), "r_sole")
    start = khr1.frame_pose(khr1.neutral(), "r_sole")
    np.testing.assert_allclose(place.translation, start.translation, atol=1e-12)
    assert found.covariance[5, 5] < still.covariance[5, 5]


def test_velocity_of_a_body_that_turns_over_its_feet(khr1: hs.Model) -> None:
    """With attitudes it is the difference of the poses, of which one foot stays."""
    joints, speeds = khr1.neutral()[7:], np.zeros(len(khr1.joint_names))
    observer, poses = BaseObserver(khr1), []
    dt = 1e-5
    for k in range(3):
        seen = pin.Quaternion(pin.utils.rotate("y", 0.5 * k * dt)).coeffs()
        found = observer.update(
            k * dt, joints, speeds, sole_forces=loads(khr1), attitude=seen
        )
        poses.append(pin.XYZQUATToSE3(found.pose))
    moved = pin.log6(poses[1].actInv(poses[2])).vector / dt
    np.testing.assert_allclose(found.velocity, moved, atol=1e-5)
    assert found.velocity[4] == pytest.approx(0.5)


@pytest.mark.parametrize("wrong", [[0, 0, 0, 0], [1, 0, 0], [math.nan, 0, 0, 1]])
def test_attitudes_that_are_none_are_refused(
    khr1: hs.Model, wrong: list[float]
) -> None:
    """They change nothing."""
    observer, joints = BaseObserver(khr1), khr1.neutral()[7:]
    with pytest.raises(ObservationError, match="attitude"):
        observer.update(
            0.0, joints, sole_forces=loads(khr1), attitude=np.array(wrong, float)
        )
    observer.update(0.0, joints, sole_forces=loads(khr1))


def test_rates_that_are_none_are_refused() -> None:
    """By their names."""
    with pytest.raises(hs.errors.ParameterError, match="slip"):
        DriftRates(slip=-0.1)
