# SPDX-License-Identifier: Apache-2.0
"""Positions that trail."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.kondo.motion.player import Lag


def test_even_motion_is_late_by_the_constant() -> None:
    """After a while an even motion is followed at its speed, late."""
    lag, period, speed = Lag(0.1, 0.001), 0.001, 2.0
    lag.reset(np.zeros(2))
    for k in range(1, 2001):
        behind = lag.follow(np.full(2, speed * k * period))
    late = (speed * 2000 * period - behind) / speed
    np.testing.assert_allclose(late, 0.1, rtol=0.01)


def test_no_lag() -> None:
    """With a constant of zero it is where it is led; it begins where it first is."""
    lag = Lag(0.0, 0.02)
    np.testing.assert_array_equal(lag.follow(np.array([1.0])), [1.0])
    np.testing.assert_array_equal(lag.follow(np.array([-2.0])), [-2.0])
    first = Lag(0.5, 0.02)
    np.testing.assert_array_equal(first.follow(np.array([3.0])), [3.0])


@pytest.mark.parametrize("constant", [-1.0, np.nan, np.inf])
def test_nonsense_is_refused(constant: float) -> None:
    """A lag is a time."""
    with pytest.raises(hs.errors.ParameterError):
        Lag(constant, 0.02)
