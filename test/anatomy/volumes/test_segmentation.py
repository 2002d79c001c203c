# SPDX-License-Identifier: Apache-2.0
"""Phantoms: what thresholds, edges and links make of discs and ellipsoids."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

import humans_sim as hs
from humans_sim.anatomy import edges, hysteresis, link_contours, segment
from humans_sim.anatomy.volumes.segmentation import deriche_gradient


def discs(apart: float, noise: float = 8.0) -> np.ndarray:
    """Two discs of 15 pixels, some pixels between them, with noise."""
    y, x = np.mgrid[:100, :160]
    image = np.zeros(y.shape)
    for column in (50, 50 + 30 + apart):
        image[(y - 50) ** 2 + (x - column) ** 2 <= 15**2] = 100
    return image + np.random.default_rng(1).normal(0, noise, image.shape)


def test_discs_apart_are_two_parts() -> None:
    """Discs 6 pixels apart, with noise, are exactly two parts, neither merged."""
    parts = segment(discs(6), 50, 80, least=20)
    assert parts.count == 2 and parts.merged == {}
    assert parts.sizes[0] == pytest.approx(np.pi * 225, rel=0.05)


def test_discs_that_touch_are_reported_as_merged() -> None:
    """They are one part, not split, and reported to have two lobes."""
    parts = segment(discs(-1), 50, 80, least=20)
    assert parts.count == 1 and parts.merged == {1: 2}


def test_hysteresis_is_region_growing() -> None:
    """It is what scipy grows from the seeds inside the low threshold."""
    image = ndimage.gaussian_filter(discs(3, 60.0), 1.0)
    grown = ndimage.binary_propagation(image >= 80, mask=image >= 40)
    assert np.array_equal(hysteresis(image, 40, 80), grown)
    with pytest.raises(hs.errors.ImageStackError, match="must not be above"):
        hysteresis(image, 80, 40)
    with pytest.raises(hs.errors.ImageStackError, match="no part"):
        segment(image, 500, 600)


def test_edges_lie_on_the_circles() -> None:
    """Deriche's edges of a disc are within a pixel of its circle, all around it."""
    pixels = np.argwhere(edges(discs(30, 2.0), 5, 10, alpha=0.8))
    radius = np.hypot(pixels[:, 0] - 50, pixels[:, 1] - 50)
    circle = pixels[radius < 25]
    assert len(circle) > 80
    assert np.abs(radius[radius < 25] - 15.5).max() < 1.5
    angle = np.sort(np.arctan2(circle[:, 0] - 50, circle[:, 1] - 50))
    assert np.diff(angle).max() < 0.2


def test_gradient_of_a_slope() -> None:
    """Deriche's filter has the slope of a plane, far from its border."""
    y, x = np.mgrid[:80, :80].astype(float)
    gradient = deriche_gradient(2 * x - 3 * y, 0.7)[:, 40, 40]
    assert gradient == pytest.approx([-3, 2], rel=1e-3)


def stack(apart: float) -> np.ndarray:
    """Two slanted ellipsoids on 40 slices, their middles some pixels apart."""
    z, y, x = np.mgrid[:40, :80, :110].astype(float)
    inside = np.zeros(z.shape, dtype=bool)
    for side in (-1, 1):
        middle = 55 + side * apart / 2 + 0.2 * (z - 20)
        inside |= (
            ((z - 20) / 18) ** 2 + ((y - 40) / 12) ** 2 + ((x - middle) / 14) ** 2
        ) < 1
    return inside


def test_contours_of_two_bones_are_linked_without_a_swap() -> None:
    """Ellipsoids apart: two bones on all their slices, nothing ambiguous."""
    linked = link_contours(stack(36))
    assert len(linked.contours) == 2 and linked.ambiguities == ()
    for bone in linked.contours:
        columns = np.array([c.centre[1] - 0.2 * (c.slice_number - 20) for c in bone])
        assert len(bone) == 35 and np.ptp(columns) < 1.5
    assert linked.labels.max() == 2


def test_contours_that_are_close_are_ambiguous() -> None:
    """Where bones merge and part again the choice is reported."""
    linked = link_contours(stack(24))
    assert linked.ambiguities
    assert {len(a.candidates) for a in linked.ambiguities} == {2}
    with pytest.raises(hs.errors.ImageStackError, match="no slice"):
        link_contours(np.zeros((3, 9, 9), dtype=bool))
