# SPDX-License-Identifier: Apache-2.0
"""The contact problem of many contacts by Newton's method, from a cold start.

The equations are those of :mod:`~humans_sim.contact.problem.newton`, written for sparse
matrices; open contacts have none. Sweeps come near to a solution at little cost. From
there the proximal point method leads on: a part of the identity is added to W about the
forces reached, which makes each of its problems well posed, and is lowered from one to
the next. Interior points stand by.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.problem.block_kernels import law_of, sweep_blocks
from humans_sim.contact.problem.block_matrix import BlockMatrix
from humans_sim.contact.problem.law_kernels import residual_of
from humans_sim.contact.problem.newton import REGULAR, SEARCH, SOFTNESS, confine
from humans_sim.contact.problem.polish_kernels import ACCEPTED
from humans_sim.contact.problem.sparse_interior_point import sparse_interior_point

_EXACT = 1e-12
"""Residual at which no further round is worth its factorisations."""
_SWEEPS = 100
_NEWTON = 8
_PROXIMAL, _LOWERED = 1e-3, 1e-2
_LOOSE = 0.1
"""Part of its first error to which a problem is solved that only leads to the next."""
_ROUNDS = 15


def by_sparse_newton(
    problem: tuple[np.ndarray, ...], blocks: BlockMatrix
) -> tuple[np.ndarray, float]:
    """Forces inside their cones (k, 3), and their residual, relative.

    Args:
        problem: fields of a contact problem whose contacts slide in no known direction.
        blocks: its W.
    """
    _, free, tangents, friction, _ = problem
    size = float(np.abs(free).max())
    best = np.zeros(free.shape)
    if size == 0.0:
        return best, 0.0
    residual = residual_of(problem, best)
    cones = np.where(tangents > 0, friction, 0.0)
    start = np.zeros(free.shape)
    if np.isfinite(cones).all():
        sweep_blocks(blocks.fields, free, cones, start, _SWEEPS)
    regular = blocks.plus(REGULAR)
    for softness in (None, *SOFTNESS):
        proximal = REGULAR
        if softness is None:
            forces, proximal = start, _PROXIMAL
        else:
            forces = sparse_interior_point(regular, free, tangents, friction, softness)
        for _ in range(_ROUNDS):
            last = proximal <= REGULAR
            shifted = free - proximal * forces
            forces = _newton(
                regular if last else blocks.plus(proximal),
                (shifted, tangents, friction),
                forces,
                0.01 * _EXACT * size,
                0.0 if last else _LOOSE,
            )
            trial = forces.copy()
            confine(trial, tangents, friction)
            error = residual_of(problem, trial)
            improved = error < residual
            if improved:
                best, residual = trial, error
            if residual <= _EXACT or (residual <= ACCEPTED and not improved):
                break
            proximal = max(_LOWERED * proximal, REGULAR)
        if residual <= ACCEPTED:
            break
    return best, float(residual)


def _newton(
    matrix: BlockMatrix,
    problem: tuple[np.ndarray, ...],
    forces: np.ndarray,
    goal: float,
    loose: float,
) -> np.ndarray:
    """Newton's method with a search along each step."""
    errors, norm, slope = law_of(matrix.fields, problem, forces)
    goal = max(goal, loose * norm)
    for _ in range(_NEWTON):
        if not norm > goal:
            break
        # (1 - D + D W) x = errors. Where D is zero x is known: to the right-hand side.
        keep = slope.any(axis=(1, 2))
        step = np.where(keep[:, None], 0.0, errors)
        right = errors
        if not keep.all():
            right = errors - np.einsum("cij,cj->ci", slope, matrix.times(step))
        try:
            step += matrix.solve(slope, np.eye(3) - slope, right, keep)
        except RuntimeError:
            break
        share = 1.0
        while True:
            trial = forces - share * step
            errors, new, slope = law_of(matrix.fields, problem, trial)
            # The shortest step is taken in any case: the errors have kinks, and
            # beyond one the way down may begin.
            if new <= (1.0 - 1e-4 * share) * norm or share < SEARCH:
                break
            share *= 0.5
        forces, norm = trial, new
    return forces
