# SPDX-License-Identifier: Apache-2.0
"""Pictures of height fields."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim.soft as soft

ROW, COLUMN = np.indices((12, 15)).astype(float)
INNER = (slice(1, -1), slice(1, -1))


def test_ramps_and_bumps_are_analytic() -> None:
    """Planes and parabolas give what their derivatives say."""
    plane = 0.3 * ROW + 0.2 * COLUMN
    values = {
        "identity": plane[INNER],
        "laplacian": 0.0,
        "vertical_gradient": 0.6,
        "horizontal_gradient": 0.4,
        "gradient": np.hypot(0.6, 0.4),
        "cadoz2": 0.5,
        "light": 0.7 * 0.6 + 0.7 * 0.4,
    }
    for operator, expected in values.items():
        w = soft.relief(plane, operator)[INNER]
        np.testing.assert_allclose(w, expected + 0 * w, atol=1e-12)
    w = soft.relief(plane, "cadoz1")
    even = (ROW + COLUMN) % 2 == 0
    np.testing.assert_allclose(w[INNER][even[INNER]], 0.5, atol=1e-12)
    np.testing.assert_allclose(w[INNER][~even[INNER]], 0.1, atol=1e-12)
    bump = -0.5 * (ROW**2 + COLUMN**2)
    np.testing.assert_allclose(soft.relief(bump, "laplacian")[INNER], 0.5, atol=1e-9)


def test_flat_fields_are_black() -> None:
    """All operators but the first give 0 on a flat field."""
    for operator in soft.OPERATORS[1:]:
        assert not soft.relief(np.full((5, 6), 0.3), operator).any()


def test_colour_law() -> None:
    """The thesis' law at 0.05 m, its saturation, and a hue that stays below it."""
    law = soft.ColourLaw(0.0, 0.1, (200, 100, 50))
    np.testing.assert_allclose(law.colours(0.05), [100, 50, 25])
    assert law.saturation()[0] == pytest.approx(0.1275)
    colours = law.colours(np.linspace(0.01, 0.1275, 20))
    np.testing.assert_allclose(colours / colours[:, :1], [[1, 0.5, 0.25]] * 20)
    np.testing.assert_allclose(law.colours(10.0), 255.0)
    np.testing.assert_allclose(law.colours(-1.0), 0.0)


def test_pictures_of_several_pixels_a_pin() -> None:
    """Pins keep their colours, pixels between them are means."""
    law = soft.ColourLaw(0.0, 1.0, (200, 100, 50))
    rng = np.random.default_rng(0)
    heights = rng.random((5, 6))
    small = soft.picture(heights, law, "identity")
    large = soft.picture(heights, law, "identity", pixels=2)
    assert large.shape == (9, 11, 3)
    np.testing.assert_array_equal(large[::2, ::2], small)
    mean = 100 * (heights[0, 0] + heights[0, 1])
    assert abs(int(large[0, 1, 0]) - mean) <= 1
    with pytest.raises(soft.SoftError, match="no operator"):
        soft.relief(heights, "sobel")
    with pytest.raises(soft.SoftError, match="pixels a pin"):
        soft.picture(heights, law, pixels=4)
