# SPDX-License-Identifier: Apache-2.0
"""Footsteps of a list and along a path: made where they are, refused beyond reach."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.walking import Footprint, WalkPattern, WalkPhase, WalkSettings
from humans_sim.control.walking.footsteps import Side
from humans_sim.control.walking.listed_footsteps import ListedStep, path_footsteps
from humans_sim.control.walking.sole_legs import SLIP


@pytest.fixture(scope="module")
def settings(bip: hs.Model) -> WalkSettings:
    """Those of the Bip."""
    return WalkSettings.of_model(bip)


def landed(pattern: WalkPattern, end: float) -> list[tuple[Side, Footprint]]:
    """Steps that a pattern makes until a time, in their order."""
    steps: list[tuple[Side, Footprint]] = []
    for t in np.arange(0.0, end, 0.05):
        point = pattern.tick(float(t))
        now = point.footsteps[:1] if point.support.name != "DOUBLE" else ()
        for step in now:
            if not steps or steps[-1] != (step.side, step.place):
                steps.append((step.side, step.place))
    assert point.phase is WalkPhase.STANDING
    return steps


def in_turn(settings: WalkSettings, lengths: list[float]) -> list[ListedStep]:
    """Steps of feet in turn, the left one first, to these places ahead."""
    half = 0.5 * settings.stance_width
    sides = [Side.LEFT, Side.RIGHT]
    return [
        ListedStep(sides[n % 2], Footprint(x, sides[n % 2] * half, 0.0))
        for n, x in enumerate(lengths)
    ]


def test_steps_are_made_as_listed(bip: hs.Model, settings: WalkSettings) -> None:
    """Unequal steps, one in place among them; then both feet stand where they say."""
    steps = in_turn(settings, [0.05, 0.05, 0.05, 0.12, 0.12])
    pattern = WalkPattern(bip, settings)
    pattern.follow(steps)
    end = (len(steps) + 3) * settings.step_duration + 2 * settings.shift_duration
    assert landed(pattern, end) == [tuple(step) for step in steps]
    assert pattern.feet == {Side.LEFT: steps[-1].place, Side.RIGHT: steps[-2].place}


def test_stop_and_command_leave_the_list(bip: hs.Model, settings: WalkSettings) -> None:
    """A stop closes the feet instead of going on."""
    pattern = WalkPattern(bip, settings)
    pattern.follow(in_turn(settings, [0.05, 0.1, 0.15, 0.2, 0.25, 0.25]))
    for t in np.arange(0.0, 2.5 * settings.step_duration, 0.05):
        pattern.tick(float(t))
    pattern.stop()
    for later in np.arange(t, t + 6 * settings.step_duration, 0.05):
        point = pattern.tick(float(later))
    assert point.phase is WalkPhase.STANDING
    left, right = pattern.feet[Side.LEFT], pattern.feet[Side.RIGHT]
    assert left.x == pytest.approx(right.x) and left.x < 0.24


@pytest.mark.parametrize(
    "lengths, message",
    [
        ([0.9], "footstep 1: 0.900 m forwards"),
        ([0.05, -0.6], "footstep 2: .*backwards"),
    ],
)
def test_steps_beyond_the_legs_are_refused(
    bip: hs.Model, settings: WalkSettings, lengths: list[float], message: str
) -> None:
    """With their number and what the legs reach."""
    with pytest.raises(hs.errors.ParameterError, match=message):
        WalkPattern(bip, settings).follow(in_turn(settings, lengths))


def test_other_lists_are_refused(bip: hs.Model, settings: WalkSettings) -> None:
    """None, the same foot twice, crossed feet, a large turn, a walk under way."""
    half = 0.5 * settings.stance_width
    pattern = WalkPattern(bip, settings)
    left = ListedStep(Side.LEFT, Footprint(0.0, half, 0.0))
    for steps, message in (
        ([], "one at least"),
        ([left, left], "same foot"),
        ([ListedStep(Side.LEFT, Footprint(0.0, -half, 0.0))], "nearer"),
        ([ListedStep(Side.LEFT, Footprint(0.0, half, 1.5))], "turned by"),
    ):
        with pytest.raises(hs.errors.ParameterError, match=message):
            pattern.follow(steps)
    pattern.command(0.05, 0.0, 0.0)
    for t in np.arange(0.0, 1.0, 0.05):
        pattern.tick(float(t))
    with pytest.raises(hs.errors.ParameterError, match="from standing"):
        pattern.follow([left])


def test_a_path_is_followed_to_its_end(bip: hs.Model, settings: WalkSettings) -> None:
    """Round a corner: the feet end side by side at the last point, heading along."""
    pattern = WalkPattern(bip, settings)
    path = np.array([[0.4, 0.0], [0.4, 0.3]])
    steps = path_footsteps(settings, pattern.feet, path)
    pattern.follow(steps)  # all within the limits
    last = {step.side: step.place for step in steps}
    middle = np.mean([place[:2] for place in last.values()], axis=0)
    np.testing.assert_allclose(middle, path[-1], atol=5e-3)
    for place in last.values():
        assert place.yaw == pytest.approx(math.pi / 2, abs=0.15)
    near = [min(math.dist(p.place[:2], q) for p in steps) for q in path]
    assert max(near) < settings.stance_width
    with pytest.raises(hs.errors.ParameterError, match="not finite"):
        path_footsteps(settings, pattern.feet, np.array([[math.nan, 0.0]]))
    with pytest.raises(hs.errors.ParameterError, match="has points"):
        path_footsteps(settings, pattern.feet, np.zeros((0, 2)))


@pytest.mark.parametrize("aside", [0.0, 0.005, -0.02])
def test_paths_ahead_of_hips_that_do_not_turn(khr1: hs.Model, aside: float) -> None:
    """A point a little to the side, as after a walk that drifted, is reached."""
    pattern = WalkPattern(khr1, WalkSettings.of_model(khr1))
    settings = pattern.settings
    assert settings.turns == SLIP
    path = np.array([[0.2, aside / 2], [0.5, aside], [0.5, aside]])
    steps = path_footsteps(settings, pattern.feet, path)
    pattern.follow(steps)  # all within the limits
    last = {step.side: step.place for step in steps}
    middle = np.mean([place[:2] for place in last.values()], axis=0)
    np.testing.assert_allclose(middle, path[-1], atol=1e-3)
    assert {place.yaw for place in last.values()} == {0.0}
    for bent in ([[0.2, 0.0], [0.2, 0.2]], [[-0.2, 0.0]]):
        with pytest.raises(hs.errors.ParameterError, match="bends"):
            path_footsteps(settings, WalkPattern(khr1, settings).feet, np.array(bent))
