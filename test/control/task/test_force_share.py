# SPDX-License-Identifier: Apache-2.0
"""Shares of contact forces: sums, cones, prices, and wrenches out of reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import humans_sim as hs
from humans_sim.control.task.task_law import share_forces

FRICTION = 0.5
FOOT = np.array([[x, y, 0.0] for y in (-0.1, 0.1) for x in (-0.05, 0.15)])
POINTS = np.vstack([FOOT, FOOT + [0.0, 0.4, 0.0]])
WEIGHT = 800.0


def rows_of(points: np.ndarray) -> np.ndarray:
    """Rows of points that a base at the origin carries: up, forward, left."""
    axes = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    return np.array([[np.r_[a, np.cross(p, a)] for a in axes] for p in points])


ROWS = rows_of(POINTS)


def wrench_of(forces: np.ndarray) -> np.ndarray:
    """Force and moment about the origin, by hand."""
    world = forces[:, [1, 2, 0]]
    return np.r_[world.sum(axis=0), np.cross(POINTS, world).sum(axis=0)]


def test_weight_in_the_middle_is_shared_equally() -> None:
    """Eight corners, the load above their centre: an eighth each, no friction."""
    base_force = np.zeros(6)
    x, y = POINTS[:, :2].mean(axis=0)
    base_force[2:5] = WEIGHT, y * WEIGHT, -x * WEIGHT
    share = share_forces(ROWS, base_force, FRICTION, np.ones(8))
    np.testing.assert_allclose(share.forces[:, 0], WEIGHT / 8, rtol=1e-6)
    np.testing.assert_allclose(share.forces[:, 1:], 0.0, atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(50.0, 300.0), min_size=8, max_size=8),
    st.lists(st.floats(-0.5, 0.5), min_size=16, max_size=16),
)
def test_reaches_what_the_cones_allow(normals: list, slopes: list) -> None:
    """Any sum of forces inside the pyramids is reached, by forces inside them."""
    true = np.zeros((8, 3))
    true[:, 0] = normals
    true[:, 1:] = FRICTION * np.reshape(slopes, (8, 2)) * true[:, :1]
    base_force = wrench_of(true)
    share = share_forces(ROWS, base_force, FRICTION, np.ones(8))
    # The price of the forces costs a little of the sums, some 1e-8 of them.
    assert share.missing < 1e-4
    np.testing.assert_allclose(wrench_of(share.forces), base_force, atol=1e-4)
    assert (share.forces[:, 0] >= 0).all()
    pyramid = np.abs(share.forces[:, 1:]).sum(axis=1)
    assert (pyramid <= FRICTION * share.forces[:, 0] + 1e-9).all()
    # None of the forces that do the same is smaller.
    assert np.linalg.norm(share.forces[:, 0]) <= np.linalg.norm(true) * (1 + 1e-3)


def test_same_share_at_every_scale() -> None:
    """Twice the wrench, twice the forces."""
    base_force = wrench_of(np.tile([100.0, 10.0, -5.0], (8, 1)))
    prices = np.array([1.0, 5.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0])
    one = share_forces(ROWS, base_force, FRICTION, prices).forces
    ten = share_forces(ROWS, 10 * base_force, FRICTION, prices).forces
    np.testing.assert_allclose(ten, 10 * one, atol=1e-4)


def test_prices() -> None:
    """A foot that is penalised more carries less; one of infinite price nothing."""
    base_force = np.array([0.0, 0.0, WEIGHT, 0.2 * WEIGHT, -0.05 * WEIGHT, 0.0])
    left = []
    for price in (1.0, 10.0, 1e4, np.inf):
        prices = np.repeat([1.0, price], 4)
        share = share_forces(ROWS, base_force, 10.0, prices)
        left.append(share.forces[4:, 0].sum())
    assert left[0] == pytest.approx(WEIGHT / 2, rel=1e-6)
    assert left[0] > 1.2 * left[1] > 1.2 * left[2] > 0
    assert left[3] == 0.0
    np.testing.assert_array_equal(share.forces[4:], 0.0)


def test_unreachable_wrenches_are_reported() -> None:
    """Pulling the ground, sliding, and tipping: the missing part is in newtons."""
    up = np.array([0.0, 0.0, WEIGHT, 0.2 * WEIGHT, -0.05 * WEIGHT, 0.0])
    pulled = share_forces(ROWS, -up, FRICTION, np.ones(8))
    assert pulled.missing == pytest.approx(WEIGHT)
    np.testing.assert_array_equal(pulled.forces, 0.0)
    slide = up + [WEIGHT, 0, 0, 0, 0, 0]
    assert share_forces(ROWS, slide, FRICTION, np.ones(8)).missing > 0.1 * WEIGHT
    tip = up + [0, 0, 0, WEIGHT, 0, 0]
    assert share_forces(ROWS, tip, FRICTION, np.ones(8)).missing > 0.1 * WEIGHT
    nobody = share_forces(ROWS, up, FRICTION, np.full(8, np.inf))
    assert nobody.missing == pytest.approx(WEIGHT)


@pytest.mark.parametrize(
    "prices", [np.ones(7), np.ones((8, 1)), np.zeros(8), np.r_[np.ones(7), -1.0]]
)
def test_bad_prices(prices: np.ndarray) -> None:
    """One a contact, above zero."""
    with pytest.raises(hs.errors.ParameterError, match="8 prices above zero"):
        share_forces(ROWS, np.zeros(6), FRICTION, prices)


def test_not_a_number_is_no_price() -> None:
    """NaN would spoil the forces without a word."""
    with pytest.raises(hs.errors.ParameterError):
        share_forces(ROWS, np.zeros(6), FRICTION, np.r_[np.ones(7), np.nan])
