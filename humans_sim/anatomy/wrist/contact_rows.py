# SPDX-License-Identifier: Apache-2.0
"""Contact rows of one of Newton's steps.

Of thousands of pairs that are near, few carry force. Rows are taken in as the motion
that the others allow violates them, a few for each pair of bones at a time, until no
pair is violated: the answer is that of all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.anatomy.wrist.near_pairs import NearPairs
from humans_sim.anatomy.wrist.step_equations import BonePlaces
from humans_sim.anatomy.wrist.step_kernels import moved_by, rows_through
from humans_sim.contact.problem.contact_problem import (
    ContactProblemError,
    solve_contact,
)
from humans_sim.contact.problem.newton import solve_near

_VIOLATED = 1e-10
"""Overlap at the end of a step from which a pair becomes a row [m]."""
_ROUNDS, _WORST = 60, 2
"""Of taking in rows, and how many a pair of bones adds in one."""
_SOFT = 1e-8
"""Share of its own mobility by which a row gives to forces other than those known:
many rows share a bone's six ways to go, and their forces would be any of many (the
proximal point method; where Newton's method ends, nothing gives)."""
_ACCEPTED, _TOLERATED = 1e-9, 1e-6
"""Residuals of the contact problem, relative: aimed at, and put up with."""


@dataclass
class RowForces:
    """Rows and their impulses.

    Attributes:
        active: numbers of the pairs that are rows (k,).
        impulses: normal and tangents (k, 3) [N s].
        residual: of the contact problem, relative.
        frictionless: whether no friction forces were found and none are taken.
    """

    active: np.ndarray
    impulses: np.ndarray
    residual: float = 0.0
    frictionless: bool = False

    def pressed(self) -> RowForces:
        """Those with forces."""
        acting = self.impulses[:, 0] > 0
        return RowForces(self.active[acting], self.impulses[acting])


class ContactRows:
    """Contact rows about a trial.

    Args:
        pairs: near each other.
        trial: bones at the end of the step, by the trial velocity.
        rates: of the bones' turning by their spins (f, 3, 3).
        h: length of the step [s].
        friction: coefficient.

    Attributes:
        gaps: at the trial (c,) [m].
        predicted: gaps at the velocity found, to first order (c,) [m].
        normal_impulse, friction_impulse: of all rows on the free bones (6 f,).
    """

    def __init__(
        self,
        pairs: NearPairs,
        trial: BonePlaces,
        rates: np.ndarray,
        h: float,
        friction: float,
    ) -> None:
        """Gaps by the trial."""
        self._pairs, self._trial, self._rates = pairs, trial, rates
        self._h, self._friction = h, friction
        self.gaps = self.predicted = pairs.end_gaps(trial)
        self.normal_impulse = self.friction_impulse = np.zeros(6 * len(rates))

    def solve(
        self,
        factor: np.ndarray,
        velocities: tuple[np.ndarray, np.ndarray],
        known: RowForces,
    ) -> tuple[np.ndarray, RowForces]:
        """Velocity at the end, and forces of the rows.

        Args:
            factor: of the energy's second derivatives.
            velocities: of the trial, and that of Newton's step without contact.
            known: rows and impulses to begin with.

        Raises:
            ContactProblemError: no forces were found, or rows never came to an end.
        """
        trial, free = velocities
        v, found = free, known
        solved = len(known.active) == 0
        for _ in range(_ROUNDS):
            if not solved:
                v, found = self._with_rows(factor, (trial, free), found)
            change = self._pairs.gap_rates(self._trial, v - trial, self._rates)
            self.predicted = self.gaps + self._h * change
            more = self._violated(self.predicted, found.active)
            if len(more) == 0:
                return v, found
            found = RowForces(
                np.concatenate([found.active, more]),
                np.concatenate([found.impulses, np.zeros((len(more), 3))]),
            )
            solved = False
        raise ContactProblemError("contact rows of bones came to no end", np.inf)

    def _with_rows(
        self,
        factor: np.ndarray,
        velocities: tuple[np.ndarray, np.ndarray],
        known: RowForces,
    ) -> tuple[np.ndarray, RowForces]:
        trial, free = velocities
        active, h = known.active, self._h
        k = len(active)
        rows = self._pairs.rows(active, self._trial, self._rates)
        flat = rows.reshape(3 * k, -1)
        half, delassus = rows_through(factor, flat)
        give = _SOFT * np.diag(delassus)
        delassus[np.diag_indices(3 * k)] += give
        motion = self._pairs.slides(active, self._trial) / h
        motion += (flat @ free).reshape(k, 3)
        motion[:, 0] = self.gaps[active] / h + rows[:, 0] @ (free - trial)
        motion -= give.reshape(k, 3) * known.impulses
        forces, residual, frictionless = _solved(
            delassus, motion, self._friction, known.impulses
        )
        self.normal_impulse = rows[:, 0].T @ forces[:, 0]
        tangents = rows[:, 1:].reshape(2 * k, -1)
        self.friction_impulse = tangents.T @ forces[:, 1:].ravel()
        v = free + moved_by(factor, half, forces.ravel())
        return v, RowForces(active, forces, residual, frictionless)

    def _violated(self, gaps: np.ndarray, active: np.ndarray) -> np.ndarray:
        """The worst pairs of each pair of bones that are no rows yet."""
        over = gaps < -_VIOLATED
        over[active] = False
        found = np.flatnonzero(over)
        found = found[np.argsort(gaps[found], kind="stable")]
        groups = self._pairs.group[found]
        chosen: list[int] = []
        for group in np.unique(groups):
            chosen.extend(found[groups == group][:_WORST].tolist())
        return np.array(sorted(chosen), dtype=np.int64)


def _solved(
    delassus: np.ndarray, motion: np.ndarray, mu: float, start: np.ndarray
) -> tuple[np.ndarray, float, bool]:
    """Impulses, residual, and whether they are without friction.

    Newton's method from the impulses known; where it fails, the slower ones. Where no
    friction forces are found at all (they need not exist) the rows are taken without
    friction, which always has an answer.
    """
    k = len(motion)
    tangents, friction = np.full(k, 2), np.full(k, mu)
    forces, residual = solve_near(
        delassus, motion, tangents, friction, start, _ACCEPTED
    )
    if residual <= _TOLERATED:
        return forces, residual, False
    try:
        found = solve_contact(delassus, motion, tangents, friction)
        return found.forces, found.residual, False
    except ContactProblemError:
        none = np.zeros(k, dtype=np.int64)
        found = solve_contact(delassus, motion, none, friction)
        return found.forces, found.residual, True
