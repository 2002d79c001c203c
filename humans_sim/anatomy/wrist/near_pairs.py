# SPDX-License-Identifier: Apache-2.0
"""Pairs of balls that are near each other, and which of them are contact rows.

Of thousands of pairs that are near, few carry force. Rows are taken in as the motion
that the others allow violates them, a few for each pair of bones at a time, until no
pair is violated: the answer is that of all pairs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_solve

from humans_sim.anatomy.detection.contacts import Contacts
from humans_sim.anatomy.wrist.step_equations import BonePlaces, point_rows
from humans_sim.anatomy.wrist.wrist import Wrist
from humans_sim.contact.problem.contact_problem import (
    ContactProblemError,
    ContactSolution,
    solve_contact,
)

_VIOLATED = 2e-8
"""Overlap at the end of a step from which a pair becomes a row [m]."""
_ROUNDS, _WORST = 60, 2
"""Of taking in rows, and how many a pair of bones adds in one."""
_SOFT = 1e-6
"""Share of its own mobility by which a row gives where no other forces are found."""


class BallCentres:
    """Centres of all balls, from their bones' centres of mass."""

    def __init__(self, wrist: Wrist) -> None:
        """Stack them."""
        models = [bone.model for bone in wrist.bones]
        self._first = np.cumsum([0, *(len(model) for model in models)])[:-1]
        middles = wrist.centres
        self._centres = np.concatenate(
            [model.centres - middles[n] for n, model in enumerate(models)]
        )

    def of(self, bones: np.ndarray, balls: np.ndarray) -> np.ndarray:
        """Of balls of bones (k, 3) [m]."""
        return self._centres[self._first[bones] + balls]


class NearPairs:
    """Pairs of balls near each other at the beginning of a step.

    Args:
        contacts: the pairs, with gaps as negative depths.
        balls: of the wrist.
        start: bones at the beginning of the step.
        columns: first column of each bone, -1 where it is not free (n,).
    """

    def __init__(
        self,
        contacts: Contacts,
        balls: BallCentres,
        start: BonePlaces,
        columns: np.ndarray,
    ) -> None:
        """Put balls into their bones' frames."""
        c = self.contacts = contacts
        self.columns = columns
        self.free = int(np.count_nonzero(columns >= 0))
        self.gaps = -c.depth
        self.group = c.body_i * len(columns) + c.body_j
        self._start = start
        self._balls = (balls.of(c.body_i, c.ball_i), balls.of(c.body_j, c.ball_j))
        self._centres = tuple(
            start.x[bones] + start.arms(bones, local)
            for bones, local in zip((c.body_i, c.body_j), self._balls, strict=True)
        )

    def key(self, row: int) -> tuple[int, ...]:
        """Of a pair, the same in other steps."""
        c = self.contacts
        parts = (c.body_i[row], c.ball_i[row], c.body_j[row], c.ball_j[row])
        return tuple(int(part) for part in parts)

    def numbers_of(self, keys: set[tuple[int, ...]]) -> np.ndarray:
        """Of the pairs with these keys that are here (k,)."""
        c = self.contacts
        parts = (c.body_i, c.ball_i, c.body_j, c.ball_j)
        table = zip(*(part.tolist() for part in parts), strict=True)
        return np.array([n for n, key in enumerate(table) if key in keys], np.int64)

    def end_gaps(self, ends: BonePlaces) -> np.ndarray:
        """Gaps along the normals of the beginning, at the end of a step (c,) [m]."""
        c = self.contacts
        one = ends.x[c.body_i] + ends.arms(c.body_i, self._balls[0])
        other = ends.x[c.body_j] + ends.arms(c.body_j, self._balls[1])
        shift = one - self._centres[0] - other + self._centres[1]
        return np.asarray(self.gaps + np.einsum("ni,ni->n", c.normal, shift))

    def gap_changes(self, change: np.ndarray) -> np.ndarray:
        """Rates of the gaps by velocities of free bones (6 f,): (c,) [m/s]."""
        c = self.contacts
        all_bones = np.zeros((len(self.columns), 6))
        all_bones[self.columns >= 0] = change.reshape(-1, 6)
        rate = np.zeros_like(c.point)
        for bones, sign in ((c.body_i, 1.0), (c.body_j, -1.0)):
            own = all_bones[bones]
            arm = c.point - self._start.x[bones]
            rate += sign * (own[:, :3] + np.cross(own[:, 3:], arm))
        return np.asarray(np.einsum("ni,ni->n", c.normal, rate))

    def rows(self, chosen: np.ndarray) -> np.ndarray:
        """Velocities of pairs along normals and tangents (k, 3, 6 f)."""
        c = self.contacts
        rows = np.zeros((len(chosen), 3, 6 * self.free))
        for bones, sign in ((c.body_i[chosen], 1.0), (c.body_j[chosen], -1.0)):
            arm = c.point[chosen] - self._start.x[bones]
            rows += sign * point_rows(self.columns, bones, arm, self.free)
        return np.einsum("kai,kic->kac", self.frames(chosen), rows)

    def slides(self, chosen: np.ndarray, ends: BonePlaces) -> np.ndarray:
        """Shifts that bones that are not free give to pairs, in their frames (k, 3)."""
        c = self.contacts
        shift = np.zeros((len(chosen), 3))
        for bones, sign in ((c.body_i[chosen], 1.0), (c.body_j[chosen], -1.0)):
            arm = c.point[chosen] - self._start.x[bones]
            local = np.einsum("nji,nj->ni", self._start.frames[bones], arm)
            moved = ends.x[bones] + ends.arms(bones, local) - c.point[chosen]
            held = self.columns[bones] < 0
            shift[held] += sign * moved[held]
        return np.einsum("kai,ki->ka", self.frames(chosen), shift)

    def frames(self, chosen: np.ndarray) -> np.ndarray:
        """Normals and tangents as rows (k, 3, 3)."""
        n = self.contacts.normal[chosen]
        first = np.cross(n, np.eye(3)[np.abs(n).argmin(axis=1)])
        first /= np.linalg.norm(first, axis=1)[:, None]
        return np.stack([n, first, np.cross(n, first)], axis=1)


