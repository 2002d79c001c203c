# SPDX-License-Identifier: Apache-2.0
"""Contacts of convex solids in pairs, as a system's equations take them.

Every link is solid, and so is every free body and what stands on the ground; of each
pair of them up to four points touch at once. Which these are, and their gaps and
Jacobians, is computed by :mod:`~humans_sim.dynamics.pair_kernels`.

*Soles*. A foot touches with the corners of its sole, which are contact points of their
own. Of the shapes of its link the layer above the sole gives way to a plate between
these corners, so that edges find what the corners stand on.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.convex_cores import ConvexSolid, SolidTable
from humans_sim.contact.geometry.convex_pairs import SLOTS
from humans_sim.contact.geometry.mesh_solids import with_triangles
from humans_sim.contact.geometry.terrain import TriangleMesh
from humans_sim.dynamics.pair_kernels import (
    AHEAD,
    FAR,
    ChosenPoints,
    PairMemory,
    PairTable,
    choose_points,
    chosen_gaps,
    chosen_rates,
    has_moved,
    in_world,
    pair_rows,
    track,
)
from humans_sim.dynamics.system import SLOW
from humans_sim.models.model import JointMemory
from humans_sim.results.records import ContactTable

_WATCH, _CLOSE = 1e-3, 0.05
"""Points of a pair are known from this distance on [m]; or from this share of the ball
around the smaller mover, if that is less."""


class Mover(NamedTuple):
    """A link, a free body or a part of the ground.

    Attributes:
        joint: that carries it; 0 for the ground.
        solids: in the frame of the joint.
        mesh: what is touched instead of solids, of the ground.
    """

    name: str
    joint: int
    solids: tuple[ConvexSolid, ...]
    mesh: TriangleMesh | None = None


class MoverPair(NamedTuple):
    """Two movers that may touch; the second may be of the ground.

    Attributes:
        kind: of its contacts in a :class:`ContactTable`.
    """

    first: Mover
    second: Mover
    kind: str
    friction: float
    restitution: float

    @property
    def name(self) -> str:
        """Of both."""
        return f"{self.first.name}/{self.second.name}"


class PairContacts:
    """Finds the points in which solids touch, and keeps them from step to step.

    Args:
        tree: joints of all movers.
        pairs: movers that may touch.
        tags: contact points of links that touch the ground by themselves, by joint:
            places and radii of balls around them (t, 4) [m].

    Attributes:
        names: of the contacts: four for each pair, ``link/link.k``.
        settled: whether the points are those of a step, and stay.
    """

    def __init__(
        self,
        tree: pin.Model,
        pairs: Sequence[MoverPair],
        tags: Mapping[int, np.ndarray],
    ) -> None:
        self.pairs = tuple(pairs)
        self.names = tuple(f"{p.name}.{k}" for p in self.pairs for k in range(SLOTS))
        self._table = self._tables(tree.njoints, tags)
        self._memory = PairMemory.of(PairTable(*self._table))
        self.support = np.array(
            [moved_velocities(tree, j) for j in range(tree.njoints)]
        )
        self._tree = tree
        self._make_buffers()

    def _make_buffers(self) -> None:
        """What is written: poses and velocities of joints, points of the last step."""
        count = self._tree.njoints
        self._joints: JointMemory | None = None
        self._poses = np.zeros((count, 12))
        self._poses[:, [0, 4, 8]] = 1.0
        self._twists = np.zeros((count, 6))
        self._at = np.full((count, 12), np.nan)
        self._chosen: tuple[np.ndarray, ...] = tuple(ChosenPoints.none())
        self._used, self.settled = self._chosen, False

    def with_own_buffers(self) -> Self:
        """The same pairs and solids; what is known of a run is its own, none yet."""
        other = copy.copy(self)
        other._memory = PairMemory.of(PairTable(*self._table))
        other._make_buffers()
        return other

    def _tables(self, joints: int, tags: Mapping[int, np.ndarray]) -> tuple[Any, ...]:
        """Fields of the :class:`PairTable`."""
        movers = list({id(m): m for p in self.pairs for m in p[:2]}.values())
        first: dict[int, int] = {}
        solids: list[ConvexSolid] = []
        carriers: list[int] = []
        meshes = [m.mesh for m in movers if m.mesh is not None]
        for mover in movers:
            first[id(mover)] = len(solids)
            solids += mover.solids
            carriers += [mover.joint] * len(mover.solids)
        table = SolidTable.of(solids, carriers)
        balls = np.tile([0.0, 0.0, 0.0, -1.0], (joints, 1))
        for j in range(1, joints):
            own = np.flatnonzero(table.joint == j)
            if own.size:
                balls[j] = _ball_around(table.centre[own], table.reach[own])
        pairs, shape_pairs, counts, watch = [], [], [], []
        for pair in self.pairs:
            one, other = pair.first, pair.second
            # The one with the smaller ball first: it moves in the frame of the other.
            pairs.append((one.joint, other.joint))
            each = range(len(one.solids))
            rows = [
                (first[id(one)] + a, first[id(other)] + b)
                for a in each
                for b in range(len(other.solids))
            ]
            if other.mesh is not None:
                rows = [
                    (first[id(one)] + a, -1 - meshes.index(other.mesh)) for a in each
                ]
            shape_pairs += rows
            counts.append(len(rows))
            sizes = [s for s in balls[[one.joint, other.joint], 3] if s > 0.0]
            watch.append(min(_WATCH, _CLOSE * min(sizes)))
        points = [tags.get(j, np.zeros((0, 4))) for j in range(joints)]
        table, triangles = with_triangles(table, meshes)
        return tuple(
            PairTable(
                solids=tuple(table),
                joints=np.array(pairs, dtype=np.int64).reshape(-1, 2),
                shape_pairs=np.array(shape_pairs, dtype=np.int64).reshape(-1, 2),
                start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
                balls=balls,
                watch=np.array(watch),
                tags=np.vstack(points),
                tag_start=np.concatenate([[0], np.cumsum([len(t) for t in points])]),
                meshes=None if triangles is None else tuple(triangles),
            )
        )

    def __len__(self) -> int:
        return len(self.names)

    def table(self) -> ContactTable:
        """Their part of a system's table of contacts."""
        every = [pair for pair in self.pairs for _ in range(SLOTS)]
        return ContactTable.of(
            names=self.names,
            kinds=[pair.kind for pair in every],
            tangents=2,
            friction=[pair.friction for pair in every],
            restitution=[pair.restitution for pair in every],
        )

    def forget(self) -> None:
        """Begin anew: nothing is known of a run before."""
        self._memory = PairMemory.of(PairTable(*self._table))
        self._at[:] = np.nan
        self._chosen, self.settled = tuple(ChosenPoints.none()), False

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What kernels need that choose points themselves.

        Returns:
            fields of the :class:`PairTable` and of the :class:`PairMemory`; velocities
            that move each joint (n, nv).
        """
        return self._table, tuple(self._memory), self.support

    @property
    def chosen(self) -> tuple[np.ndarray, ...]:
        """Fields of the :class:`ChosenPoints`."""
        return self._chosen

    @property
    def used(self) -> tuple[np.ndarray, ...]:
        """The same of those that the last step had."""
        return self._used

    def take_chosen(
        self, chosen: tuple[np.ndarray, ...], used: tuple[np.ndarray, ...]
    ) -> None:
        """Go on with points that a kernel chose, where the movers were last.

        ``used``: those that the step had which led there.
        """
        self._chosen, self._used = chosen, used
        self._at = self._memory.last.copy()

    def bearing(
        self, data: pin.Data, closed: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """The points of the last step among contacts that are closed (bool).

        Returns:
            their contacts (k,); places (k, 3) and normals (k, 3) in the world, and
            velocities of the first mover against the second there (k, 3).
        """
        which = np.flatnonzero(closed[self._used[0]])
        used = tuple(column[which] for column in self._used)
        self._read(data, True)
        _, at, normal = chosen_gaps(used, self._poses)
        one, other = (self._twists[used[1][:, k]] for k in (0, 1))
        apart = one - other
        speed = apart[:, :3] + np.cross(apart[:, 3:], at)
        return used[0], (at, normal, speed)

    def _read(self, data: pin.Data, moving: bool) -> None:
        """Poses, and velocities about the world's origin, of all joints."""
        if self._joints is None or self._joints.data is not data:
            self._joints = JointMemory(data, range(1, self._tree.njoints))
            count = self._tree.njoints - 1
            self._own_poses = np.empty((count, 3, 4))
            self._own_motions = np.empty((count, 2, 6))
        self._joints.read_poses(self._own_poses)
        if moving:
            self._joints.read_velocities(self._own_motions)
        in_world(self._own_poses, self._own_motions, self._poses, self._twists)

    def choose(self, data: pin.Data, time: float) -> None:
        """Choose the points in which solids may touch soon; half a step is ``time``.

        After positions and velocities of all joints were computed.
        """
        self._read(data, True)
        self._choose(AHEAD * time)

    def _choose(self, time: float) -> None:
        memory = tuple(self._memory)
        track(self._table, memory, self._poses)
        arguments = (self._chosen, self._poses, self._twists, time)
        self._chosen = self._used = choose_points(self._table, memory, *arguments)
        self.settled = False
        self._at = self._memory.last.copy()

    def least_gap(self, data: pin.Data) -> float:
        """Least gap of the points at positions that were computed; infinite if far."""
        self._read(data, False)
        self._twists[:] = 0.0
        self._choose(0.0)
        gaps = chosen_gaps(self._chosen, self._poses)[0]
        return float(gaps.min(initial=np.inf))

    def with_gaps(self, gaps: np.ndarray, data: pin.Data) -> np.ndarray:
        """Gaps of other contacts, then of these; 1 m where no point is near."""
        self._read(data, False)
        if has_moved(self._table, self._at, self._poses):
            self._twists[:] = 0.0
            self._choose(0.0)
        every = np.full(len(gaps) + len(self.names), FAR)
        every[: len(gaps)] = gaps
        if len(self._chosen[0]):
            every[len(gaps) + self._chosen[0]] = chosen_gaps(self._chosen, self._poses)[
                0
            ]
        return every

    def gaps_of(self, chosen: tuple[np.ndarray, ...]) -> np.ndarray:
        """Gaps of points that were chosen, where the movers were read last (k,) [m]."""
        gaps: np.ndarray = chosen_gaps(chosen, self._poses)[0]
        return gaps

    def gap_rates(self, data: pin.Data) -> tuple[np.ndarray, np.ndarray]:
        """Gaps of all contacts and their rates; none where no point is near."""
        gaps = self.with_gaps(np.zeros(0), data)
        rates = np.zeros(len(self.names))
        self._read(data, True)
        _, at, normal = chosen_gaps(self._chosen, self._poses)
        rates[self._chosen[0]] = chosen_rates(self._chosen, self._twists, at, normal)
        return gaps, rates

    def joined(
        self,
        data: pin.Data,
        which: np.ndarray,
        others: tuple[np.ndarray, np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gaps, Jacobians and drifts of contacts (others below zero), some of these.

        Zero where there is no point.
        """
        self._read(data, False)
        own = which >= 0
        count = len(which)
        gap, rows = np.zeros(count), np.zeros((count, *others[1].shape[1:]))
        drift = np.zeros((count, 3))
        gap[~own], rows[~own], drift[~own] = others
        slots = self._chosen[0]
        places = np.flatnonzero(own & np.isin(which, slots))
        if len(places):
            k = np.searchsorted(slots, which[places])
            chosen = tuple(column[k] for column in self._chosen)
            gap[places], at, normal = chosen_gaps(chosen, self._poses)
            found = np.zeros((len(places), 3, rows.shape[2]))
            pair_rows(chosen[1], self.support, data.J, at, normal, found)
            rows[places] = found
        return gap, rows, drift

    def active(self, data: pin.Data, time: float, closed: np.ndarray) -> np.ndarray:
        """Numbers of the contacts that are closed or close within a time [s] (k,).

        Points that were chosen where a step begins stay for the step.
        """
        self._read(data, True)
        if not self.settled:
            self._choose(AHEAD * time)
        slots = self._chosen[0]
        if not len(slots):
            return slots
        gap, at, normal = chosen_gaps(self._chosen, self._poses)
        rate = chosen_rates(self._chosen, self._twists, at, normal)
        near = gap <= time * np.maximum(-rate, SLOW)
        return slots[near | (closed[slots] != 0)]


def _ball_around(centres: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Centre and radius of a ball around balls (4,)."""
    low = (centres - radii[:, None]).min(axis=0)
    middle = 0.5 * (low + (centres + radii[:, None]).max(axis=0))
    away = np.linalg.norm(centres - middle, axis=1) + radii
    return np.array([*middle, away.max()])


def moved_velocities(tree: pin.Model, joint: int) -> np.ndarray:
    """Velocities that move a joint (nv,) bool."""
    moves = np.zeros(tree.nv, dtype=np.bool_)
    for j in tree.supports[joint]:
        if j > 0:
            moves[tree.idx_vs[j] : tree.idx_vs[j] + tree.nvs[j]] = True
    return moves
