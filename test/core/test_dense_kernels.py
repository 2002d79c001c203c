# SPDX-License-Identifier: Apache-2.0
"""Factors of small dense matrices and solutions with them, against numpy."""

from __future__ import annotations

import numpy as np

from humans_sim.core.dense_kernels import (
    backward,
    cholesky,
    forward,
    forward_rows,
    lu_factor,
    lu_solve,
)


def test_cholesky(rng: np.random.Generator) -> None:
    """The factor is numpy's, in a place of its own and in that of the matrix."""
    for n in (1, 2, 7, 30):
        root = rng.normal(size=(n, n))
        matrix = root @ root.T + n * np.eye(n)
        factor = np.zeros((n, n))
        assert cholesky(matrix, factor)
        np.testing.assert_allclose(factor, np.linalg.cholesky(matrix), rtol=1e-10)
        in_place = matrix.copy()
        assert cholesky(in_place, in_place)
        np.testing.assert_array_equal(np.tril(in_place), factor)
        for right in (rng.normal(size=n), np.zeros(n)):
            solution = right.copy()
            forward(in_place, solution)
            backward(in_place, solution)
            np.testing.assert_allclose(matrix @ solution, right, atol=1e-10)
        rows = rng.normal(size=(n, 3))
        solutions = rows.copy()
        forward_rows(factor, solutions)
        np.testing.assert_allclose(factor @ solutions, rows, atol=1e-10)


def test_matrices_without_a_cholesky_factor() -> None:
    """Indefinite matrices, singular ones and those with a NaN are refused."""
    for matrix in ([[1.0, 2.0], [2.0, 1.0]], [[0.0]], [[np.nan]]):
        array = np.array(matrix)
        assert not cholesky(array, np.zeros_like(array))


def test_lu(rng: np.random.Generator) -> None:
    """Solutions are those of the equations; rows are swapped where they must be."""
    for n in (1, 2, 7, 30):
        matrix = rng.normal(size=(n, n))
        matrix[0, 0] = 0.0 if n > 1 else 1.0
        right = rng.normal(size=n)
        factors, order = matrix.copy(), np.zeros(n, dtype=np.int64)
        assert lu_factor(factors, order)
        solution = right.copy()
        lu_solve(factors, order, solution)
        np.testing.assert_allclose(matrix @ solution, right, atol=1e-9)


def test_singular_matrices_have_no_lu_factors() -> None:
    """A column of zeros is refused."""
    matrix = np.array([[1.0, 0.0], [2.0, 0.0]])
    assert not lu_factor(matrix, np.zeros(2, dtype=np.int64))
