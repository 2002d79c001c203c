# SPDX-License-Identifier: Apache-2.0
"""Where functions cross zero inside a step."""

from __future__ import annotations

import numpy as np
import pytest

from humans_sim.core.roots import beyond, first_root, lowest, may_dip


def dips(gap: float, rate: float, end_gap: float, end_rate: float) -> bool:
    """Of one gap, in a step of one second."""
    one = (np.array([value]) for value in (gap, rate, end_gap, end_rate))
    return bool(may_dip(*one, 1.0)[0])


def test_a_gap_that_just_opens_may_dip() -> None:
    """From zero without a rate, s^2 (s - 1/2) goes down before it goes up."""
    assert dips(0.0, 0.0, 0.5, 2.0)
    assert not dips(0.0, 0.0, 0.5, 1.0)  # s^2 / 2 only opens


@pytest.mark.parametrize("bottom, closes", [(-0.1, True), (0.3, False)])
def test_a_gap_that_falls_and_rises(bottom: float, closes: bool) -> None:
    """A parabola with its lowest point in the middle of the step."""
    assert dips(bottom + 0.25, -1.0, bottom + 0.25, 1.0) == closes


def test_cubics_are_bounded() -> None:
    """No cubic that goes below zero is overlooked."""
    rng = np.random.default_rng(3)
    s = np.linspace(0, 1, 400)
    for _ in range(300):
        gap, end_gap = rng.uniform(0, 1, 2) * (rng.random(2) < 0.8)
        rate, end_rate = rng.normal(size=2) * 3
        cubic = np.polynomial.Polynomial(
            [
                gap,
                rate,
                3 * (end_gap - gap) - 2 * rate - end_rate,
                2 * (gap - end_gap) + rate + end_rate,
            ]
        )
        if cubic(s).min() < -0.02:
            assert dips(gap, rate, end_gap, end_rate)


def test_a_root_that_rounding_hides_is_the_end() -> None:
    """Positive up to the end, where it was seen to be negative: the end it is."""
    assert first_root(lambda t: 1e-20, 0.0, 1.0) == 1.0
    assert first_root(lambda t: -1.0, 0.0, 1.0) == 0.0
    assert first_root(lambda t: 0.3 - t, 0.0, 1.0) == pytest.approx(0.3, abs=1e-14)


def test_the_lowest_place() -> None:
    """Of a parabola."""
    place, value = lowest(lambda t: (t - 0.4) ** 2 - 1.0, 0.0, 1.0)
    assert place == pytest.approx(0.4, abs=1e-7) and value == pytest.approx(-1.0)


def test_a_root_is_left_behind() -> None:
    """Behind a root that is a rounding early the function is not above zero."""
    early = 0.35 * (1 - 1e-15)
    late = beyond(lambda t: 0.35 - t, early, 0.5)
    assert early < late <= 0.35 * (1 + 1e-14)
    assert 0.35 - late <= 0.0
    assert beyond(lambda t: -1.0, 0.2, 0.5) == 0.2
    assert beyond(lambda t: 1.0, 0.2, 0.5) == 0.5
