# SPDX-License-Identifier: Apache-2.0
"""The heading of a walk is held, whatever share of a turn is made."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.walking import Velocity, WalkPattern, WalkSettings
from humans_sim.control.walking.footsteps import Footprint, Side, SolePair
from humans_sim.control.walking.timeline import Timeline


def turned(
    model: hs.Model, velocity: Velocity, share: float, drift: float, steps: int
) -> tuple[float, float]:
    """Heading asked for and reached after some steps [rad].

    Args:
        model: the biped.
        velocity: that is commanded.
        share: of a planned turn that it makes.
        drift: that each step adds [rad].
        steps: how many.
    """
    settings = WalkSettings.of_model(model)
    half = 0.5 * settings.stance_width
    feet = {side: Footprint(0.0, side * half, 0.0) for side in Side}
    timeline = Timeline(settings, SolePair.of_model(model, settings), feet, 0.0)
    heading, knot = 0.0, 0
    timeline.heading.measured = 0.0
    timeline.follow(velocity)
    while timeline.steps <= steps:
        before = timeline.phases[0]
        timeline.advance(knot)
        knot += 1
        if timeline.phases[0] is before:
            continue
        heading += share * before.made + (drift if before.step else 0.0)
        timeline.heading.measured = heading
    return timeline.heading.asked, heading


@pytest.mark.parametrize("wz", [0.0, 0.04, -0.1, 0.15])
@pytest.mark.parametrize("share", [0.8, 1.0, 1.3])
def test_held(khr1: hs.Model, bip: hs.Model, wz: float, share: float) -> None:
    """After twenty steps less than two smallest turns lack, drift or not."""
    for model in (khr1, bip):
        settings = WalkSettings.of_model(model)
        velocity = Velocity(0.02, 0.0, wz * (1.0 if model is khr1 else 0.3))
        for drift in (-math.radians(1.0), 0.0):
            asked, made = turned(model, velocity, share, drift, 20)
            most = 2.0 * settings.least_pivot
            if wz == 0.15:  # what a step under way has still to make
                most += abs(0.15 * (settings.step_duration + settings.pivot_duration))
            assert abs(asked - made) < most


def test_without_a_gyro_drift_stays(khr1: hs.Model) -> None:
    """What is not measured is not made good: the test above would fail."""
    settings = WalkSettings.of_model(khr1)
    pattern = WalkPattern(khr1)
    pattern.command(0.03, 0.0, 0.0)
    for k in range(150):
        point = pattern.tick(0.04 * k)
    assert point.left.yaw == 0.0
    assert 12 * math.radians(1.0) > 2.0 * settings.least_pivot


def test_small_commands_are_none(khr1: hs.Model, bip: hs.Model) -> None:
    """A turn of 1e-6 rad/s does not change a step; alone it does not start a walk."""
    for model in (khr1, bip):
        plans = []
        for wz in (0.0, 1e-6, -1e-4):
            pattern = WalkPattern(model)
            pattern.command(0.03, 0.0, wz)
            plans.append([pattern.tick(0.08 * k).q for k in range(20)])
        np.testing.assert_array_equal(plans[0], plans[1])
        np.testing.assert_array_equal(plans[0], plans[2])
        pattern = WalkPattern(model)
        pattern.command(1e-6, 0.0, 1e-6)
        pattern.tick(0.4)
        assert pattern.tick(0.8).steps == 0


def test_small_turns_are_saved_up(khr1: hs.Model) -> None:
    """A slow turn pivots in some steps, each worth it; on average it is the command."""
    settings = WalkSettings.of_model(khr1)
    pattern = WalkPattern(khr1)
    pattern.command(0.02, 0.0, 0.06)
    steps = {}
    for k in range(700):
        point = pattern.tick(0.04 * k)
        for step in point.footsteps[:1]:
            steps[point.steps] = step.turn * settings.pivot_share
    turns = np.array(list(steps.values()))[:-1]
    assert 0 < np.count_nonzero(turns) < 0.8 * len(turns)
    assert turns[turns != 0.0].min() > 0.99 * settings.least_pivot
    assert turns.sum() / point.time == pytest.approx(0.06, rel=0.08)
