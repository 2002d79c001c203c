# SPDX-License-Identifier: Apache-2.0
"""A stride of the whole body: feet, rates, symmetry, zero-moment point."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.control.gait.gait_cycle import GaitCycle, GaitSettings

PHASES = np.arange(40) / 40


@pytest.mark.parametrize("stride", ["cycle", "turning"])
def test_rates_are_those_of_the_motion(
    stride: str, request: pytest.FixtureRequest
) -> None:
    """Velocity and acceleration against differences of the configurations."""
    cycle: GaitCycle = request.getfixturevalue(stride)
    model, step = cycle.model.pin, 1e-5
    for phase in (0.031, 0.27, 0.63, 0.9):
        now = cycle.at(phase)
        before, after = (cycle.at(phase + sign * step) for sign in (-1, 1))
        time = step * cycle.period
        speed = pin.difference(model, before.q, after.q) / (2 * time)
        assert now.v == pytest.approx(speed, abs=1e-4)
        rate = (after.v - before.v) / (2 * time)
        assert now.a == pytest.approx(rate, rel=2e-3, abs=1e-2)
        for k in (0, 1):
            rate = (after.com[k] - before.com[k]) / (2 * time)
            assert now.com[k + 1] == pytest.approx(rate, abs=2e-3)


def test_a_stride_comes_around_and_is_the_same_on_both_sides(cycle: GaitCycle) -> None:
    """One period later it is a stride ahead; half of it later, its mirror image."""
    names = cycle.model.joint_names
    for phase in (0.1, 0.4):
        here, later = cycle.at(phase), cycle.at(phase + 1.0)
        assert later.q[1:] == pytest.approx(here.q[1:])
        assert later.q[0] - here.q[0] == pytest.approx(cycle.stride)
        other = cycle.at(phase + 0.5)
        for joint in ("hip_pitch", "knee", "ankle_pitch", "shoulder_pitch"):
            left, right = (7 + names.index(f"{side}_{joint}") for side in "lr")
            assert other.q[right] == pytest.approx(here.q[left], abs=2e-3)
        assert other.com[0, 1] == pytest.approx(-here.com[0, 1], abs=1e-3)


def test_a_turning_stride_comes_around_on_a_circle(turning: GaitCycle) -> None:
    """One period later it is the same, turned about the middle of the circle."""
    angle, radius = 0.4 * turning.period, 1.0 / 0.4
    middle = np.array([0.0, radius, 0.0])
    around = pin.utils.rotate("z", angle)
    moved = pin.SE3(around, middle - around @ middle)
    for phase in (0.1, 0.4):
        here, later = turning.at(phase), turning.at(phase + 1.0)
        assert later.q[7:] == pytest.approx(here.q[7:])
        assert later.com[0] == pytest.approx(moved.act(here.com[0]))
        assert later.com[1] == pytest.approx(around @ here.com[1])
        for side, foot in here.feet.items():
            assert later.feet[side].isApprox(moved * foot, 1e-6)


def test_the_feet_stand_where_they_shall(cycle: GaitCycle) -> None:
    """A flat foot is level and still; arms swing against the legs."""
    times, names = cycle.settings.times, cycle.model.joint_names
    flat = PHASES[(PHASES > times.flat + 0.02) & (PHASES < times.heel_off - 0.02)]
    for phase in flat:
        foot = cycle.at(phase).feet["l"]
        assert foot.translation == pytest.approx(
            [0.0, cycle.settings.width / 2, 0.0], abs=1e-3
        )
        assert np.abs(pin.log3(foot.rotation)).max() < 5e-3
    q = np.array([cycle.at(phase).q for phase in PHASES])
    arm, hip = (
        q[:, 7 + names.index(f"l_{n}")] for n in ("shoulder_pitch", "hip_pitch")
    )
    assert np.corrcoef(arm, hip)[0, 1] < -0.5


def test_the_zero_moment_point_is_under_the_foot(cycle: GaitCycle) -> None:
    """By inverse dynamics, between heel and toe of the foot that stands alone."""
    model = cycle.model
    data, lengths = model.data(), cycle.lengths
    found = []
    for phase in np.linspace(0.16, 0.46, 16):
        point = cycle.at(phase)
        force = pin.Force(pin.rnea(model.pin, data, point.q, point.v, point.a)[:6])
        base = pin.SE3(pin.Quaternion(point.q[3:7]).matrix(), point.q[:3])
        wrench = base.act(force)
        moment, weight = wrench.angular, wrench.linear[2]
        found.append([-moment[1] / weight, moment[0] / weight])
    x, y = np.mean(np.reshape(found, (4, 4, 2)), axis=1).T
    assert (x > -lengths.heel - 0.03).all() and (x < lengths.toe + 0.03).all()
    assert np.abs(y - cycle.settings.width / 2).max() < 0.05
    assert x[-1] > x[0]


def test_what_no_one_walks_is_refused(human: hs.Model, khr1: hs.Model) -> None:
    """Other legs, other speeds."""
    with pytest.raises(hs.HumansError, match="m/s"):
        GaitCycle(human, GaitSettings(speed=5.0))
    with pytest.raises(hs.HumansError, match="rise"):
        GaitCycle(human, GaitSettings(rise=0.3))
    with pytest.raises(hs.HumansError, match="not two"):
        GaitCycle(human, GaitSettings(rise=0.05, turn=0.4))
    with pytest.raises(hs.HumansError):
        GaitCycle(khr1)
