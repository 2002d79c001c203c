# SPDX-License-Identifier: Apache-2.0
"""Quadratic programs, and Ctrl-C while they are solved."""

from __future__ import annotations

import signal
import threading

import numpy as np
import osqp
import pytest
from scipy import sparse

from humans_sim.core.quadratic_program import solve_quadratic_program


def hard_problem(iterations: int) -> osqp.OSQP:
    """A problem that is never solved well enough."""
    rng, size = np.random.default_rng(1), 300
    problem = osqp.OSQP()
    problem.setup(
        sparse.csc_matrix(1e-6 * np.eye(size)),
        rng.normal(size=size),
        sparse.csc_matrix(rng.normal(size=(size, size))),
        -np.ones(size),
        np.ones(size),
        verbose=False,
        max_iter=iterations,
        eps_abs=1e-15,
        eps_rel=1e-15,
    )
    return problem


def test_the_solution() -> None:
    """Min (x - 3)^2 below 2 is at 2."""
    problem = osqp.OSQP()
    one = sparse.csc_matrix([[1.0]])
    problem.setup(2 * one, np.array([-6.0]), one, [-1e3], [2.0], verbose=False)
    result = solve_quadratic_program(problem)
    assert result.info.status_val == osqp.SolverStatus.OSQP_SOLVED
    assert abs(result.x[0] - 2.0) < 1e-3


def interrupt_soon() -> threading.Timer:
    """Send Ctrl-C to this process while it solves."""
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    return timer


def test_ctrl_c_is_raised() -> None:
    """OSQP takes the signal for itself; it comes to Python all the same."""
    problem = hard_problem(10**5)
    timer = interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        solve_quadratic_program(problem)
    timer.join()


def test_ctrl_c_is_handed_on() -> None:
    """A handler that only takes a note is called, and the problem is solved after."""
    called: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: called.append(number))
    try:
        timer = interrupt_soon()
        result = solve_quadratic_program(hard_problem(2_000))
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert called == [signal.SIGINT]
    assert result.info.iter == 2_000
