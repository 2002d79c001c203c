# SPDX-License-Identifier: Apache-2.0
"""Dense quadratic programs: optimality conditions, OSQP, conditions that contradict."""

from __future__ import annotations

import numpy as np
import osqp
import pytest
from scipy import sparse
from scipy.optimize import nnls

from humans_sim.core.quadratic_program import INFEASIBLE, SOLVED, minimise


class Program:
    """A random program that has an answer.

    Args:
        rng: random numbers.
        dependent: whether conditions stand twice.
    """

    def __init__(self, rng: np.random.Generator, dependent: bool = False) -> None:
        """Up to 40 unknowns, some conditions equalities, some without one bound."""
        n, m = int(rng.integers(2, 41)), int(rng.integers(1, 61))
        equal = int(min(rng.integers(0, 7), n - 1, m))
        root = rng.normal(size=(n + 2, n))
        scale = 10 ** rng.uniform(-2, 2)
        self.hessian = scale * root.T @ root + 1e-3 * np.eye(n)
        self.gradient = rng.normal(size=n) * 10 ** rng.uniform(-1, 2)
        self.matrix = rng.normal(size=(m, n))
        if dependent:
            self.matrix = np.vstack([self.matrix, 2 * self.matrix])
            m *= 2
        middle = self.matrix @ rng.normal(size=n)
        self.low = middle - rng.uniform(0, 1, m)
        self.high = middle + rng.uniform(0, 1, m)
        self.high[rng.random(m) < 0.5] = np.inf
        self.low[:equal] = self.high[:equal] = middle[:equal]

    def solve(self) -> np.ndarray:
        """Its answer."""
        x, answer = minimise(
            self.hessian, self.gradient, self.matrix, self.low, self.high
        )
        assert answer == SOLVED
        return np.asarray(x)


@pytest.mark.parametrize("dependent", [False, True])
def test_conditions_of_optimality(dependent: bool) -> None:
    """No condition is violated; the gradient is made of normals that press inwards."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        program = Program(rng, dependent)
        x = program.solve()
        values = program.matrix @ x
        assert (values >= program.low - 1e-8).all()
        assert (values <= program.high + 1e-8).all()
        slope = program.hessian @ x + program.gradient
        lower = np.abs(values - program.low) < 1e-7
        upper = np.abs(values - program.high) < 1e-7
        normals = np.vstack([program.matrix[lower], -program.matrix[upper]])
        left = nnls(normals.T, slope)[1] if len(normals) else np.linalg.norm(slope)
        assert left < 1e-6 * np.linalg.norm(program.gradient)


def test_answers_of_osqp() -> None:
    """An independent solver finds the same."""
    rng = np.random.default_rng(5)
    for _ in range(15):
        program = Program(rng)
        other = osqp.OSQP()
        other.setup(
            sparse.csc_matrix(np.triu(program.hessian)),
            program.gradient,
            sparse.csc_matrix(program.matrix),
            program.low,
            program.high,
            verbose=False,
            eps_abs=1e-9,
            eps_rel=1e-9,
            max_iter=50_000,
            polishing=True,
        )
        x = program.solve()
        expected = other.solve(raise_error=False).x
        assert np.abs(x - expected).max() < 1e-5 * (1 + np.abs(x).max())


def test_conditions_that_contradict() -> None:
    """Bounds without room between them, and two equalities for one unknown."""
    rows = np.array([[1.0, 0.0], [1.0, 0.0]])
    start = np.eye(2), np.zeros(2), rows
    above, below = np.array([1.0, -np.inf]), np.array([np.inf, 0.0])
    assert minimise(*start, above, below)[1] == INFEASIBLE
    different = np.array([1.0, 2.0])
    assert minimise(*start, different, different)[1] == INFEASIBLE
    same = np.array([1.0, 1.0])
    x, answer = minimise(*start, same, same)
    assert answer == SOLVED and x == pytest.approx([1.0, 0.0])
