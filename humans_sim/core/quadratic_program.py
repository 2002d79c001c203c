# SPDX-License-Identifier: Apache-2.0
"""Quadratic programs solved by OSQP, which takes Ctrl-C for itself while it solves."""

from __future__ import annotations

import signal
from typing import Any

import osqp

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
