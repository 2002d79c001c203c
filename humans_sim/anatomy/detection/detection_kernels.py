# SPDX-License-Identifier: Apache-2.0
"""Compiled searches for balls of different bodies that meet.

Every search tests a pair by the same expression, so all of them find the same pairs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel

_STACK = 4096
_LEAF = 8
"""Balls of a leaf."""


class Balls(NamedTuple):
    """The balls of all bodies, in the world.

    Attributes:
        centres: (m, 3) [m].
        radii: (m,) [m].
        first: ball of each body, and the number of all (n + 1,).
        pairs: bodies that may meet, the lower number first (p, 2).
        margin: gap up to which balls count as meeting [m].
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

    Args:
        balls: of all bodies.
        middles: of the balls around the bodies (n, 3).
        reaches: radii of these (n,).

    Returns:
        pairs of balls that meet (c, 2).
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

    Args:
        balls: of all bodies.
        allowed: whether two bodies may meet (n, n).
        low: least coordinates of all balls (3,).
        cell: width of a cell [m].
        widths: number of cells along each axis (3,).

    Returns:
        pairs of balls that meet (c, 2).
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
    """Halve balls along their longest extent until leaves are small.

    Args:
        centres: of the body's balls (m, 3).
        radii: (m,).
        start: number of the body's first ball among all.
        order: of the balls, leaf after leaf (m,); written.
        nodes: of the tree (4 m / leaf or more, 7): centre, radius, right child, begin
            and end of its balls in the order; written.

    Returns:
        number of nodes; children are counted from the tree's own root.
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
