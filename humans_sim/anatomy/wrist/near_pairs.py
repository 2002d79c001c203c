# SPDX-License-Identifier: Apache-2.0
"""Pairs of balls that are near each other at the beginning of a step.

Their gaps are measured along their normals of the beginning: never above the true gap
of two balls, so that balls which obey them do not overlap at the end.
"""

from __future__ import annotations

import numpy as np

from humans_sim.anatomy.detection.contacts import Contacts
from humans_sim.anatomy.detection.pair_list import BallTable
from humans_sim.anatomy.wrist.step_equations import BonePlaces, point_rows
from humans_sim.anatomy.wrist.step_kernels import Pairs, pair_gaps, pair_rates


class NearPairs:
    """Pairs of balls near each other at the beginning of a step.

    Args:
        contacts: the pairs, with gaps as negative depths.
        balls: of the wrist, from their bones' centres of mass.
        start: bones at the beginning of the step.
        columns: first column of each bone, -1 where it is not free (n,).
    """

    def __init__(
        self,
        contacts: Contacts,
        balls: BallTable,
        start: BonePlaces,
        columns: np.ndarray,
    ) -> None:
        """Put balls into their bones' frames."""
        c = self.contacts = contacts
        self.columns = columns
        self.free = np.flatnonzero(columns >= 0)
        self.gaps = -c.depth
        self.group = c.body_i * len(columns) + c.body_j
        self.keys = balls.keys(c)
        self._balls, self._start = balls, start
        locals_ = (
            balls.centres(c.body_i, c.ball_i),
            balls.centres(c.body_j, c.ball_j),
        )
        one = start.x[c.body_i] + start.arms(c.body_i, locals_[0])
        other = start.x[c.body_j] + start.arms(c.body_j, locals_[1])
        reach = np.einsum("ni,ni->n", c.normal, one - other) - self.gaps
        self._pairs = Pairs(c.body_i, c.body_j, *locals_, c.normal, reach)

    def joined(self, found: Contacts) -> NearPairs:
        """With those that overlap of pairs found later, as they were at the beginning.

        Args:
            found: pairs at the end of the step.
        """
        new = ~np.isin(self._balls.keys(found), self.keys) & (found.depth > 0)
        more = self._at_start(found.chosen(new))
        both = (self.contacts, more)
        parts = [np.concatenate([getattr(c, name) for c in both]) for name in _FIELDS]
        return NearPairs(Contacts(*parts), self._balls, self._start, self.columns)

    def _at_start(self, c: Contacts) -> Contacts:
        """The same pairs of balls with gaps, normals and points of the beginning."""
        ends, radii = [], []
        for bones, balls in ((c.body_i, c.ball_i), (c.body_j, c.ball_j)):
            arms = self._start.arms(bones, self._balls.centres(bones, balls))
            ends.append(self._start.x[bones] + arms)
            radii.append(self._balls.radii(bones, balls))
        one, other = ends
        reach = radii[1] + radii[0]
        distance = np.linalg.norm(one - other, axis=1)
        normal = (one - other) / distance[:, None]
        depth = reach - distance
        point = other + normal * (radii[1] - 0.5 * depth)[:, None]
        bodies = (c.body_i, c.ball_i, c.body_j, c.ball_j)
        return Contacts(*bodies, depth, normal, point, distance / reach)

    def end_gaps(self, ends: BonePlaces) -> np.ndarray:
        """Gaps along the normals of the beginning, at the end of a step (c,) [m]."""
        gaps = np.empty(len(self.gaps))
        pair_gaps(self._pairs, ends.x, ends.frames, gaps)
        return gaps

    def gap_rates(
        self, trial: BonePlaces, v: np.ndarray, rates: np.ndarray
    ) -> np.ndarray:
        """How velocities of free bones (6 f,) change the gaps at a trial (c,) [m/s]."""
        both = np.zeros((2, len(self.columns), 3))
        own = v.reshape(-1, 2, 3)
        both[0, self.free] = own[:, 0]
        both[1, self.free] = np.einsum("nij,nj->ni", rates, own[:, 1])
        changes = np.empty(len(self.gaps))
        pair_rates(self._pairs, trial.frames, both[0], both[1], changes)
        return changes

    def rows(
        self, chosen: np.ndarray, trial: BonePlaces, rates: np.ndarray
    ) -> np.ndarray:
        """Velocities of pairs along normals, at a trial, and tangents (k, 3, 6 f)."""
        c, free = self.contacts, len(self.free)
        normal = np.zeros((len(chosen), 3, 6 * free))
        tangent = np.zeros_like(normal)
        for bones, balls, sign in (
            (c.body_i[chosen], self._pairs.ball_i[chosen], 1.0),
            (c.body_j[chosen], self._pairs.ball_j[chosen], -1.0),
        ):
            arm = trial.arms(bones, balls)
            normal += sign * point_rows(self.columns, bones, arm, free)
            arm = c.point[chosen] - self._start.x[bones]
            tangent += sign * point_rows(self.columns, bones, arm, free)
        blocks = normal.reshape(len(chosen), 3, free, 6)
        blocks[..., 3:] = np.einsum("kafi,fij->kafj", blocks[..., 3:], rates)
        frames = self.frames(chosen)
        rows = np.einsum("kai,kic->kac", frames, tangent)
        rows[:, 0] = np.einsum("ki,kic->kc", frames[:, 0], normal)
        return rows

    def turning(
        self, chosen: np.ndarray, forces: np.ndarray, trial: BonePlaces
    ) -> np.ndarray:
        """How normal forces turn bones further as arms turn with them (n, 3, 3).

        Second derivatives by small turns of minus the gaps times their forces.
        """
        c, pairs = self.contacts, self._pairs
        blocks = np.zeros((len(self.columns), 3, 3))
        push = forces[:, None] * c.normal[chosen]
        for bones, balls, sign in (
            (c.body_i[chosen], pairs.ball_i[chosen], 1.0),
            (c.body_j[chosen], pairs.ball_j[chosen], -1.0),
        ):
            arm = trial.arms(bones, balls)
            outer = sign * arm[:, :, None] * push[:, None, :]
            along = np.trace(outer, axis1=1, axis2=2)[:, None, None] * np.eye(3)
            np.add.at(blocks, bones, along - 0.5 * (outer + outer.transpose(0, 2, 1)))
        return blocks

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


_FIELDS = (
    *("body_i", "ball_i", "body_j", "ball_j"),
    *("depth", "normal", "point", "relative"),
)
