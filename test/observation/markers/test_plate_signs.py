# SPDX-License-Identifier: Apache-2.0
"""Zero and sign of force plates: an empty plate is told from one under a person."""

from __future__ import annotations

import numpy as np
import pytest

from humans_sim.observation.markers.c3d_plates import empty_wrench, upward_wrench

ZERO = slice(0, 10)


def wrench(*levels: float) -> np.ndarray:
    """Ten samples of each vertical force, with a little noise (n, 6)."""
    rng = np.random.default_rng(1)
    values = rng.normal(0, 0.3, (10 * len(levels), 6))
    values[:, 2] += np.repeat(levels, 10)
    return values


@pytest.mark.parametrize(
    ("levels", "offset"),
    [
        ((30, 700, 30), 30),  # a step on a plate that shows a little
        ((30, -700, 30), 30),  # the same, where the force on the plate is written
        ((200, -500, 200), 200),  # an offset against the load is no load
        ((-9, 800, -9), -9),
        ((700, 700, 700), 0),  # somebody stands there all the time,
        ((700, 0, 0), 0),  # and steps off,
        ((700, 2000, 0), 0),  # or jumps,
        ((350, 750, 350), 0),  # or shifts his weight
        ((46, 46, 46), 0),  # nobody comes: nothing shows that it is empty
        ((0, 300, -300), 0),  # no plate does that
    ],
)
def test_empty(levels: tuple[float, ...], offset: float) -> None:
    """The offset is taken where the plate was empty, and only there."""
    assert empty_wrench(wrench(*levels), ZERO)[2] == pytest.approx(offset, abs=0.5)


def test_samples_that_are_not_there() -> None:
    """No range, a range beyond the end, or numbers that are none: nothing is taken."""
    values = wrench(30, 700)
    for zero in (slice(0, 0), slice(900, 1000)):
        assert not empty_wrench(values, zero).any()
    values[3, 2] = np.nan
    assert not empty_wrench(values, ZERO).any()


def test_upwards() -> None:
    """The largest vertical force points up, whatever small ones do."""
    down = wrench(15, -700, 15)
    np.testing.assert_array_equal(upward_wrench(down), -down)
    up = wrench(-15, 700, -15)
    np.testing.assert_array_equal(upward_wrench(up), up)
    empty = wrench(-10, -10)
    np.testing.assert_array_equal(upward_wrench(empty), empty)
    nothing = np.full((3, 6), np.nan)
    np.testing.assert_array_equal(upward_wrench(nothing), nothing)
