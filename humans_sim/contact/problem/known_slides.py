# SPDX-License-Identifier: Apache-2.0
r"""Newton's method where some contacts slide in known directions.

The friction of such a contact is a multiple of its normal force, so that the contact is
one without friction whose force acts obliquely:
:math:`f = f_n (1, -\mu d)`. What is left has fewer unknowns, and W is no more
symmetric.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.problem.law_kernels import ContactProblem, residual_of
from humans_sim.contact.problem.newton import by_newton


def by_newton_along_slides(
    problem: tuple[np.ndarray, ...],
) -> tuple[np.ndarray, float]:
    """Solve a contact problem, its normals on one scale, by Newton's method.

    Not where friction pulls a sliding contact in as it presses (Painleve): of two
    solutions it would not know which one is stable.

    Args:
        problem: fields of a :class:`ContactProblem`.

    Returns:
        forces (k, 3), and the residual, relative; infinite where it was not tried.
    """
    delassus, free, tangents, friction, sliding = problem
    slides = np.flatnonzero(sliding.any(axis=1))
    oblique, reached = delassus.copy(), free.copy()
    for c in slides:
        along = friction[c] * sliding[c]
        oblique[:, 3 * c] -= delassus[:, 3 * c + 1 : 3 * c + 3] @ along
    for c in slides:
        if oblique[3 * c, 3 * c] <= 0.0:
            return np.zeros_like(free), np.inf
        oblique[3 * c + 1 : 3 * c + 3] = 0.0
        oblique[:, 3 * c + 1 : 3 * c + 3] = 0.0
        reached[c, 1:] = 0.0
    known = np.isin(np.arange(len(free)), slides)
    forces, _ = by_newton(
        ContactProblem(
            np.ascontiguousarray(oblique),
            reached,
            np.where(known, 0, tangents),
            np.where(known, 0.0, friction),
            np.zeros_like(sliding),
        )
    )
    forces[slides, 1:] = (
        -(friction[slides] * forces[slides, 0])[:, None] * sliding[slides]
    )
    return forces, float(residual_of(problem, forces))
