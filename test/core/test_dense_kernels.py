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


def test_products_of_columns_are_symmetric() -> None:
    """Of more columns than a block, some rows of them zero."""
    columns = np.random.default_rng(7).normal(size=(23, 37))
    columns[4:8, 10:] = 0.0
    products = np.empty((37, 37))
    dense.gram(columns, products)
    np.testing.assert_allclose(products, columns.T @ columns, atol=1e-13)
    np.testing.assert_array_equal(products, products.T)


def test_upper_factor_of_contacts_that_do_not_meet() -> None:
    """Blocks of zeros stay zero; what is not positive definite has no factor."""
    rows = np.random.default_rng(8).normal(size=(2, 9, 8))
    matrix = np.zeros((16, 16))
    matrix[:8, :8], matrix[8:, 8:] = rows[0].T @ rows[0], rows[1].T @ rows[1]
    factor, right = np.empty((16, 16)), np.arange(16.0)
    assert dense.upper_cholesky(matrix, factor)
    np.testing.assert_allclose(np.triu(factor).T @ np.triu(factor), matrix, atol=1e-12)
    assert not factor[:8, 8:].any()
    expected = np.linalg.solve(matrix, right)
    dense.upper_cholesky_solve(factor, right)
    np.testing.assert_allclose(right, expected, rtol=1e-7)
    assert not dense.upper_cholesky(np.diag([1.0, -1.0]), np.empty((2, 2)))


def test_largest_size_of_an_entry() -> None:
    """The largest, of either sign; what is no number shows."""
    assert dense.largest(np.array([1.0, -3.0, 2.0])) == 3.0
    assert dense.largest(np.zeros(0)) == 0.0
    assert not np.isfinite(dense.largest(np.array([1.0, np.nan, 2.0])))
    assert dense.largest(np.array([1.0, -np.inf])) == np.inf
