# SPDX-License-Identifier: Apache-2.0
"""Block matrices: products, islands and factors are those of dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from humans_sim.contact.problem.block_matrix import (
    blocks_of,
    elimination_of,
    factor_blocks,
    islands_of,
    part_of,
    solve_blocks,
    times,
)


def random_matrix(rng: np.random.Generator, k: int, density: float):
    """A dense matrix of k x k blocks, some of which are zero, and which are not.

    Some of those that are not have a zero between the normals.
    """
    meet = rng.random((k, k)) < density
    meet |= meet.T | np.eye(k, dtype=bool)
    dense = rng.normal(size=(3 * k, 3 * k)) * np.kron(meet, np.ones((3, 3)))
    dense[::3, ::3] *= rng.random((k, k)) < 0.5
    return dense, meet


@pytest.mark.parametrize("density", [0.03, 0.2, 1.0])
def test_products_and_factors_are_those_of_the_dense_matrix(density: float) -> None:
    """L W + D, rows of L that are zero among them, by numpy and by blocks."""
    rng = np.random.default_rng(4)
    for k in (1, 5, 30):
        dense, _ = random_matrix(rng, k, density)
        scale = rng.uniform(0.5, 2.0, k)
        rows = np.repeat(scale, 3)
        matrix, dense = blocks_of(dense, scale), rows[:, None] * dense * rows
        left = 0.1 * rng.normal(size=(k, 3, 3))
        left[rng.random(k) < 0.3] = 0.0
        diagonal = np.eye(3) + 0.1 * rng.normal(size=(k, 3, 3))
        whole = np.zeros_like(dense)
        for c in range(k):
            own = slice(3 * c, 3 * c + 3)
            whole[own] = left[c] @ dense[own]
            whole[own, own] += diagonal[c]
        vectors, product = rng.normal(size=(k, 3)), np.empty((k, 3))
        times(matrix, vectors, product)
        np.testing.assert_allclose(product.ravel(), dense @ vectors.ravel(), atol=1e-12)
        elimination = elimination_of(matrix)
        factors = np.empty((k + 2 * len(elimination.later), 3, 3))
        assert factor_blocks(matrix, left, diagonal, elimination, factors)
        right = (whole @ vectors.ravel()).reshape(k, 3)
        solve_blocks(elimination, factors, right)
        np.testing.assert_allclose(right, vectors, atol=1e-8)


def test_islands_are_connected_components() -> None:
    """As scipy finds them; their parts are the rows and columns of the whole."""
    rng = np.random.default_rng(6)
    counts = set()
    for k in (1, 6, 40, 40, 40):
        dense, meet = random_matrix(rng, k, 1.2 / k)
        matrix = blocks_of(dense, np.ones(k))
        members, begins = islands_of(matrix)
        count, label = connected_components(meet)
        assert len(begins) - 1 == count
        place = np.empty(k, np.int64)
        for a in range(count):
            of = members[begins[a] : begins[a + 1]]
            np.testing.assert_array_equal(of, np.flatnonzero(label == label[of[0]]))
            rows = (3 * of[:, None] + np.arange(3)).ravel()
            vectors, product = rng.normal(size=(len(of), 3)), np.empty((len(of), 3))
            times(part_of(matrix, of, place), vectors, product)
            known = dense[np.ix_(rows, rows)] @ vectors.ravel()
            np.testing.assert_allclose(product.ravel(), known, atol=1e-12)
        counts.add(count)
    assert len(counts) > 2


def test_a_singular_pivot_is_noticed() -> None:
    """Nothing is divided by zero."""
    matrix = blocks_of(np.zeros((3, 3)), np.ones(1))
    factors, zero = np.empty((1, 3, 3)), np.zeros((1, 3, 3))
    assert not factor_blocks(matrix, zero, zero, elimination_of(matrix), factors)
