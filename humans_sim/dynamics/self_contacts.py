# SPDX-License-Identifier: Apache-2.0
"""Contacts between links of one model, as a system's equations take them.

Distances and normals of solids are coal's. Which points touch is chosen at the middle
of a step and stays for the step, fixed on both links; from step to step a point keeps
its place in the table of contacts, so that its force is known again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.convex_pairs import (
    SLOTS,
    pair_points,
    place_back,
    spread_out,
    turn_back,
)
from humans_sim.dynamics.link_pairs import LinkPairs
from humans_sim.dynamics.self_contact_kernels import (
    ChosenPoints,
    PairBalls,
    PairBounds,
    chosen_gaps,
    due_pairs,
    due_shapes,
    none_due,
    pair_rows,
    update_clear,
    with_links,
)
from humans_sim.dynamics.system import SLOW

_AHEAD = 3.0
"""Points are known from where links may touch within so many halves of a step."""
_STALE = 0.5
"""Joints that moved farther need other points [rad, m]."""
_SAME = 0.2
"""A point that moved farther is another one, over the length of its solid."""


class SelfContacts:
    """Finds the points in which links of a model touch each other.

    Args:
        joints: how many joints with one velocity each follow on the base.

    Attributes:
        names: of the contacts: four for each pair, ``link/link.k``.
    """

    def __init__(self, pairs: LinkPairs, tree: pin.Model, joints: int) -> None:
        self._pairs, self._tree, self._count = pairs, tree, joints
        self.names = tuple(
            f"{one}/{other}.{k}" for one, other in pairs.names for k in range(SLOTS)
        )
        count, solids = len(pairs.names), len(pairs.shape_pairs)
        balls = joint_balls(pairs, tree.njoints)
        order = np.argsort(balls[pairs.joints, 3], axis=1, kind="stable")
        self._bounds: tuple[np.ndarray, ...] = tuple(
            PairBounds(
                reach=pairs.reach,
                farthest=pairs.reach.max(axis=0, initial=0.0),
                joints=np.take_along_axis(pairs.joints, order, axis=1),
                balls=balls,
                poses=np.zeros((tree.njoints, 12)),
                travel=np.zeros(tree.njoints),
                bound=np.full(count, -np.inf),
                moved=np.zeros(count),
                clear=np.full(count, -np.inf),
                between=np.zeros((count, 12)),
                shape_clear=np.full(solids, -np.inf),
            )
        )
        self._own_poses = np.zeros((tree.njoints, 12))
        self._balls = tuple(
            PairBalls(
                pairs.centre,
                pairs.radius,
                pairs.shape_joint,
                pairs.shape_pairs,
                pairs.start,
            )
        )
        self._cores = tuple(pairs.cores)
        self._support = np.array(
            [moved_velocities(tree, j) for j in range(tree.njoints)]
        )
        self._solids = pin.GeometryData(pairs.geometry)
        self._views: tuple[pin.Data, np.ndarray] | None = None
        self._at = np.full(joints, np.nan)
        self._slots = np.zeros(0, dtype=np.int64)
        self._chosen: tuple[np.ndarray, ...] = _none()

    def __len__(self) -> int:
        return len(self.names)

    def forget(self) -> None:
        """Begin anew: nothing is known of a run before."""
        self._at[:] = np.nan
        self._slots, self._chosen = np.zeros(0, dtype=np.int64), _none()

    def _poses(self, data: pin.Data) -> np.ndarray:
        """Poses of all joints, columns of the rotation and place: a view (n, 12)."""
        if self._views is None or self._views[0] is not data:
            first = data.oMi[0].rotation
            step = address(data.oMi[1].rotation) - address(first)
            ahead = address(data.oMi[0].translation) - address(first)
            assert ahead == 72 and step >= 96, "pinocchio's poses lie in another way"
            view = np.lib.stride_tricks.as_strided(
                first.T, (len(data.oMi), 12), (step, 8), writeable=False
            )
            self._views = (data, view)
        return self._views[1]

    @property
    def none_chosen(self) -> bool:
        """Whether no links are near each other."""
        return not len(self._slots)

    def are_far(
        self, tree: tuple[np.ndarray, ...], q: np.ndarray, v: np.ndarray, time: float
    ) -> bool:
        """Whether a bound says, without distances, that no links touch soon."""
        if not none_due(tree, q, v, _AHEAD * time, self._bounds, self._own_poses):
            return False
        self._at[:] = q[7 : 7 + self._count]
        self.note_far()
        return True

    @property
    def far_arrays(self) -> tuple[Any, ...]:
        """The arrays of :meth:`are_far`, for kernels that do so themselves.

        Returns:
            bounds of the pairs, buffer of the poses, joints at which links were looked
            at last (written), and how many times half a step is looked ahead.
        """
        return self._bounds, self._own_poses, self._at, _AHEAD

    def choose(self, data: pin.Data, q: np.ndarray, v: np.ndarray, time: float) -> None:
        """Choose the points in which links may touch soon; half a step is ``time``."""
        n = self._count
        self._at[:] = q[7 : 7 + n]
        poses = self._poses(data)
        pairs, near = due_pairs(self._bounds, poses, v[6 : 6 + n], _AHEAD * time)
        if len(pairs) == 0:
            self.note_far()
            return
        solids = due_shapes(self._bounds, self._balls, pairs, near, poses)
        touching: dict[int, list[tuple[Any, ...]]] = {}
        if len(solids):
            limits = dict(zip(pairs.tolist(), near.tolist(), strict=True))
            self._measure(data, poses, solids, limits, touching)
        update_clear(self._bounds, self._pairs.start, pairs)
        if touching:
            self._assign(poses, touching)
        else:
            self.note_far()

    def note_far(self) -> None:
        """No links touch soon: there are no points."""
        if len(self._slots):
            self._slots, self._chosen = np.zeros(0, dtype=np.int64), _none()

    def _measure(
        self,
        data: pin.Data,
        poses: np.ndarray,
        solids: np.ndarray,
        limits: dict[int, float],
        touching: dict[int, list[tuple[Any, ...]]],
    ) -> None:
        """Distances of pairs of solids; points of those that are near."""
        known, geometry = self._pairs, self._solids
        clear = self._bounds[10]
        pin.updateGeometryPlacements(self._tree, data, known.geometry, geometry)
        of_solid = np.searchsorted(known.start, solids, side="right") - 1
        for s, p in zip(solids.tolist(), of_solid.tolist(), strict=True):
            result = pin.computeDistance(known.geometry, geometry, s)
            distance = result.min_distance
            clear[s] = distance
            if distance > limits[p]:
                continue
            which = known.shape_pairs[s]
            # coal's normal points from the first to the second
            normal = -result.normal
            radius = known.cores.radius[which]
            near = np.array(
                [
                    result.getNearestPoint1() + radius[0] * normal,
                    result.getNearestPoint2() - radius[1] * normal,
                    normal,
                ]
            )
            both = poses[known.shape_joint[which]]
            touching.setdefault(p, []).append(
                (s, near, *pair_points(self._cores, which, both, near))
            )

    def _assign(
        self, poses: np.ndarray, touching: dict[int, list[tuple[Any, ...]]]
    ) -> None:
        """Keep a few points of each pair, each in the place of the nearest before."""
        known, before = self._pairs, (self._slots, self._chosen)
        slots: list[int] = []
        rows: list[tuple[Any, ...]] = []
        for p, parts in touching.items():
            first = np.concatenate([part[2] for part in parts])
            second = np.concatenate([part[3] for part in parts])
            gap = np.concatenate([part[4] for part in parts])
            source = np.repeat(np.arange(len(parts)), [len(x[4]) for x in parts])
            a, b = known.joints[p]
            kept = spread_out(first, gap, SLOTS)
            local = np.empty((len(kept), 2, 3))
            for row, k in enumerate(kept):
                place_back(poses[a], first[k], local[row, 0])
                place_back(poses[b], second[k], local[row, 1])
            size = known.cores.length[known.shape_pairs[parts[0][0]]].min()
            places = self._places(p, local[:, 0], _SAME * float(size), before)
            for row, k in enumerate(kept):
                s, near, _, _, _, with_first = parts[source[k]]
                normal, turned = near[2], np.empty(3)
                attached = a if with_first else b
                turn_back(poses[attached], normal, turned)
                radius = known.cores.radius[known.shape_pairs[s]]
                total = float(radius.sum())
                slots.append(SLOTS * p + places[row])
                rows.append(
                    ((a, b, attached), *local[row], turned, total, radius[1] / total)
                )
        self._slots = np.array(slots, dtype=np.int64)
        if not rows:
            self._chosen = _none()
            return
        order = np.argsort(self._slots)
        self._slots = self._slots[order]
        columns = zip(*rows, strict=True)
        self._chosen = tuple(np.array(column)[order] for column in columns)

    @staticmethod
    def _places(
        pair: int,
        points: np.ndarray,
        same: float,
        before: tuple[np.ndarray, tuple[np.ndarray, ...]],
    ) -> list[int]:
        """Places of points in their pair: those of the points that were there."""
        slots, chosen = before
        old = np.flatnonzero(slots // SLOTS == pair)
        places = [-1] * len(points)
        free = set(range(SLOTS))
        if len(old):
            apart = np.linalg.norm(points[:, None] - chosen[1][None, old], axis=2)
            for _ in range(min(apart.shape)):
                k, o = np.unravel_index(np.argmin(apart), apart.shape)
                if not apart[k, o] < same:
                    break
                places[k] = int(slots[old[o]] % SLOTS)
                free.discard(places[k])
                apart[k, :] = apart[:, o] = np.inf
        rest = iter(sorted(free))
        return [place if place >= 0 else next(rest) for place in places]

    def with_gaps(self, gaps: np.ndarray, data: pin.Data, q: np.ndarray) -> np.ndarray:
        """Gaps of other contacts, then of these; 1 m where no point is near."""
        n, joints = len(gaps), q[7 : 7 + self._count]
        every: np.ndarray
        every, stale = with_links(gaps, len(self.names), joints, self._at, _STALE)
        if stale:
            self.choose(data, q, np.zeros(6 + self._count), 0.0)
        if len(self._slots):
            every[n + self._slots] = chosen_gaps(self._chosen, self._poses(data))[0]
        return every

    def gap_rates(
        self, data: pin.Data, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gaps of all contacts and their rates; none where no point is near."""
        gaps = self.with_gaps(np.zeros(0), data, q)
        rates = np.zeros(len(self.names))
        if len(self._slots):
            rates[self._slots] = self.rows(data, self._slots)[1][:, 0] @ v
        return gaps, rates

    def rows(self, data: pin.Data, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps and Jacobians of some contacts; zero where there is no point."""
        gaps, rows = np.zeros(len(which)), np.zeros((len(which), 3, data.J.shape[1]))
        known = np.isin(which, self._slots)
        if known.any():
            k = np.searchsorted(self._slots, which[known])
            chosen = tuple(column[k] for column in self._chosen)
            gaps[known], point, normal = chosen_gaps(chosen, self._poses(data))
            rows[known] = pair_rows(chosen[0], self._support, data.J, point, normal)
        return gaps, rows

    def joined(
        self,
        data: pin.Data,
        which: np.ndarray,
        others: tuple[np.ndarray, np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gaps, Jacobians and drifts of contacts (others below zero), some of links."""
        links = which >= 0
        gap, rows = np.empty(len(which)), np.empty((len(which), *others[1].shape[1:]))
        drift = np.zeros((len(which), 3))
        gap[~links], rows[~links], drift[~links] = others
        gap[links], rows[links] = self.rows(data, which[links])
        return gap, rows, drift

    def active(
        self,
        data: pin.Data,
        q: np.ndarray,
        v: np.ndarray,
        time: float,
        closed: np.ndarray,
    ) -> np.ndarray:
        """Numbers of the contacts that are closed or close within a time [s] (k,)."""
        self.choose(data, q, v, time)
        if not len(self._slots):
            return self._slots
        gap, rows = self.rows(data, self._slots)
        near = gap <= time * np.maximum(-(rows[:, 0] @ v), SLOW)
        return self._slots[near | (closed[self._slots] != 0)]


def joint_balls(pairs: LinkPairs, joints: int) -> np.ndarray:
    """Balls round the solids of each joint: centre, radius; -1 without (n, 4)."""
    balls = np.tile([0.0, 0.0, 0.0, -1.0], (joints, 1))
    for j in range(joints):
        own = pairs.shape_joint == j
        if own.any():
            places, radii = pairs.centre[own], pairs.radius[own]
            low = (places - radii[:, None]).min(axis=0)
            balls[j, :3] = 0.5 * (low + (places + radii[:, None]).max(axis=0))
            away = np.linalg.norm(places - balls[j, :3], axis=1) + radii
            balls[j, 3] = away.max()
    return balls


def address(array: np.ndarray) -> int:
    """Where an array lies in memory."""
    return int(array.__array_interface__["data"][0])


def _none() -> tuple[np.ndarray, ...]:
    """No points."""
    none = np.zeros((0, 3))
    return tuple(
        ChosenPoints(
            np.zeros((0, 3), dtype=np.int64), none, none, none, np.zeros(0), np.zeros(0)
        )
    )


def moved_velocities(tree: pin.Model, joint: int) -> np.ndarray:
    """Velocities that move a joint (nv,) bool."""
    moves = np.zeros(tree.nv, dtype=np.bool_)
    for j in tree.supports[joint]:
        if j > 0:
            moves[tree.idx_vs[j] : tree.idx_vs[j] + tree.nvs[j]] = True
    return moves
