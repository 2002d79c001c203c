# SPDX-License-Identifier: Apache-2.0
"""The swing foot: rest at both ends, its lift, its velocity."""

from __future__ import annotations

import numpy as np
import pytest

from humans_sim.control.walking import Footprint
from humans_sim.control.walking.footsteps import bump, minimum_jerk, swing

START, END = Footprint(0.1, -0.2, 0.3), Footprint(0.5, -0.1, 0.8)
LIFT, DURATION = 0.05, 0.4


@pytest.mark.parametrize("curve", [minimum_jerk, bump])
def test_smooth_at_both_ends(curve: object) -> None:
    """Value, velocity and acceleration meet those of a foot at rest."""
    step = 1e-4
    for end, inner in ((0.0, step), (1.0, 1.0 - step)):
        value, slope = curve(end)  # type: ignore[operator]
        assert slope == 0.0
        near, near_slope = curve(inner)  # type: ignore[operator]
        assert near == pytest.approx(value, abs=1e-10)
        assert near_slope / step == pytest.approx(0.0, abs=0.04)


def test_ends_and_height() -> None:
    """It leaves and lands on its footprints, and is highest half minimum_jerk."""
    for elapsed, place in ((0.0, START), (DURATION, END)):
        foot = swing(START, END, LIFT, DURATION, elapsed)
        assert foot.pose.isApprox(place.pose(), 1e-12)
        assert not foot.velocity.any()
    heights = [
        swing(START, END, LIFT, DURATION, t).pose.translation[2]
        for t in np.linspace(0.0, DURATION, 101)
    ]
    assert max(heights) == heights[50] == pytest.approx(LIFT)
    assert min(heights) >= 0.0


def test_velocity_is_the_derivative() -> None:
    """Central differences of position and heading."""
    step = 1e-6
    for t in np.linspace(0.05, 0.35, 7):
        before, now, after = (
            swing(START, END, LIFT, DURATION, t + dt) for dt in (-step, 0.0, step)
        )
        moved = after.pose.translation - before.pose.translation
        np.testing.assert_allclose(now.velocity[:3], moved / (2 * step), atol=1e-7)
        assert now.velocity[5] == pytest.approx(
            (after.yaw - before.yaw) / (2 * step), abs=1e-7
        )
