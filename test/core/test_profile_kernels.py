# SPDX-License-Identifier: Apache-2.0
"""Factors of matrices with short rows."""

from __future__ import annotations

import numpy as np
import pytest

from humans_sim.core import dense_kernels as profile


def branched(seed: int) -> np.ndarray:
    """A positive definite matrix, zero between two branches on a common base."""
    rng = np.random.default_rng(seed)
    factor = np.triu(rng.normal(size=(9, 9))) + 3.0 * np.eye(9)
    factor[3:6, 6:] = 0.0
    return factor @ factor.T


@pytest.mark.parametrize("seed", range(3))
def test_the_factor_and_what_it_solves(seed: int) -> None:
    """U U^T is the matrix, zero where that is; equations with U and U^T are solved."""
    matrix, rng = branched(seed), np.random.default_rng(seed)
    factor, ends = np.zeros((9, 9)), np.empty(9, dtype=np.int64)
    profile.row_ends(matrix, ends)
    assert ends.tolist() == [9, 9, 9, 6, 6, 6, 9, 9, 9]
    assert profile.upper_factor(matrix, ends, factor)
    assert factor @ factor.T == pytest.approx(matrix, abs=1e-12)
    assert not np.tril(factor, -1).any() and not factor[3:6, 6:].any()
    rows = rng.normal(size=(4, 9))
    rows[1, 6:] = 0.0
    solved = rows.T.copy()
    profile.solve_upper(factor, ends, solved)
    assert factor @ solved == pytest.approx(rows.T, abs=1e-12)
    vector = rows[0].copy()
    profile.solve_upper_transposed(factor, vector)
    assert factor.T @ vector == pytest.approx(rows[0], abs=1e-12)


def test_products_of_rows() -> None:
    """All products of rows with each other, and of rows with a vector."""
    rows, products = np.random.default_rng(3).normal(size=(5, 7)), np.empty((5, 5))
    columns, out = rows.T.copy(), np.empty(5)
    profile.gram(columns, products)
    assert products == pytest.approx(rows @ rows.T, abs=1e-13)
    profile.times_rows(rows, rows[2], out)
    assert out == pytest.approx(products[2], abs=1e-13)
    profile.times_columns(columns, rows[2], out)
    assert out == pytest.approx(products[2], abs=1e-13)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 9, 24])
def test_a_full_factor_solves(size: int) -> None:
    """U^T U is the matrix, and its equations are solved."""
    rng = np.random.default_rng(size)
    rows, factor = rng.normal(size=(size, size)), np.empty((size, size))
    matrix, vector = rows @ rows.T + np.eye(size), rng.normal(size=size)
    assert profile.upper_cholesky(matrix, factor)
    upper = np.triu(factor)
    assert upper.T @ upper == pytest.approx(matrix, abs=1e-11)
    solved = vector.copy()
    profile.upper_cholesky_solve(factor, solved)
    assert matrix @ solved == pytest.approx(vector, abs=1e-10)
    assert not profile.upper_cholesky(-matrix, factor)


def test_a_matrix_without_a_factor() -> None:
    """An indefinite matrix is refused."""
    matrix, ends = np.diag([1.0, -1.0, 1.0]), np.full(3, 3)
    assert not profile.upper_factor(matrix, ends, np.zeros((3, 3)))
