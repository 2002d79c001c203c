# SPDX-License-Identifier: Apache-2.0
r"""The contact problem: unilateral contact with Coulomb friction.

Given the Delassus matrix :math:`W = J M^{-1} J^T` and the free motion b of the
contacts, find forces f and motion u = W f + b with

.. math:: 0 \le u_n \perp f_n \ge 0, \qquad |f_t| \le \mu f_n, \qquad
   u_t \ne 0 \Rightarrow f_t = -\mu f_n u_t / |u_t|.

Read as accelerations and forces it decides lift-off, stick and slip (the manual's (1.7)
with friction); read as velocities and impulses it is the impact with inequalities, and
one step of the time-stepping method. A contact that slides already has a known
direction of friction. Infinite friction is the manual's sticking law: the tangents of a
closed contact are held whatever its normal force.

Method: Newton's method (:mod:`~humans_sim.contact.problem.newton`), with interior
points where it fails; beyond some fifty contacts that meet few others each, its sparse
form (:mod:`~humans_sim.contact.problem.sparse_newton`). W need not be quite symmetric
for them. Where it does not arrive: Gauss-Seidel sweeps, each contact solved exactly
(open, stick, or slip with the direction found by bisection), until the modes can be
read off; the linear equations of those modes are solved and the answer is verified.
The better of both is the answer.

Contacts that slide in a known direction begin with the sweeps: of two solutions
(Painleve) these take the stable one. Newton's method comes next
(:mod:`~humans_sim.contact.problem.known_slides`). Redundant contacts make W singular: u
is unique then and f is one of many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.contact.problem.block_matrix import BlockMatrix
from humans_sim.contact.problem.gauss_seidel import by_sweeps
from humans_sim.contact.problem.known_slides import by_newton_along_slides
from humans_sim.contact.problem.law_kernels import ContactProblem, modes_of, residual_of
from humans_sim.contact.problem.newton import by_newton
from humans_sim.contact.problem.polish_kernels import ACCEPTED
from humans_sim.contact.problem.sparse_newton import by_sparse_newton
from humans_sim.core.errors import HumansError, ParameterError

_TOLERATED = 1e-6
_SPARSE, _DENSITY = 50, 0.3
"""Contacts, and share of pairs that meet, at which the sparse form is the faster."""
_MANY = 100
"""Contacts beyond which a second method serves only where nothing is tolerable."""


class ContactProblemError(HumansError):
    """The contact problem has no solution, or none was found.

    Attributes:
        residual: how far the best forces are from a solution, relative.
    """

    def __init__(self, message: str, residual: float) -> None:
        """Keep the residual with the message."""
        self.residual = residual
        super().__init__(f"{message} (relative residual {residual:.1e})")


@dataclass(frozen=True)
class ContactSolution:
    """Forces and motion of the contacts.

    Attributes:
        forces: (k, 3): normal and tangents [N, or N s].
        motion: (k, 3) [m/s^2, or m/s].
        mode: (k,) OPEN, STICK or SLIDE.
        residual: error of the law, relative.
    """

    forces: np.ndarray
    motion: np.ndarray
    mode: np.ndarray
    residual: float


def solve_contact(
    delassus: np.ndarray,
    free: np.ndarray,
    tangents: np.ndarray,
    friction: np.ndarray,
    sliding: np.ndarray | None = None,
    tolerated: float = _TOLERATED,
) -> ContactSolution:
    """Solve the contact problem.

    Args:
        delassus: W (3k, 3k), positive semidefinite, symmetric but for rounding; rows
            of tangents that a contact does not have are zero.
        free: b (k, 3), motion without contact forces.
        tangents: (k,) number of tangents of each contact.
        friction: (k,); infinite for the sticking law.
        sliding: (k, 2) unit direction in which a contact slides now, zero where it
            does not; None for none.
        tolerated: largest residual of an answer, relative.

    Raises:
        ParameterError: sizes do not fit, or friction is negative.
        ContactProblemError: no solution was found; sliding under large friction may
            have none (Painleve).
    """
    k = len(friction)
    if delassus.shape != (3 * k, 3 * k) or free.shape != (k, 3):
        raise ParameterError(
            f"{k} contacts need W ({3 * k}, {3 * k}) and b ({k}, 3), not "
            f"{delassus.shape} and {free.shape}"
        )
    if np.isnan(friction).any() or (friction < 0).any():
        raise ParameterError("friction coefficients must not be negative")
    none = np.zeros((k, 2))
    sliding = none if sliding is None else np.asarray(sliding, dtype=float)
    forces = np.zeros((k, 3))
    if k == 0:
        return ContactSolution(forces, free, np.zeros(0, dtype=np.int64), 0.0)
    # Contacts of different units (metres, radians) are put on one scale.
    scale = np.sqrt(np.maximum(np.diag(delassus)[::3], 1e-300))
    scale = np.where(scale > 1e-9 * scale.max(), 1.0 / scale, 1.0 / scale.max())
    rows = np.repeat(scale, 3)
    problem = ContactProblem(
        delassus=np.ascontiguousarray(rows[:, None] * delassus * rows, dtype=float),
        free=np.ascontiguousarray(scale[:, None] * free, dtype=float),
        tangents=np.asarray(tangents, dtype=np.int64),
        friction=np.asarray(friction, dtype=float),
        sliding=sliding,
    )
    fields = tuple(problem)
    best, best_residual = forces, residual_of(fields, forces)
    attempts = (_by_newton, by_sweeps)
    if sliding.any():
        attempts = (by_sweeps, by_newton_along_slides)
    for attempt in attempts:
        if best_residual <= (ACCEPTED if k <= _MANY else _TOLERATED):
            break
        other, residual = attempt(fields)
        if residual < best_residual:
            best, best_residual = other, residual
    if not best_residual <= tolerated:
        raise ContactProblemError(
            "no contact forces were found that obey the law; sliding under much "
            "friction can have none (Painleve)",
            best_residual,
        )
    mode = modes_of(best, problem.tangents, problem.friction, sliding)
    best = best * scale[:, None]
    motion = free + (delassus @ best.ravel()).reshape(k, 3)
    return ContactSolution(best, motion, mode, float(best_residual))


def _by_newton(problem):
    """Newton's method, by the form that suits the number of contacts."""
    delassus, free, _, _, _ = problem
    if len(free) >= _SPARSE:
        blocks = BlockMatrix.of_dense(delassus)
        if blocks.density <= _DENSITY:
            return by_sparse_newton(problem, blocks)
    return by_newton(problem)
