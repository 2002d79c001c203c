# SPDX-License-Identifier: Apache-2.0
"""Small dense solvers against numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from humans_sim.core import dense_kernels as dense


@pytest.fixture
def positive() -> np.ndarray:
    """A symmetric positive definite matrix."""
    rows = np.random.default_rng(5).normal(size=(9, 7))
    return rows.T @ rows


def test_cholesky_factor_gives_the_matrix(positive: np.ndarray) -> None:
    """L L^T is the matrix, and the triangular solutions invert L and L^T."""
    factor = np.zeros_like(positive)
    assert dense.cholesky(positive, factor)
    np.testing.assert_allclose(factor @ factor.T, positive, rtol=1e-12)
    right = np.random.default_rng(6).normal(size=(7, 3))
    rows, vector = right.copy(), right[:, 0].copy()
    dense.forward_rows(factor, rows)
    np.testing.assert_allclose(factor @ rows, right, atol=1e-12)
    dense.backward(factor, vector)
    np.testing.assert_allclose(factor.T @ vector, right[:, 0], atol=1e-12)


def test_cholesky_solve(positive: np.ndarray) -> None:
    """The solution is numpy's, whatever the upper triangle holds."""
    right = np.arange(7.0)
    expected = np.linalg.solve(positive, right)
    matrix = np.tril(positive) + np.triu(np.full((7, 7), 1e3), 1)
    assert dense.cholesky_solve(matrix, right)
    np.testing.assert_allclose(right, expected, rtol=1e-9)


def test_cholesky_refuses_what_is_not_positive() -> None:
    """An indefinite matrix has no factor."""
    assert not dense.cholesky(np.diag([1.0, -1.0]), np.zeros((2, 2)))
    assert not dense.cholesky_solve(np.diag([1.0, 0.0]), np.ones(2))


def test_lu_swaps_rows() -> None:
    """A zero on the diagonal is no obstacle; a singular matrix is."""
    matrix = np.array([[0.0, 2.0, 1.0], [3.0, 1.0, 0.0], [1.0, 0.0, 4.0]])
    right = np.array([1.0, 2.0, 3.0])
    expected = np.linalg.solve(matrix, right)
    order = np.zeros(3, dtype=np.int64)
    assert dense.lu_factor(matrix, order)
    dense.lu_solve(matrix, order, right)
    np.testing.assert_allclose(right, expected, rtol=1e-12)
    assert not dense.lu_factor(np.zeros((2, 2)), np.zeros(2, dtype=np.int64))
