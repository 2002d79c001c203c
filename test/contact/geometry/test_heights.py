# SPDX-License-Identifier: Apache-2.0
"""Heights of a ground against its distances, which are computed otherwise."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.contact.geometry.ground import ground_heights
from humans_sim.contact.geometry.mesh_contact_kernels import least_distances
from humans_sim.contact.geometry.solids import Ball, Box

FLOOR = hs.Ground()
TURN = pin.rpy.rpyToMatrix(0.3, -0.2, 0.5)
GROUNDS = {
    "stairs": FLOOR.with_stairs(count=3, rise=0.05, depth=0.3, start=0.1, width=1.0),
    "ramp": FLOOR.with_ramp(angle=0.2, length=0.5, start=0.2, platform=0.3),
    "rubble": FLOOR.with_rubble(
        seed=1, height=0.03, size=(1.0, 0.6), spacing=0.1, start=0.1
    ),
    "steps": FLOOR.with_steps(count=3, rise=0.02, depth=0.15, start=0.3),
    "box": FLOOR.with_solids(Box((0.6, 0.4, 0.2), (0.5, 0.0, 0.2), TURN)),
    "ball": FLOOR.with_solids(Ball(0.4, (0.5, 0.1, -0.1))),
    "slope": hs.Ground.slope(0.2),
}


@pytest.mark.parametrize("name", GROUNDS)
def test_nothing_lies_above(name: str) -> None:
    """At the height found the distance is zero; above it nothing is met."""
    ground = GROUNDS[name]
    points = np.random.default_rng(2).uniform((-0.2, -0.4), (1.4, 0.4), (300, 2))
    heights = ground_heights(ground, points)
    solids = ground.table(), ground.mesh_data()
    at = least_distances(*solids, np.column_stack([points, heights]))
    np.testing.assert_allclose(at, 0.0, atol=1e-9)
    assert np.ptp(heights) > 0.01
    for above in (1e-3, 0.01, 0.1, 0.5):
        higher = np.column_stack([points, heights + above])
        assert least_distances(*solids, higher).min() > 0.0


def test_holes_have_no_height() -> None:
    """Where a plumb line meets nothing."""
    box = Box((1.0, 1.0, 0.2), (0.0, 0.0, 0.0))
    ground = hs.Ground(solids=(box,))
    heights = ground_heights(ground, np.array([[0.4, 0.4], [0.6, 0.0]]))
    assert heights[0] == pytest.approx(0.1) and np.isnan(heights[1])
