# SPDX-License-Identifier: Apache-2.0
r"""Quadratic programs: by OSQP, or small dense ones exactly.

OSQP takes Ctrl-C for itself while it solves. The exact method is the dual one of
Goldfarb and Idnani:

.. math:: \min_x \tfrac12 x^T H x + g^T x \quad \text{with} \quad l \le A x \le u

for a positive definite H = L L^T. In :math:`y = L^T x` it is the projection of
:math:`-L^{-1} g` on a polyhedron. Conditions are taken in one after the other, the one
violated most first, each by the shortest step that keeps all multipliers of the
others positive; one whose multiplier comes to zero is left out. Every step lowers the
distance to the answer, so the method ends (D. Goldfarb, A. Idnani, "A numerically
stable dual method for solving strictly convex quadratic programs", Mathematical
Programming 27, 1983).
"""

from __future__ import annotations

import math
import signal
from typing import Any

import numpy as np

from humans_sim.core.dense_kernels import backward, forward
from humans_sim.core.kernels import kernel


def solve_quadratic_program(problem: Any) -> Any:
    """Solve a problem that is set up; OSQP's result, solved or not.

    OSQP handles SIGINT itself while it solves, and only reports that it was
    interrupted. The signal is then sent again, to who handles it otherwise (Python
    raises ``KeyboardInterrupt`` in the main thread, a node sets its event); where that
    continues, the problem is solved anew.
    """
    from osqp import SolverStatus  # slow to load

    while True:
        result = problem.solve(raise_error=False)
        # The status of an earlier interrupt stays where the iterations ran out.
        ran_out = result.info.iter >= problem.settings.max_iter
        if result.info.status_val != SolverStatus.OSQP_SIGINT or ran_out:
            return result
        signal.raise_signal(signal.SIGINT)


SOLVED, INFEASIBLE, STUCK = 0, 1, 2
"""Answers of :func:`minimise`."""
_DEPENDENT = 1e-20
"""Share of a condition's normal that others leave, squared: none is left."""
_CLOSE = 1e-11
"""Violation over the length of normals and the answer that counts as none."""


@kernel
def minimise(hessian, gradient, matrix, low, high):
    """Minimise x H x / 2 + g x with low <= A x <= high; x, and SOLVED or why not."""
    n, m = len(gradient), len(low)
    factor = np.linalg.cholesky(hessian)
    y, normals = -gradient, np.empty((m, n))
    forward(factor, y)
    for c in range(m):
        normals[c] = matrix[c]
        forward(factor, normals[c])
    answer = project(y, normals, low, high)
    backward(factor, y)
    return y, answer


@kernel
def project(y, normals, low, high):
    """The nearest point of a polyhedron in place of y; SOLVED, INFEASIBLE or STUCK."""
    n, m = len(y), len(low)
    sizes = np.sqrt((normals**2).sum(axis=1)) + 1e-300
    # Active conditions: their number, sign and multiplier, orthogonal vectors and R.
    which = np.empty(n + 1, np.int64)
    sign, duals = np.empty(n + 1), np.zeros(n + 1)
    basis, upper = np.empty((n + 1, n)), np.zeros((n + 1, n + 1))
    count = equal = 0
    taken = np.zeros(m, np.bool_)
    for c in range(m):
        if low[c] != high[c]:
            continue
        gap = normals[c] @ y - low[c]
        direction = -1.0 if gap > 0.0 else 1.0
        kept = _added(direction * normals[c], basis, upper, count)
        taken[c] = True
        if not kept:
            if abs(gap) > 1e3 * _CLOSE * sizes[c] * (1.0 + math.sqrt(y @ y)):
                return INFEASIBLE
            continue
        # The last basis vector is the part of the normal that is new.
        share = -abs(gap) / upper[count, count]
        for i in range(n):
            y[i] -= share * basis[count, i]
        which[count], sign[count] = c, direction
        count += 1
        equal = count
    for _ in range(10 * (n + m)):
        scale = 1.0 + math.sqrt(y @ y)
        worst, chosen, side = -_CLOSE * scale, -1, 1.0
        for c in range(m):
            if taken[c]:
                continue
            value = normals[c] @ y
            for s, slack in ((1.0, value - low[c]), (-1.0, high[c] - value)):
                if slack / sizes[c] < worst:
                    worst, chosen, side = slack / sizes[c], c, s
        if chosen < 0:
            return SOLVED
        normal = side * normals[chosen]
        bound = low[chosen] if side > 0.0 else -high[chosen]
        own = 0.0
        while True:
            along = basis[:count] @ normal
            rest = normal.copy()
            for _ in range(2):
                part = basis[:count] @ rest
                for k in range(count):
                    for i in range(n):
                        rest[i] -= part[k] * basis[k, i]
            ratio = _solve_upper(upper, along, count)
            limit, leaving = np.inf, -1
            for k in range(equal, count):
                if ratio[k] > 0.0 and duals[k] / ratio[k] < limit:
                    limit, leaving = duals[k] / ratio[k], k
            slope = rest @ rest
            dependent = slope <= _DEPENDENT * sizes[chosen] ** 2 or count == n
            full = np.inf if dependent else (bound - normal @ y) / slope
            step = min(limit, full)
            if step == np.inf:
                return INFEASIBLE
            for k in range(count):
                duals[k] -= step * ratio[k]
            own += step
            if not dependent:
                for i in range(n):
                    y[i] += step * rest[i]
            if step == full:
                if not _added(normal, basis, upper, count):
                    return STUCK
                which[count], sign[count], duals[count] = chosen, side, own
                taken[chosen] = True
                count += 1
                break
            taken[which[leaving]] = False
            for k in range(leaving, count - 1):
                which[k], sign[k], duals[k] = which[k + 1], sign[k + 1], duals[k + 1]
            count -= 1
            for k in range(leaving, count):
                _added(sign[k] * normals[which[k]], basis, upper, k)
    return STUCK


@kernel
def _added(normal, basis, upper, count):
    """Orthogonalise a normal to those before it; whether something of it was left."""
    rest = normal.copy()
    for k in range(count):
        upper[k, count] = 0.0
    for _ in range(2):
        for k in range(count):
            part = basis[k] @ rest
            upper[k, count] += part
            for i in range(len(rest)):
                rest[i] -= part * basis[k, i]
    size = rest @ rest
    if size <= _DEPENDENT * (normal @ normal):
        return False
    upper[count, count] = math.sqrt(size)
    basis[count] = rest / upper[count, count]
    return True


@kernel
def _solve_upper(upper, right, count):
    out = right.copy()
    for i in range(count - 1, -1, -1):
        for j in range(i + 1, count):
            out[i] -= upper[i, j] * out[j]
        out[i] /= upper[i, i]
    return out
