# SPDX-License-Identifier: Apache-2.0
"""Convex polygons: hulls against scipy, depths in half-planes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from humans_sim.core.convex_polygon import convex_hull, inside


def test_hull_is_that_of_scipy(rng: np.random.Generator) -> None:
    """The same corners for random points; points inside and on edges drop out."""
    for _ in range(50):
        points = rng.normal(size=(8, 2))
        corners = convex_hull(points)
        expected = points[ConvexHull(points).vertices]
        start = int(np.argmin(np.abs(expected - corners[0]).sum(axis=1)))
        np.testing.assert_array_equal(corners, np.roll(expected, -start, axis=0))
    square = np.array([[x, y] for x in (0.0, 0.5, 1.0) for y in (0.0, 1.0)])
    assert len(convex_hull(square)) == 4


def test_depth() -> None:
    """Distance to the nearest edge, less the margin, negative outside."""
    square = inside(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), 0.1)
    assert square.depth(np.array([0.5, 0.5])) == pytest.approx(0.4)
    assert square.depth(np.array([0.3, 0.95])) == pytest.approx(-0.05)
