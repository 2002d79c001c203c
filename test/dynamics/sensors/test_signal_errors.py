# SPDX-License-Identifier: Apache-2.0
"""Statistics of sensor errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.dynamics.sensor import ErrorSource

PERIOD, COUNT = 0.005, 4000


def readings(errors: hs.SignalErrors, true: float = 0.0, axes: int = 4) -> np.ndarray:
    """Readings of a constant (count, axes)."""
    source = ErrorSource(errors, axes, PERIOD, np.random.default_rng(7))
    return np.array([source.reading(np.full(axes, true)) for _ in range(COUNT)])


def test_white_noise() -> None:
    """Its deviation is the density over the root of the period, its steps are apart."""
    noise = readings(hs.SignalErrors(noise=0.01)) - 0.0
    expected = 0.01 / math.sqrt(PERIOD)
    assert noise.std() == pytest.approx(expected, rel=0.03)
    assert abs(noise.mean()) < 4 * expected / math.sqrt(noise.size)
    after = (noise[1:] * noise[:-1]).mean() / noise.var()
    assert abs(after) < 4 / math.sqrt(noise.size)
    assert hs.SignalErrors(noise=0.01).variance(PERIOD) == pytest.approx(expected**2)


def test_bias_stays_and_walks() -> None:
    """A bias is drawn once; a walk's deviation grows with the root of time."""
    fixed = readings(hs.SignalErrors(bias=0.5), axes=2000)
    assert (fixed == fixed[0]).all()
    assert fixed[0].std() == pytest.approx(0.5, rel=0.05)
    walk = readings(hs.SignalErrors(bias_walk=0.2), axes=400)
    for k in (100, COUNT - 1):
        expected = 0.2 * math.sqrt(k * PERIOD)
        assert walk[k].std() == pytest.approx(expected, rel=0.12)


def test_scale_range_and_rounding() -> None:
    """Scale is relative and drawn once; readings end at the range, on the steps."""
    scaled = readings(hs.SignalErrors(scale=0.1), true=2.0, axes=2000)[0]
    assert (scaled / 2.0 - 1.0).std() == pytest.approx(0.1, rel=0.06)
    assert (readings(hs.SignalErrors(range=1.5), true=2.0) == 1.5).all()
    rounded = readings(hs.SignalErrors(resolution=0.3), true=1.0)
    np.testing.assert_allclose(rounded, 0.9, atol=1e-12)
    assert (readings(hs.SignalErrors(), true=1.0) == 1.0).all()


def test_refusals() -> None:
    """Negative and unmeasurable numbers have no meaning."""
    for word in ("noise", "bias", "bias_walk", "scale", "resolution"):
        for value in (-1.0, math.nan, math.inf):
            with pytest.raises(hs.errors.ParameterError, match=word):
                hs.SignalErrors(**{word: value})
    with pytest.raises(hs.errors.ParameterError, match="range"):
        hs.SignalErrors(range=0.0)
