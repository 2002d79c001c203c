# SPDX-License-Identifier: Apache-2.0
"""Footsteps: they follow a velocity, within reach, without crossing."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import humans_sim as hs
from humans_sim.control.walking import Footprint, Velocity, WalkSettings
from humans_sim.control.walking.footsteps import FootstepPlanner, Side

speeds = st.floats(-2.0, 2.0)


@pytest.fixture(scope="module")
def settings(bip: hs.Model) -> WalkSettings:
    """Those of Bip, which turns in its hips."""
    return WalkSettings.of_model(bip)


def walked(settings: WalkSettings, velocity: Velocity, steps: int) -> list[Footprint]:
    """Footprints of a walk from the origin, the right foot's first."""
    planner = FootstepPlanner(settings)
    side, prints = Side.LEFT, [Footprint(0.0, -0.5 * settings.stance_width, 0.0)]
    for _ in range(steps):
        prints.append(planner.next(prints[-1], side, velocity))
        side = side.other
    return prints


def test_straight(settings: WalkSettings) -> None:
    """Feet stay on two lines and advance by one step length each."""
    length = 0.2
    prints = walked(settings, Velocity(length / settings.step_duration), 6)
    np.testing.assert_allclose(np.diff([p.x for p in prints]), length)
    half = 0.5 * settings.stance_width
    np.testing.assert_allclose([p.y for p in prints], half * (-1.0) ** np.arange(1, 8))


@given(vx=speeds, vy=speeds, wz=speeds)
def test_mean_velocity(settings: WalkSettings, vx: float, vy: float, wz: float) -> None:
    """Over two steps the body moves and turns as the velocity within reach says."""
    velocity = FootstepPlanner(settings).limited(Velocity(vx, vy, wz))
    time = 2.0 * settings.step_duration
    before, _, after = walked(settings, velocity, 2)
    assert after.yaw - before.yaw == pytest.approx(velocity.wz * time, abs=1e-12)
    if abs(velocity.wz) < 1e-9:
        assert after.x - before.x == pytest.approx(velocity.vx * time, abs=1e-9)
        assert after.y - before.y == pytest.approx(velocity.vy * time, abs=1e-9)


@given(vx=speeds, vy=speeds, wz=speeds)
def test_reach(settings: WalkSettings, vx: float, vy: float, wz: float) -> None:
    """Limits hold, the direction stays, and feet come no closer than the stance."""
    commanded = Velocity(vx, vy, wz)
    velocity = FootstepPlanner(settings).limited(commanded)
    np.testing.assert_allclose(np.cross(velocity, commanded), 0.0, atol=1e-12)
    prints = walked(settings, velocity, 4)
    for number, (stand, step) in enumerate(zip(prints, prints[1:], strict=False)):
        side = 1 if number % 2 == 0 else -1
        turn = side * (step.yaw - stand.yaw)
        assert -1e-12 <= turn <= settings.max_turn + 1e-12
        c, s = math.cos(stand.yaw), math.sin(stand.yaw)
        dx, dy = step.x - stand.x, step.y - stand.y
        ahead, out = c * dx + s * dy, side * (c * dy - s * dx) - settings.stance_width
        swung = 0.5 * settings.stance_width * turn  # the turn itself moves the foot
        assert -settings.max_backward - swung <= ahead + 1e-9
        assert ahead <= settings.max_forward + 1e-9
        assert -swung * turn <= out + 1e-9
        assert out <= settings.max_sideways + 1e-9


def test_turns_by_slip(khr1: hs.Model) -> None:
    """Feet stay parallel, land half a turn ahead, and pivot side by side."""
    settings = WalkSettings.of_model(khr1)
    planner = FootstepPlanner(settings)
    velocity = planner.limited(Velocity(0.0, 0.0, 5.0))
    period = settings.step_duration + settings.pivot_duration
    assert planner.period(velocity) == pytest.approx(period)
    pivot = settings.max_turn / settings.pivot_share
    assert planner.pivot(velocity) == pytest.approx(pivot)
    width, half = settings.stance_width, 0.5 * pivot
    right = Footprint(0.2, -0.1, 0.3)
    left = planner.next(right, Side.LEFT, velocity)
    assert left.yaw == pytest.approx(right.yaw)
    seen = np.array([left.x - right.x, left.y - right.y])
    c, s = math.cos(right.yaw), math.sin(right.yaw)
    local = np.array([[c, s], [-s, c]]) @ seen
    expected = [-width * math.sin(half), width * math.cos(half)]
    np.testing.assert_allclose(local, expected, atol=1e-12)


def test_legs_that_do_not_turn(khr1: hs.Model) -> None:
    """Without room for a turn the rest of the command is kept."""
    settings = dataclasses.replace(WalkSettings.of_model(khr1), max_turn=0.0)
    planner = FootstepPlanner(settings)
    assert planner.limited(Velocity(0.03, 0.0, 5.0)) == Velocity(0.03, 0.0, 0.0)


def test_no_backward_steps(settings: WalkSettings) -> None:
    """A biped that does not step backwards stays where it is."""
    only = dataclasses.replace(settings, max_backward=0.0)
    assert FootstepPlanner(only).limited(Velocity(-0.1)) == Velocity()


def test_close(settings: WalkSettings) -> None:
    """Without velocity the foot comes beside the other one, with its heading."""
    stand = Footprint(1.0, 2.0, 0.7)
    planner = FootstepPlanner(settings)
    step = planner.next(stand, Side.RIGHT, Velocity())
    assert step == pytest.approx(stand.moved(0.0, -settings.stance_width))
