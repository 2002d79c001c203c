# SPDX-License-Identifier: Apache-2.0
"""A plan laid where the robot really is."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.control.walking import Walker
from humans_sim.control.walking.com_estimator import (
    Approach,
    PlanPlacement,
    body_centre,
    support_margin,
)


@pytest.mark.parametrize("steps", [0, 30, 60])
def test_plan_follows_a_robot_that_was_moved(khr1: hs.Model, steps: int) -> None:
    """A robot that stands elsewhere, turned, takes its plan along."""
    walker = Walker(khr1)
    walker.pattern.command(0.05, 0.0, 0.0)
    for k in range(steps + 1):
        plan = walker.tick(0.02 * k).plan
    moved = pin.SE3(pin.utils.rotate("z", 0.7), np.array([0.3, -0.2, 0.0]))
    q = plan.q.copy()
    q[:7] = pin.SE3ToXYZQUAT(moved * pin.XYZQUATToSE3(q[:7]))
    placement = PlanPlacement(khr1, walker.settings)
    placement.see(plan, q)
    np.testing.assert_allclose(placement.point(plan.com), khr1.com(q), atol=1e-7)
    np.testing.assert_allclose(placement.pose.homogeneous, moved.homogeneous, atol=1e-7)
    placement.reset()
    np.testing.assert_array_equal(placement.point(plan.com), plan.com)


def test_a_robot_that_leans_does_not_tilt_the_plan(khr1: hs.Model) -> None:
    """Only heading and place are taken over."""
    walker = Walker(khr1)
    plan = walker.tick(0.0).plan
    q = plan.q.copy()
    lean = pin.SE3(pin.utils.rotate("x", 0.1), np.zeros(3))
    q[:7] = pin.SE3ToXYZQUAT(lean * pin.XYZQUATToSE3(q[:7]))
    placement = PlanPlacement(khr1, walker.settings)
    placement.see(plan, q)
    np.testing.assert_allclose(placement.pose.rotation[2], [0.0, 0.0, 1.0], atol=1e-12)


def test_support_margin(khr1: hs.Model) -> None:
    """Positive inside, negative outside, unknown without a pressure."""
    plan = Walker(khr1).tick(0.0).plan
    corners = plan.support_polygon
    middle = np.append(corners.mean(axis=0), 0.0)
    assert support_margin(plan, middle) > 0.01
    assert support_margin(plan, np.append(corners[0], 0.0)) == pytest.approx(0.0)
    assert support_margin(plan, middle + [1.0, 0.0, 0.0]) < -0.5
    assert math.isnan(support_margin(plan, np.full(3, math.nan)))


def test_body_centre(khr1: hs.Model) -> None:
    """Velocity of the centre of mass, against a difference."""
    rng = np.random.default_rng(3)
    q, v, h = khr1.neutral(), rng.normal(size=khr1.nv), 1e-6
    centre = body_centre(khr1, q, v)
    np.testing.assert_allclose(centre.position, khr1.com(q), atol=1e-12)
    difference = khr1.com(khr1.integrate(q, h * v)) - khr1.com(
        khr1.integrate(q, -h * v)
    )
    np.testing.assert_allclose(centre.velocity, difference / (2 * h), atol=1e-6)


def test_approach() -> None:
    """It begins and ends at rest, and is over in time."""
    approach = Approach(np.array([0.0, 1.0]), np.array([1.0, 0.0]), 2.0, 0.5)
    np.testing.assert_array_equal(approach.at(1.9), [0.0, 1.0])
    np.testing.assert_allclose(approach.at(2.25), [0.5, 0.5])
    np.testing.assert_array_equal(approach.at(2.5), [1.0, 0.0])
    assert np.abs(approach.at(2.01) - approach.at(2.0)).max() < 1e-4
    assert not approach.over(2.49) and approach.over(2.5)
    with pytest.raises(hs.errors.ParameterError):
        Approach(np.zeros(1), np.ones(1), 0.0, 0.0)
