# SPDX-License-Identifier: Apache-2.0
"""Quadratic programs solved by OSQP, which takes Ctrl-C for itself while it solves."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import osqp
from scipy import sparse

SOLVED = (osqp.SolverStatus.OSQP_SOLVED, osqp.SolverStatus.OSQP_SOLVED_INACCURATE)
"""Statuses with a solution."""


def solve_quadratic_program(problem: osqp.OSQP) -> Any:
    """Solve a problem that is set up; OSQP's result, solved or not.

    OSQP handles SIGINT itself while it solves, and only reports that it was
    interrupted. The signal is then sent again, to who handles it otherwise (Python
    raises ``KeyboardInterrupt`` in the main thread, a node sets its event); where that
    continues, the problem is solved anew.
    """
    while True:
        result = problem.solve(raise_error=False)
        # The status of an earlier interrupt stays where the iterations ran out.
        ran_out = result.info.iter >= problem.settings.max_iter
        if result.info.status_val != osqp.SolverStatus.OSQP_SIGINT or ran_out:
            return result
        signal.raise_signal(signal.SIGINT)


class RepeatedProgram:
    """A quadratic program that is solved again and again with other numbers.

    It is set up once: what OSQP learns from where the numbers stand stays. Each
    solution begins as that of a program just set up would, with the same penalty.

    Args:
        inside: which entries of the matrix of conditions may differ from zero (m, n).
        settings: of OSQP.
    """

    def __init__(self, inside: np.ndarray, settings: dict[str, Any]) -> None:
        """Nothing is set up yet: that takes the first numbers."""
        self._settings = settings
        self._problem: osqp.OSQP | None = None
        self._penalty = 0.0
        count = inside.shape[1]
        # By columns, as OSQP takes them; the Hessian's upper triangle.
        self._upper = np.tril_indices(count)[::-1]
        column, row = np.nonzero(inside.T)
        self._entries = (row, column)
        ends = np.concatenate([[0], np.cumsum(inside.sum(axis=0))])
        self._pattern = (row, ends, inside.shape)
        self._cold = (np.zeros(count), np.zeros(len(inside)))

    def solve(
        self,
        hessian: np.ndarray,
        gradient: np.ndarray,
        matrix: np.ndarray,
        bounds: tuple[np.ndarray, np.ndarray],
        start: tuple[np.ndarray, np.ndarray] | None,
    ) -> Any:
        """OSQP's result, solved or not.

        Args:
            hessian: symmetric (n, n).
            gradient: (n,).
            matrix: of the conditions (m, n).
            bounds: least and largest values of the conditions (m,).
            start: solution to start from, and its multipliers; zero where None.
        """
        upper, values = hessian[self._upper], matrix[self._entries]
        low, high = bounds
        if self._problem is None:
            self._problem = osqp.OSQP()
            row, ends, shape = self._pattern
            count = shape[1]
            self._problem.setup(
                sparse.csc_matrix(
                    (upper, self._upper[0], _triangle_ends(count)), (count, count)
                ),
                gradient,
                sparse.csc_matrix((values, row, ends), shape),
                low,
                high,
                **self._settings,
            )
            self._penalty = self._problem.settings.rho
        else:
            self._problem.update(q=gradient, l=low, u=high, Px=upper, Ax=values)
            self._problem.update_settings(rho=self._penalty)
        self._problem.warm_start(*(self._cold if start is None else start))
        return solve_quadratic_program(self._problem)


def _triangle_ends(count: int) -> np.ndarray:
    """Where the columns of an upper triangle begin, and where the last one ends."""
    columns = np.arange(count + 1)
    return columns * (columns + 1) // 2