class ContactRows:
    """Contact rows of one of Newton's steps.

    Args:
        pairs: near each other.
        factor: of the step's matrix A.
        trial: bones at the end of the step, by the trial velocity.
        velocity: the trial (6 f,).
        h: length of the step [s].

    Attributes:
        active: numbers of the pairs that are rows (k,).
        impulse: of all rows on the free bones (6 f,).
    """

    def __init__(
        self,
        pairs: NearPairs,
        factor: tuple[np.ndarray, bool],
        trial: BonePlaces,
        velocity: np.ndarray,
        h: float,
    ) -> None:
        """Gaps by the trial."""
        self._pairs, self._factor, self._trial = pairs, factor, trial
        self._velocity, self._h = velocity, h
        self._gaps = pairs.end_gaps(trial)
        self.active = np.zeros(0, dtype=np.int64)
        self.impulse = np.zeros_like(velocity)

    def solve(
        self, right: np.ndarray, active: np.ndarray, friction: float
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Velocity, impulses of the active rows (k, 3) [N s], residual.

        Args:
            right: of the equations A v = r + J^T f.
            active: rows to begin with.
            friction: coefficient.

        Raises:
            ContactProblemError: no forces were found, or rows never came to an end.
        """
        free = np.asarray(cho_solve(self._factor, right))
        v, impulses, residual = free, np.zeros((0, 3)), 0.0
        self.active = active
        solved = len(active) == 0
        for _ in range(_ROUNDS):
            if not solved:
                v, impulses, residual = self._with_rows(free, friction)
            change = self._pairs.gap_changes(v - self._velocity)
            more = self._violated(self._gaps + self._h * change)
            if len(more) == 0:
                return v, impulses, residual
            self.active = np.concatenate([self.active, more])
            solved = False
        raise ContactProblemError("contact rows of bones came to no end", np.inf)

    def _with_rows(
        self, free: np.ndarray, friction: float
    ) -> tuple[np.ndarray, np.ndarray, float]:
        k, h = len(self.active), self._h
        rows = self._pairs.rows(self.active)
        flat = rows.reshape(3 * k, -1)
        mobility = np.asarray(cho_solve(self._factor, flat.T))
        delassus = flat @ mobility
        motion = self._pairs.slides(self.active, self._trial) / h
        motion += (flat @ free).reshape(k, 3)
        normal = rows[:, 0] @ (free - self._velocity)
        motion[:, 0] = self._gaps[self.active] / h + normal
        solution = _solved(0.5 * (delassus + delassus.T), motion, friction)
        self.impulse = flat.T @ solution.forces.ravel()
        v = free + mobility @ solution.forces.ravel()
        return v, solution.forces, solution.residual

    def _violated(self, gaps: np.ndarray) -> np.ndarray:
        """The worst pairs of each pair of bones that are no rows yet."""
        over = gaps < -_VIOLATED
        over[self.active] = False
        found = np.flatnonzero(over)
        found = found[np.argsort(gaps[found], kind="stable")]
        groups = self._pairs.group[found]
        chosen: list[int] = []
        for group in np.unique(groups):
            chosen.extend(found[groups == group][:_WORST].tolist())
        return np.array(sorted(chosen), dtype=np.int64)


def _solved(delassus: np.ndarray, motion: np.ndarray, mu: float) -> ContactSolution:
    """By the quick methods; where they fail, of rows that give a little.

    Where no friction forces are found at all (they need not exist) the rows are taken
    without friction, which always has an answer; the residual is that of the failure.
    """
    k = len(motion)
    tangents, friction = np.full(k, 2), np.full(k, mu)
    soft = delassus + _SOFT * np.diag(np.diag(delassus))
    try:
        return solve_contact(delassus, motion, tangents, friction, patient=False)
    except ContactProblemError:
        pass
    try:
        return solve_contact(soft, motion, tangents, friction, patient=False)
    except ContactProblemError as error:
        none = np.zeros(k, dtype=np.int64)
        smooth = solve_contact(soft, motion, none, friction, patient=False)
        return replace(smooth, residual=error.residual)
