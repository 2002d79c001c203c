# SPDX-License-Identifier: Apache-2.0
"""Coefficients of Runge-Kutta methods: their conditions, their orders, scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import RK45

from humans_sim.core.runge_kutta import (
    CASH_KARP,
    CLASSICAL,
    DORMAND_PRINCE,
    Tableau,
    runge_kutta_step,
)


@pytest.mark.parametrize(
    ("tableau", "order"), [(CLASSICAL, 4), (CASH_KARP, 5), (DORMAND_PRINCE, 5)]
)
def test_tableau_and_order(tableau: Tableau, order: int) -> None:
    """Rows sum to their nodes, weights to one, errors to zero; orders are no lower."""
    for node, row in zip(tableau.nodes, tableau.stages, strict=True):
        assert sum(row) == pytest.approx(node)
    assert sum(tableau.weights) == pytest.approx(1.0)
    assert sum(tableau.errors) == pytest.approx(0.0, abs=1e-15)
    left, estimates = [], []
    for h in (0.1, 0.05):
        q, error = np.array([0.5, 1.0]), np.zeros(2)
        for n in range(round(1.0 / h)):
            q, error = runge_kutta_step(
                tableau, lambda t, q: np.array([t * q[0], -(q[1] ** 2)]), n * h, q, h
            )
        left.append(np.linalg.norm(q - [0.5 * np.exp(0.5), 0.5]))
        estimates.append(np.linalg.norm(error))
    assert np.log2(left[0] / left[1]) > order - 0.4
    if tableau.errors:  # the error of one step of order 4
        assert np.log2(estimates[0] / estimates[1]) > 4.6


def test_dormand_and_prince_are_those_of_scipy() -> None:
    """The same pair, but for the sign of its error."""
    stages = [np.array(row) for row in DORMAND_PRINCE.stages[:6]]
    for row, expected in zip(stages, RK45.A, strict=True):
        assert row == pytest.approx(expected[: len(row)], rel=1e-15)
    assert DORMAND_PRINCE.weights[:6] == pytest.approx(RK45.B, rel=1e-15)
    assert np.abs(DORMAND_PRINCE.errors) == pytest.approx(np.abs(RK45.E), rel=1e-15)
