# SPDX-License-Identifier: Apache-2.0
"""Balance: the zero-moment point of the whole body by independent mechanics."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.control.retargeting.balance import (
    WALKING,
    Balance,
    balance_knots,
    zero_moment_points,
)
from humans_sim.core.convex_polygon import inside

GRAVITY = 9.81


def square(x: float, y: float, half: float) -> np.ndarray:
    """Corners, counter-clockwise."""
    return np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half + [x, y]


def test_the_zmp_goes_from_foot_to_foot() -> None:
    """It stays in each support, and the pendulum's equation gives it back."""
    t = 0.01 * np.arange(401)
    knots = balance_knots(t)
    feet = {True: inside(square(0.0, 0.1, 0.03)), False: inside(square(0, -0.1, 0.03))}
    both = inside(
        np.array([[-0.03, -0.13], [0.03, -0.13], [0.03, 0.13], [-0.03, 0.13]])
    )
    support = [both if abs(k - 2.0) > 1.4 else feet[k < 2.0] for k in knots]
    reference = np.zeros((len(t), 2))
    reference[:, 1] = np.where(t < 2.0, 0.1, -0.1)
    reference[(np.abs(t - 2.0) > 1.4), 1] = 0.0
    heights = np.full(len(t), 0.7)
    balance = Balance(t, knots, support, WALKING, GRAVITY)
    com = balance.solve(heights, reference, np.zeros((len(t), 2)))
    at = np.searchsorted(t, knots[1:-1] - 1e-9)
    for k, row in zip(range(1, len(knots) - 1), at, strict=True):
        assert support[k].depth(com.zmp[row]) > -0.004
    pull = np.gradient(np.gradient(com.places[:, 1], t), t)
    zmp = com.places[:, 1] - 0.7 / GRAVITY * pull
    inner = slice(5, -5)
    assert np.median(np.abs(zmp - com.zmp[:, 1])[inner]) < 2e-3
    assert np.allclose(com.places[0], com.places[1], atol=1e-4)


def test_no_support_is_refused() -> None:
    """Feet that no pendulum can reach in time have no answer."""
    t = 0.01 * np.arange(101)
    knots = balance_knots(t)
    support = [inside(square(0.0, 5.0 if k > 0.5 else 0.0, 0.01)) for k in knots]
    balance = Balance(t, knots, support, WALKING, GRAVITY)
    still = np.zeros((len(t), 2))
    with pytest.raises(
        hs.errors.RetargetError, match="no motion of the centre of mass"
    ):
        balance.solve(np.full(len(t), 0.2), still, still)


def test_zmp_is_that_of_the_momentum() -> None:
    """Newton-Euler and the rates of the centroidal momentum agree."""
    model = hs.load_model("khr1")
    rng = np.random.default_rng(1)
    q = model.neutral()
    q[7:] = 0.2 * rng.normal(size=model.nv - 6)
    v, a = 0.3 * rng.normal(size=model.nv), rng.normal(size=model.nv)
    found = zero_moment_points(model, q[None], v[None], a[None])[0]
    data = model.data()
    pin.computeCentroidalMomentumTimeVariation(model.pin, data, q, v, a)
    pull, turn = data.dhg.linear, data.dhg.angular
    force = pull + [0.0, 0.0, model.mass * GRAVITY]
    c = data.com[0]
    moment = turn + np.cross(c, force)
    expected = np.array([-moment[1], moment[0]]) / force[2]
    assert np.allclose(found, expected, atol=1e-9)
