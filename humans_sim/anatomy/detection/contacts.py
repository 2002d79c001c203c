# SPDX-License-Identifier: Apache-2.0
r"""Contacts of ball models: which balls meet, how deep, where, in which direction.

Two balls meet where :math:`K = |C_i C_j| - r_i - r_j < 0`; the depth is -K, the normal
their centre line (Perez 1994, E3). Three searches find the same set:

- ``envelope``: the thesis' general algorithm, all pairs of the balls that lie in the
  envelope of the other bone;
- ``bitfield``: its fast algorithm, projections on three axes as fields of bits;
- ``tree``: balls around balls, in the bones' own frames, so that nothing is built anew
  when bones move.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from humans_sim.anatomy.balls.ball_model import BallModel
from humans_sim.anatomy.detection.detection_kernels import (
    Balls,
    Trees,
    build_tree,
    by_bit_fields,
    by_envelopes,
    by_trees,
    place,
)
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.core.arrays import finite_array

Method = Literal["tree", "envelope", "bitfield"]
METHODS = ("tree", "envelope", "bitfield")
ROLES = ("free", "driven", "fixed")
"""Bones that forces move, that are moved, that stay; pairs have a free one."""


@dataclass(frozen=True)
class Contacts:
    """Pairs of balls that meet, by rising numbers of bodies and balls.

    Attributes:
        body_i, ball_i: body with the lower number, and its ball (c,).
        body_j, ball_j: the other (c,).
        depth: of the overlap, negative for a gap (c,) [m].
        normal: unit vector from j to i (c, 3).
        point: in the middle of the overlap (c, 3) [m].
        relative: distance of the centres over the sum of the radii (c,).
    """

    body_i: np.ndarray
    ball_i: np.ndarray
    body_j: np.ndarray
    ball_j: np.ndarray
    depth: np.ndarray
    normal: np.ndarray
    point: np.ndarray
    relative: np.ndarray

    @property
    def count(self) -> int:
        """Number of contacts."""
        return len(self.depth)

    def chosen(self, which: np.ndarray) -> Contacts:
        """Some of them, by a mask or by their numbers."""
        return Contacts(*(getattr(self, one.name)[which] for one in fields(self)))


@dataclass(frozen=True)
class Poses:
    """Where bodies are.

    Attributes:
        rotations: (n, 3, 3).
        positions: (n, 3) [m].
    """

    rotations: np.ndarray
    positions: np.ndarray

    @classmethod
    def rest(cls, count: int) -> Poses:
        """Every body where its model has it."""
        return cls(np.tile(np.eye(3), (count, 1, 1)), np.zeros((count, 3)))


class ContactDetector:
    """Searches for contacts among the bones of a hand.

    Args:
        models: of the bones, each in its own frame.
        roles: ``free``, ``driven`` or ``fixed`` of each; all free unless given.
        exclusions: pairs of numbers of bones that never meet.

    Attributes:
        count: number of bones.
        balls: number of all balls.
        pairs: of bones that may meet (p, 2).

    Raises:
        AnatomyError: a role is unknown, or numbers do not fit.
    """

    def __init__(
        self,
        models: Sequence[BallModel],
        roles: Sequence[str] | None = None,
        exclusions: Iterable[tuple[int, int]] = (),
    ) -> None:
        """Build a tree for each bone."""
        if not models:
            raise AnatomyError("contacts need bones")
        self.count = len(models)
        kinds = ["free"] * self.count if roles is None else list(roles)
        if len(kinds) != self.count:
            raise AnatomyError(f"{self.count} bones need as many roles")
        for kind in kinds:
            if kind not in ROLES:
                raise AnatomyError(
                    f"the role '{kind}' is not known (there are: {', '.join(ROLES)})"
                )
        left_out = {tuple(sorted(pair)) for pair in exclusions}
        if any(not 0 <= n < self.count for pair in left_out for n in pair):
            raise AnatomyError(f"exclusions name bones from 0 to {self.count - 1}")
        self.pairs = np.array(
            [
                (i, j)
                for i in range(self.count)
                for j in range(i + 1, self.count)
                if "free" in (kinds[i], kinds[j]) and (i, j) not in left_out
            ],
            dtype=np.int64,
        ).reshape(-1, 2)
        sizes = [len(model) for model in models]
        self._first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.balls = int(self._first[-1])
        self._centres = np.concatenate([model.centres for model in models])
        self._radii = np.concatenate([model.radii for model in models])
        self._world = np.empty_like(self._centres)
        self._plant()

    def _plant(self) -> None:
        """Trees of all bones, one after the other."""
        rows, starts = [], [0]
        order = np.empty(self.balls, dtype=np.int64)
        for body in range(self.count):
            part = slice(int(self._first[body]), int(self._first[body + 1]))
            nodes = np.empty((max(part.stop - part.start, 2), 7))
            made = build_tree(
                self._centres[part],
                self._radii[part],
                part.start,
                order[part],
                nodes,
            )
            nodes = nodes[:made]
            nodes[:, 4] = np.where(nodes[:, 4] > 0, nodes[:, 4] + starts[-1], 0)
            rows.append(nodes)
            starts.append(starts[-1] + made)
        table = np.vstack(rows)
        self._nodes_first = np.array(starts, dtype=np.int64)
        self._nodes = np.ascontiguousarray(table[:, :3])
        self._tree = Trees(
            np.empty_like(self._nodes),
            np.ascontiguousarray(table[:, 3]),
            table[:, 4].astype(np.int64),
            table[:, 5].astype(np.int64),
            table[:, 6].astype(np.int64),
            order,
            self._nodes_first[:-1].copy(),
        )

    def detect(
        self, poses: Poses, method: Method = "tree", margin: float = 0.0
    ) -> Contacts:
        """The contacts of bones in their poses.

        Args:
            poses: of all bones.
            method: ``tree``, ``envelope`` or ``bitfield``.
            margin: gap up to which balls count as meeting [m].

        Raises:
            AnatomyError: the method is unknown, or poses do not fit.
        """
        if not (np.isfinite(margin) and margin >= 0):
            raise AnatomyError(f"the margin must be 0 or more, not {margin} m")
        turns, shifts = self._checked(poses)
        place(self._centres, self._first, turns, shifts, self._world)
        balls = Balls(self._world, self._radii, self._first, self.pairs, float(margin))
        if method == "tree":
            place(self._nodes, self._nodes_first, turns, shifts, self._tree.centres)
            hits = by_trees(balls, self._tree)
        elif method == "envelope":
            hits = by_envelopes(balls, *self._envelopes(turns, shifts))
        elif method == "bitfield":
            hits = self._by_bit_fields(balls)
        else:
            raise AnatomyError(
                f"no method is called '{method}' (there are: {', '.join(METHODS)})"
            )
        return self._described(hits)

    def bit_field_size(self, poses: Poses, cell: float | None = None) -> int:
        """Memory of the fields of bits in a pose: 3 W M / 8 [bytes]."""
        place(self._centres, self._first, *self._checked(poses), self._world)
        _, _, widths = self._cells(cell)
        return 3 * int(max(widths)) * 8 * ((self.balls + 63) // 64)

    def _checked(self, poses: Poses) -> tuple[np.ndarray, np.ndarray]:
        n = self.count
        turns = finite_array(poses.rotations, (n, 3, 3), "rotations", AnatomyError)
        shifts = finite_array(poses.positions, (n, 3), "positions", AnatomyError)
        return np.ascontiguousarray(turns), np.ascontiguousarray(shifts)

    def _envelopes(
        self, turns: np.ndarray, shifts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Balls around the bones: the roots of their trees."""
        roots = self._nodes_first[:-1]
        middles = np.einsum("nij,nj->ni", turns, self._nodes[roots]) + shifts
        return middles, self._tree.radii[roots]

    def _by_bit_fields(self, balls: Balls) -> np.ndarray:
        allowed = np.zeros((self.count, self.count), dtype=bool)
        allowed[tuple(self.pairs.T)] = True
        low, cell, widths = self._cells(None)
        hits = by_bit_fields(balls, allowed, low, cell, widths)
        return np.asarray(hits)

    def _cells(self, cell: float | None) -> tuple[np.ndarray, float, np.ndarray]:
        low = (self._world - self._radii[:, None]).min(axis=0)
        high = (self._world + self._radii[:, None]).max(axis=0)
        width = float(2 * self._radii.min()) if cell is None else float(cell)
        width = max(width, float((high - low).max()) / 512)  # the thesis' 512 cells
        return low, width, np.floor((high - low) / width).astype(np.int64) + 1

    def _described(self, hits: np.ndarray) -> Contacts:
        hits = hits[np.argsort(hits[:, 0] * self.balls + hits[:, 1])]
        a, b = hits.T
        arm = self._world[a] - self._world[b]
        distance = np.sqrt(np.einsum("ni,ni->n", arm, arm))
        reach = self._radii[a] + self._radii[b]
        safe = np.where(distance > 0, distance, 1.0)[:, None]
        normal = np.where(distance[:, None] > 0, arm / safe, np.array([0.0, 0.0, 1.0]))
        depth = reach - distance
        point = self._world[b] + normal * (self._radii[b] - depth / 2)[:, None]
        bodies = np.searchsorted(self._first, hits, side="right") - 1
        balls = hits - self._first[bodies]
        return Contacts(
            bodies[:, 0],
            balls[:, 0],
            bodies[:, 1],
            balls[:, 1],
            depth,
            normal,
            point,
            distance / reach,
        )


def detect(
    models: Sequence[BallModel],
    poses: Poses,
    method: Method = "tree",
    roles: Sequence[str] | None = None,
    exclusions: Iterable[tuple[int, int]] = (),
) -> Contacts:
    """The contacts of models, once; a :class:`ContactDetector` serves many poses."""
    return ContactDetector(models, roles, exclusions).detect(poses, method)
