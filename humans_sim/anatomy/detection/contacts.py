# SPDX-License-Identifier: Apache-2.0
"""Contacts of ball models: pairs of balls that meet, their depth, place and normal.

Two balls meet where :math:`K = |C_i C_j| - r_i - r_j < 0`; the depth is -K, the normal
their centre line (Perez 1994, E3). Three searches find the same set:

- ``envelope``: the thesis' general algorithm, all pairs of the balls that lie in the
  envelope of the other bone;
- ``bitfield``: its fast algorithm, projections on three axes as fields of bits;
- ``tree``: balls around balls, in the bones' own frames, so that nothing is built anew
  when bones move.

Every search tests a pair by the same expression, so all of them find the same pairs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

import numpy as np

from humans_sim.anatomy.balls.ball_model import BallModel
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.core.arrays import finite_array
from humans_sim.core.kernels import kernel

_STACK = 4096
_LEAF = 8
"""Balls of a leaf."""


class Balls(NamedTuple):
    """The balls of all bodies, in the world: centres (m, 3), radii (m,) [m].

    The first ball of each body, and the number of all (n + 1,); pairs of bodies that
    may meet, the lower number first (p, 2); gap up to which balls count as meeting [m].
    """

    centres: np.ndarray
    radii: np.ndarray
    first: np.ndarray
    pairs: np.ndarray
    margin: float


class Trees(NamedTuple):
    """Trees of balls around balls, one for each body.

    Attributes:
        centres: of the nodes, in the bodies' frames or the world (k, 3) [m].
        radii: (k,) [m].
        right: child of each node, the left one follows it; 0: a leaf (k,).
        begin, end: balls of each node in the order (k,).
        order: balls of all bodies, leaf after leaf (m,).
        roots: of the bodies (n,).
    """

    centres: np.ndarray
    radii: np.ndarray
    right: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    order: np.ndarray
    roots: np.ndarray


@kernel
def place(points, first, rotations, positions, out):
    """Points of bodies in the world: R x + p, body by body."""
    for body in range(len(positions)):
        r, p = rotations[body], positions[body]
        for n in range(first[body], first[body + 1]):
            x, y, z = points[n]
            for i in range(3):
                out[n, i] = r[i, 0] * x + r[i, 1] * y + r[i, 2] * z + p[i]
    return out


@kernel
def _meets(balls, a, b):
    x = balls.centres[a, 0] - balls.centres[b, 0]
    y = balls.centres[a, 1] - balls.centres[b, 1]
    z = balls.centres[a, 2] - balls.centres[b, 2]
    reach = balls.radii[a] + balls.radii[b] + balls.margin
    return x * x + y * y + z * z < reach * reach


@kernel
def _kept(buffer, count, a, b):
    """Append a pair; the buffer grows as needed."""
    if count == len(buffer):
        larger = np.empty((2 * count, 2), np.int64)
        larger[:count] = buffer
        buffer = larger
    buffer[count, 0], buffer[count, 1] = a, b
    return buffer


@kernel
def by_envelopes(balls, middles, reaches):
    """The thesis' general algorithm: balls within the other body's envelope, all pairs.

    Middles (n, 3) and reaches (n,) are those of balls around the bodies; the pairs of
    balls that meet are (c, 2).
    """
    hits = np.empty((1024, 2), np.int64)
    count = 0
    chosen = np.empty(len(balls.radii), np.int64)
    for p in range(len(balls.pairs)):
        i, j = balls.pairs[p]
        near = 0
        for body, other in ((i, j), (j, i)):
            if other == i:
                cut = near
            for n in range(balls.first[body], balls.first[body + 1]):
                x = balls.centres[n, 0] - middles[other, 0]
                y = balls.centres[n, 1] - middles[other, 1]
                z = balls.centres[n, 2] - middles[other, 2]
                reach = balls.radii[n] + reaches[other] + balls.margin
                if x * x + y * y + z * z < reach * reach:
                    chosen[near] = n
                    near += 1
        for a in range(cut):
            for b in range(cut, near):
                if _meets(balls, chosen[a], chosen[b]):
                    hits = _kept(hits, count, chosen[a], chosen[b])
                    count += 1
    return hits[:count]


@kernel
def by_bit_fields(balls, allowed, low, cell, widths):
    """The thesis' fast algorithm: projections on the axes as fields of bits.

    For every cell of each axis a field has one bit a ball, set where the ball's
    projection meets the cell. Of a ball, the fields of its cells are joined along each
    axis; what the three have in common are its candidates. Bodies are taken from the
    last to the first, and asked before their own balls are entered: so no pair is
    tested twice and no body meets itself.

    Bodies meet where it is allowed (n, n). From least coordinates of all balls (3,) on
    cells have a width [m], and a number along each axis (3,). Pairs of balls that meet
    are (c, 2).
    """
    total = len(balls.radii)
    words = (total + 63) // 64
    fields = np.zeros((3, max(widths), words), np.uint64)
    joined = np.empty((3, words), np.uint64)
    hits = np.empty((1024, 2), np.int64)
    count = 0
    owner = np.empty(total, np.int64)
    for body in range(len(balls.first) - 1):
        owner[balls.first[body] : balls.first[body + 1]] = body
    one = np.uint64(1)
    for body in range(len(balls.first) - 2, -1, -1):
        start, stop = balls.first[body], balls.first[body + 1]
        # Only balls of later bodies can be there: words before theirs are skipped.
        begin = stop // 64
        if stop < total:
            for n in range(start, stop):
                for axis in range(3):
                    reach = balls.radii[n] + balls.margin
                    first, last = _cells(
                        balls.centres[n, axis] - low[axis], reach, cell
                    )
                    joined[axis, begin:] = np.uint64(0)
                    for c in range(max(first, 0), min(last, widths[axis] - 1) + 1):
                        for w in range(begin, words):
                            joined[axis, w] |= fields[axis, c, w]
                for w in range(begin, words):
                    bits = joined[0, w] & joined[1, w] & joined[2, w]
                    b = 64 * w
                    while bits:
                        if bits & one:
                            if allowed[body, owner[b]] and _meets(balls, n, b):
                                hits = _kept(hits, count, n, b)
                                count += 1
                        bits >>= one
                        b += 1
        for n in range(start, stop):
            bit = one << np.uint64(n % 64)
            for axis in range(3):
                middle = balls.centres[n, axis] - low[axis]
                first, last = _cells(middle, balls.radii[n], cell)
                for c in range(max(first, 0), min(last, widths[axis] - 1) + 1):
                    fields[axis, c, n // 64] |= bit
    return hits[:count]


@kernel
def _cells(middle, reach, cell):
    return math.floor((middle - reach) / cell), math.floor((middle + reach) / cell)


@kernel
def by_trees(balls, trees):
    """Two trees at once, from their roots down; the larger node is divided.

    Returns:
        pairs of balls that meet (c, 2).
    """
    hits = np.empty((1024, 2), np.int64)
    count = 0
    stack = np.empty((_STACK, 2), np.int64)
    for p in range(len(balls.pairs)):
        stack[0, 0] = trees.roots[balls.pairs[p, 0]]
        stack[0, 1] = trees.roots[balls.pairs[p, 1]]
        height = 1
        while height > 0:
            height -= 1
            a, b = stack[height]
            x = trees.centres[a, 0] - trees.centres[b, 0]
            y = trees.centres[a, 1] - trees.centres[b, 1]
            z = trees.centres[a, 2] - trees.centres[b, 2]
            reach = trees.radii[a] + trees.radii[b] + balls.margin
            # A little more than needed: rounding of nodes must lose no pair.
            if x * x + y * y + z * z > reach * reach * (1 + 1e-9):
                continue
            down, up = trees.right[a] > 0, trees.right[b] > 0
            if not (down or up):
                for m in range(trees.begin[a], trees.end[a]):
                    for n in range(trees.begin[b], trees.end[b]):
                        if _meets(balls, trees.order[m], trees.order[n]):
                            hits = _kept(hits, count, trees.order[m], trees.order[n])
                            count += 1
            elif down and (not up or trees.radii[a] >= trees.radii[b]):
                stack[height, 0], stack[height, 1] = a + 1, b
                stack[height + 1, 0], stack[height + 1, 1] = trees.right[a], b
                height += 2
            else:
                stack[height, 0], stack[height, 1] = a, b + 1
                stack[height + 1, 0], stack[height + 1, 1] = a, trees.right[b]
                height += 2
    return hits[:count]


@kernel
def build_tree(centres, radii, start, order, nodes):
    """Halve balls along their longest extent until leaves are small; number of nodes.

    Of the body's balls (m, 3), (m,), the first of which is ``start`` among all; their
    order, leaf after leaf (m,), and nodes (4 m / leaf or more, 7) are written: centre,
    radius, right child, counted from the tree's own root, begin and end of its balls.
    """
    count = len(radii)
    for n in range(count):
        order[n] = n
    stack = np.empty((128, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, count, -1
    height, made = 1, 0
    while height > 0:
        height -= 1
        begin, end, parent = stack[height]
        node = made
        made += 1
        if parent >= 0:
            nodes[parent, 4] = node
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for n in range(begin, end):
            for i in range(3):
                low[i] = min(low[i], centres[order[n], i] - radii[order[n]])
                high[i] = max(high[i], centres[order[n], i] + radii[order[n]])
        reach = 0.0
        for n in range(begin, end):
            square = 0.0
            for i in range(3):
                square += (centres[order[n], i] - 0.5 * (low[i] + high[i])) ** 2
            reach = max(reach, math.sqrt(square) + radii[order[n]])
        for i in range(3):
            nodes[node, i] = 0.5 * (low[i] + high[i])
        nodes[node, 3], nodes[node, 4] = reach, 0
        nodes[node, 5], nodes[node, 6] = begin + start, end + start
        if end - begin <= _LEAF:
            continue
        axis = int(np.argmax(high - low))
        part = order[begin:end].copy()
        keys = np.empty(end - begin)
        for n in range(end - begin):
            keys[n] = centres[part[n], axis]
        rank = np.argsort(keys)
        for n in range(end - begin):
            order[begin + n] = part[rank[n]]
        middle = (begin + end) // 2
        # The left half is taken from the stack first: its node follows this one.
        stack[height, 0], stack[height, 1], stack[height, 2] = middle, end, node
        stack[height + 1, 0], stack[height + 1, 1] = begin, middle
        stack[height + 1, 2] = -1
        height += 2
    for n in range(count):
        order[n] += start
    return made


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

    def joined(self, other: Contacts) -> Contacts:
        """These and others."""
        names = [one.name for one in fields(self)]
        pairs = [(getattr(self, name), getattr(other, name)) for name in names]
        return Contacts(*map(np.concatenate, pairs))


@dataclass(frozen=True)
class Poses:
    """Where bodies are: rotations (n, 3, 3), positions (n, 3) [m]."""

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
        if not models:
            raise AnatomyError("contacts need bones")
        self.count = len(models)
        kinds = ["free"] * self.count if roles is None else list(roles)
        if len(kinds) != self.count:
            raise AnatomyError(f"{self.count} bones need as many roles")
        for kind in kinds:
            if kind not in ROLES:
                known = ", ".join(ROLES)
                raise AnatomyError(
                    f"the role '{kind}' is not known (there are: {known})"
                )
        left_out = {tuple(sorted(pair)) for pair in exclusions}
        if any(not 0 <= n < self.count for pair in left_out for n in pair):
            raise AnatomyError(f"exclusions name bones from 0 to {self.count - 1}")
        pairs = [
            (i, j)
            for i, j in itertools.combinations(range(self.count), 2)
            if "free" in (kinds[i], kinds[j]) and (i, j) not in left_out
        ]
        self.pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
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
            own = self._centres[part], self._radii[part]
            made = build_tree(*own, part.start, order[part], nodes)
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

        By ``tree``, ``envelope`` or ``bitfield``, with a gap up to which balls count as
        meeting [m]; AnatomyError: the method is unknown, or poses do not fit.
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
            roots = self._nodes_first[:-1]  # balls around the bones
            middles = np.einsum("nij,nj->ni", turns, self._nodes[roots]) + shifts
            hits = by_envelopes(balls, middles, self._tree.radii[roots])
        elif method == "bitfield":
            allowed = np.zeros((self.count, self.count), dtype=bool)
            allowed[tuple(self.pairs.T)] = True
            hits = np.asarray(by_bit_fields(balls, allowed, *self._cells(None)))
        else:
            known = ", ".join(METHODS)
            raise AnatomyError(f"no method is called '{method}' (there are: {known})")
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
        pairs = (bodies[:, 0], balls[:, 0], bodies[:, 1], balls[:, 1])
        return Contacts(*pairs, depth, normal, point, distance / reach)


def detect(
    models: Sequence[BallModel],
    poses: Poses,
    method: Method = "tree",
    roles: Sequence[str] | None = None,
    exclusions: Iterable[tuple[int, int]] = (),
) -> Contacts:
    """The contacts of models, once; a :class:`ContactDetector` serves many poses."""
    return ContactDetector(models, roles, exclusions).detect(poses, method)
