# SPDX-License-Identifier: Apache-2.0
"""Support polygons: hulls against scipy, half-planes, soles of the models."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import humans_sim as hs
from humans_sim.control.walking import WalkSettings
from humans_sim.control.walking.footsteps import Side
from humans_sim.control.walking.settings import SettingError
from humans_sim.control.walking.support import SolePair, convex_hull, inside


def test_hull_is_that_of_scipy(rng: np.random.Generator) -> None:
    """The same corners for random points; points inside and on edges drop out."""
    for _ in range(50):
        points = rng.normal(size=(8, 2))
        found = convex_hull(points)
        wanted = points[ConvexHull(points).vertices]
        start = int(np.argmin(np.abs(wanted - found[0]).sum(axis=1)))
        np.testing.assert_array_equal(found, np.roll(wanted, -start, axis=0))
    square = np.array([[x, y] for x in (0.0, 0.5, 1.0) for y in (0.0, 1.0)])
    assert len(convex_hull(square)) == 4


def test_depth() -> None:
    """Distance to the nearest edge, less the margin, negative outside."""
    square = inside(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), 0.1)
    assert square.depth(np.array([0.5, 0.5])) == pytest.approx(0.4)
    assert square.depth(np.array([0.3, 0.95])) == pytest.approx(-0.05)


def test_soles_mirror(model: hs.Model) -> None:
    """Left and right soles of the models are each other's mirror image."""
    pair = SolePair.of_model(model, WalkSettings.of_model(model))
    mirrored = convex_hull(pair.corners[Side.LEFT] * [1.0, -1.0])
    np.testing.assert_allclose(mirrored, pair.corners[Side.RIGHT], atol=1e-12)
    assert pair.edges == 8


def test_margin_must_leave_room(khr1: hs.Model) -> None:
    """A margin as wide as the sole is refused, and so is a place off the sole."""
    settings = WalkSettings.of_model(khr1)
    for change in ({"zmp_margin": 0.033}, {"zmp_forward": 0.061}):
        with pytest.raises(SettingError, match="zmp_margin: .* too much .* l_sole"):
            SolePair.of_model(khr1, dataclasses.replace(settings, **change))
