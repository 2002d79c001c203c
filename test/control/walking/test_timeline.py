# SPDX-License-Identifier: Apache-2.0
"""What a walk's plan asks of the knots ahead is what its phases say of each."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.walking import Velocity, WalkSettings
from humans_sim.control.walking.footsteps import Footprint, Side, SolePair
from humans_sim.control.walking.timeline import SupportPhase, Timeline

VELOCITIES = ((0.05, 0.0, 0.0), (0.02, 0.02, 0.0), (0.0, 0.0, 0.3))


def phase_at(timeline: Timeline, knot: int) -> SupportPhase:
    """The phase of a knot; at one between two phases the smaller support."""
    there = [
        phase
        for phase in timeline.phases
        if phase.first <= knot and (phase.last is None or knot <= phase.last)
    ]
    return max(there, key=lambda phase: phase.step is not None)


@pytest.mark.parametrize("velocity", VELOCITIES)
def test_conditions_ahead(khr1: hs.Model, velocity: tuple[float, ...]) -> None:
    """At every knot of a walk that starts, is commanded anew and stops."""
    settings = WalkSettings.of_model(khr1)
    soles, half = SolePair.of_model(khr1, settings), 0.5 * settings.stance_width
    feet = {side: Footprint(0.0, side * half, 0.0) for side in Side}
    timeline, count = Timeline(settings, soles, feet, 0.0), settings.horizon_knots
    steps = 0
    for knot in range(400):
        if knot == 3:
            timeline.follow(Velocity(*velocity))
        if knot == 110:
            timeline.follow(Velocity(0.03, 0.0, 0.0))
        if knot == 200:
            timeline.stop()
        timeline.advance(knot)
        steps = max(steps, timeline.steps)
        zmp, normals, bounds = timeline.ahead(knot)
        assert (len(zmp), len(normals), len(bounds)) == (2 * count, count, count)
        for k in range(2 * count):
            phase = phase_at(timeline, knot + 1 + k)
            expected = phase.zmp_at(np.array([knot + 1 + k]))[0]
            np.testing.assert_allclose(zmp[k], expected, atol=1e-14)
            if k < count:
                size = len(phase.room.bounds)
                np.testing.assert_array_equal(normals[k, :size], phase.room.normals)
                np.testing.assert_array_equal(bounds[k, :size], phase.room.bounds)
                assert not normals[k, size:].any()
                assert np.isinf(bounds[k, size:]).all()
    assert steps > 5
    assert timeline.phases[0].last is None  # it stands again
