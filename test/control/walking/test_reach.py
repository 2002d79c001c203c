# SPDX-License-Identifier: Apache-2.0
"""Steps within the ranges of joints: what is derived can be walked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.walking import Velocity, WalkPattern, WalkSettings
from humans_sim.control.walking.derived import SHARES, Reach, Step, derived_settings
from humans_sim.control.walking.whole_body_ik import ReachError


def settings_of(model: hs.Model) -> WalkSettings:
    """All derived, for the soles of a Bip."""
    return WalkSettings.of_names(model, "l_sole", "r_sole")


def walks(model: hs.Model, settings: WalkSettings, velocity: Velocity) -> None:
    """Plan six steps; raises where a leg does not reach one."""
    pattern = WalkPattern(model, settings)
    pattern.walk(6, *velocity)
    for t in np.arange(0.0, 8.0 * settings.step_duration, 0.05):
        pattern.tick(float(t))


@pytest.mark.parametrize("name", ["khr1", "bip", "human36"])
def test_derived_steps_can_be_walked(name: str) -> None:
    """The longest steps forwards, backwards and aside are planned to their end."""
    model = hs.load_model(name)
    own = WalkSettings.of_model(model)
    settings = WalkSettings.of_names(model, own.left, own.right)
    time = settings.step_duration
    for velocity in (
        Velocity(settings.max_forward / time),
        Velocity(-settings.max_backward / time),
        Velocity(0.0, 0.5 * settings.max_sideways / time),
    ):
        walks(model, settings, velocity)


def test_longer_steps_than_the_legs_reach_are_cut(bip: hs.Model) -> None:
    """A share is found, more is refused, and the blocking joints are named."""
    found = derived_settings(bip, "l_sole", "r_sole")
    settings = settings_of(bip)
    pattern = WalkPattern(bip, settings)
    reach = Reach(
        bip,
        settings,
        pattern.standing(),
        settings.com_height,
        settings.stance_width,
        settings.zmp_forward,
    )
    assert reach.longest(Step(), 0.0) == (1.0, ())
    assert reach.longest(Step(forward=settings.max_forward), 0.03) == (1.0, ())
    share, blocked = reach.longest(Step(forward=1.5), 0.03)
    assert share in SHARES and share < 1.0 and blocked
    assert set(blocked) <= set(bip.joint_names)
    assert reach.longest(Step(forward=30.0), 0.03)[0] == 0.0
    assert "of the leg" in found["max_forward"].reason


def test_ankles_that_stop_choose_the_bend_of_the_knees(human: hs.Model) -> None:
    """Lower, the same step is beyond the ankles of a human: it stands higher."""
    settings = settings_of(human)
    found = derived_settings(human, "l_sole", "r_sole")
    assert "30 degrees" in found["posture"].reason
    wanted = Velocity(0.25 * 0.856 / settings.step_duration)
    lower = replace(settings, com_height=settings.com_height - 0.04, max_forward=0.22)
    with pytest.raises(ReachError, match="ankle_pitch") as caught:
        walks(human, lower, wanted)
    assert any("ankle_pitch" in joint for joint in caught.value.joints)
