# SPDX-License-Identifier: Apache-2.0
"""Distance maps: from every voxel inside to the outside.

Chamfer maps (Perez 1994, 5.4 and 5.5) take the length of the shortest path over
neighbours, each at an integer weight, by two scans. The exact map has squared Euclidean
distances, which are integers, too. A distance reaches the *centre* of the first voxel
outside, half a voxel beyond the surface.

*Chamfer scans*, forth and back. Grids are flat, so that a neighbour is one offset away;
the margin is as wide as the mask reaches, and is not scanned.

*Exact squared Euclidean distances* by envelopes of parabolas. Along one axis ``min_p
f(p) + (q - p)^2`` is the lower envelope of parabolas, found in one scan (Meijster and
others, 2000; Felzenszwalb and Huttenlocher, 2012). Axis after axis it is the squared
distance map, where f is 0 outside and far inside; and where f is minus a squared radius
it is the power diagram of the balls (Coeurjolly and Montanvert, 2007). All numbers are
integers: there is no rounding.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from humans_sim.anatomy.errors import AnatomyError
from humans_sim.core.kernels import kernel

FAR = np.int32(1 << 29)
"""Distance of what no path reaches."""


class Grid(NamedTuple):
    """A flat grid of three axes with a margin: shape (3,) and width of the margin (3,).

    Offsets lead to the neighbours before a voxel, in the order of the scan (m,), at
    distances of the weights (m,).
    """

    shape: np.ndarray
    margin: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray


@kernel
def _scan(values, grid, growing):
    """Forth and back: the least of neighbour plus weight, or the greatest of minus."""
    nx, ny, nz = grid.shape
    mx, my, mz = grid.margin
    count = len(grid.offsets)
    for way in (1, -1):
        for a in range(mx, nx - mx):
            i = a if way == 1 else nx - 1 - a
            for b in range(my, ny - my):
                j = b if way == 1 else ny - 1 - b
                start = (i * ny + j) * nz
                for c in range(mz, nz - mz):
                    at = start + (c if way == 1 else nz - 1 - c)
                    best = values[at]
                    if best == 0 and not growing:
                        continue
                    for m in range(count):
                        other = values[at + way * grid.offsets[m]]
                        if growing:
                            best = max(best, other - grid.weights[m])
                        else:
                            best = min(best, other + grid.weights[m])
                    values[at] = best


@kernel
def shortest_paths(values, grid):
    """Two scans: every value becomes the least of neighbour plus weight; in place."""
    _scan(values, grid, False)


@kernel
def grow(values, grid):
    """Two scans: every value becomes the greatest of neighbour minus weight; in place.

    With radii at the centres of balls and 0 elsewhere, what ends above 0 lies in one.
    """
    _scan(values, grid, True)


@kernel
def maximal(values, grid, kept):
    """Which balls of a chamfer map no ball of a neighbour holds; their number.

    M stays where D(P) - D(M) < D(M, P) for every neighbour P of the mask.
    """
    nx, ny, nz = grid.shape
    mx, my, mz = grid.margin
    count, total = len(grid.offsets), 0
    for i in range(mx, nx - mx):
        for j in range(my, ny - my):
            start = (i * ny + j) * nz
            for at in range(start + mz, start + nz - mz):
                own = values[at]
                if own == 0:
                    continue
                alone = True
                for m in range(count):
                    limit = own + grid.weights[m]
                    if (
                        values[at + grid.offsets[m]] >= limit
                        or values[at - grid.offsets[m]] >= limit
                    ):
                        alone = False
                        break
                if alone:
                    kept[at] = True
                    total += 1
    return total


@kernel
def lower_envelopes(values, owners, axis):
    """Replace values by their envelopes along an axis, in place; FAR: no parabola.

    Owners (nx, ny, nz) are moved along with them, unless of no size.
    """
    nx, ny, nz = values.shape
    length = values.shape[axis]
    tracked = owners.size > 0
    line = np.empty(length, np.int64)
    old = np.empty(length, np.int32)
    vertex = np.empty(length, np.int64)
    begin = np.empty(length, np.int64)
    first = ny if axis == 0 else nx
    second = ny if axis == 2 else nz
    for a in range(first):
        for b in range(second):
            busy = False
            for q in range(length):
                i, j, k = _place(axis, a, b, q)
                line[q] = values[i, j, k]
                if line[q] != 0:
                    busy = True
                if tracked:
                    old[q] = owners[i, j, k]
            if not busy:
                continue
            count = _envelope(line, vertex, begin)
            part = 0
            for q in range(length):
                i, j, k = _place(axis, a, b, q)
                if count == 0:
                    continue
                while part + 1 < count and begin[part + 1] <= q:
                    part += 1
                p = vertex[part]
                values[i, j, k] = min(line[p] + (q - p) * (q - p), FAR)
                if tracked:
                    owners[i, j, k] = old[p]


@kernel
def _place(axis, a, b, q):
    if axis == 0:
        return q, a, b
    if axis == 1:
        return a, q, b
    return a, b, q


@kernel
def _envelope(line, vertex, begin):
    """Vertices of the parabolas below all others, and from where on each is lowest."""
    count = 0
    length = len(line)
    for q in range(length):
        if line[q] >= FAR:
            continue
        while True:
            if count == 0:
                vertex[0], begin[0], count = q, 0, 1
                break
            p = vertex[count - 1]
            # First place at which q's parabola is below p's.
            rise = line[q] + q * q - line[p] - p * p
            start = rise // (2 * (q - p)) + 1
            if start <= begin[count - 1]:
                count -= 1
                continue
            if start < length:
                vertex[count], begin[count] = q, start
                count += 1
            break
    return count


@kernel
def mark_owners(values, owners, kept):
    """Mark the balls that own a covered voxel; their number."""
    flat, names = values.ravel(), owners.ravel()
    total = 0
    for n in range(len(flat)):
        if flat[n] < 0 and not kept[names[n]]:
            kept[names[n]] = True
            total += 1
    return total


@dataclass(frozen=True)
class ChamferMask:
    """Weights of the steps of a path, e.g. ``3-4-5``, along 2 or 3 axes.

    Moves are steps up to their signs and order, with their weights: all steps that
    permutations and signs make of them are allowed.
    """

    name: str
    moves: dict[tuple[int, ...], int]
    axes: int

    @property
    def unit(self) -> int:
        """Weight of a step to the neighbour across a face: one voxel."""
        return self.moves[(1,) + (0,) * (self.axes - 1)]

    @property
    def reach(self) -> int:
        """How far a step goes along an axis."""
        return max(max(move) for move in self.moves)

    def steps(self) -> list[tuple[tuple[int, ...], int]]:
        """The steps that come before a voxel in the order of the scan, with weights."""
        steps: dict[tuple[int, ...], int] = {}
        for move, weight in self.moves.items():
            for order in set(itertools.permutations(move)):
                for signs in itertools.product((1, -1), repeat=self.axes):
                    step = tuple(s * n for s, n in zip(signs, order, strict=True))
                    if step < (0,) * self.axes:
                        steps[step] = weight
        return sorted(steps.items())


def _mask(name: str, axes: int, *moves: tuple[tuple[int, ...], int]) -> ChamferMask:
    return ChamferMask(name, dict(moves), axes)


MASKS = {
    mask.name: mask
    for mask in (
        _mask("d4", 2, ((1, 0), 1)),
        _mask("d8", 2, ((1, 0), 1), ((1, 1), 1)),
        _mask("3-4", 2, ((1, 0), 3), ((1, 1), 4)),
        _mask("5-7-11", 2, ((1, 0), 5), ((1, 1), 7), ((2, 1), 11)),
        _mask("d6", 3, ((1, 0, 0), 1)),
        _mask("d26", 3, ((1, 0, 0), 1), ((1, 1, 0), 1), ((1, 1, 1), 1)),
        _mask("3-4-5", 3, ((1, 0, 0), 3), ((1, 1, 0), 4), ((1, 1, 1), 5)),
        _mask("5-7-9", 3, ((1, 0, 0), 5), ((1, 1, 0), 7), ((1, 1, 1), 9)),
        _mask("5-7-11 (3-D)", 3, ((1, 0, 0), 5), ((1, 1, 0), 7), ((1, 1, 1), 11)),
    )
}
"""Masks by name. The thesis names 5-7-11 for three axes as well, where its corner is
27 % too far; it is kept for comparison."""


def find_mask(mask: str | ChamferMask, axes: int) -> ChamferMask:
    """A mask by its name, of a number of axes."""
    if isinstance(mask, str):
        if mask not in MASKS:
            known = ", ".join(MASKS)
            raise AnatomyError(f"no mask is called '{mask}' (there are: {known})")
        mask = MASKS[mask]
    if mask.axes != axes:
        raise AnatomyError(f"the mask {mask.name} has {mask.axes} axes, not {axes}")
    return mask


def padded_grid(
    shape: Sequence[int], mask: ChamferMask
) -> tuple[Grid, tuple[slice, ...]]:
    """A flat grid with a margin as wide as a mask reaches; where the voxels lie in it.

    Slices are those of the array of three axes that the voxels fill.
    """
    reach = mask.reach
    three = (1,) * (3 - mask.axes) + tuple(int(n) for n in shape)
    margin = (0,) * (3 - mask.axes) + (reach,) * mask.axes
    whole = [n + 2 * m for n, m in zip(three, margin, strict=True)]
    strides = np.array([whole[1] * whole[2], whole[2], 1])[3 - mask.axes :]
    steps = mask.steps()
    offsets = np.array([int(np.dot(step, strides)) for step, _ in steps])
    weights = np.array([weight for _, weight in steps], dtype=np.int32)
    grid = Grid(np.array(whole), np.array(margin), offsets, weights)
    return grid, tuple(slice(m, m + n) for n, m in zip(three, margin, strict=True))


def chamfer_map(inside: np.ndarray, mask: str | ChamferMask = "3-4-5") -> np.ndarray:
    """Length of the shortest path of each voxel to the outside.

    Voxels inside are of two or three axes; what lies beyond is not known. Integers of
    the same shape, 0 outside; divided by ``mask.unit`` they are voxels.

    Raises:
        AnatomyError: the mask has another number of axes, or nothing is outside.
    """
    inside = np.asarray(inside, dtype=bool)
    mask = find_mask(mask, inside.ndim)
    _check_outside(inside)
    grid, place = padded_grid(inside.shape, mask)
    values = np.full(grid.shape, FAR, dtype=np.int32)
    values[place][~inside.reshape(values[place].shape)] = 0
    shortest_paths(values.reshape(-1), grid)
    return np.ascontiguousarray(values[place]).reshape(inside.shape)


def squared_distance_map(inside: np.ndarray) -> np.ndarray:
    """Exact squared distance of each voxel to the nearest outside [voxels^2].

    Of two or three axes; AnatomyError: nothing is outside.
    """
    inside = np.asarray(inside, dtype=bool)
    _check_outside(inside)
    if inside.ndim not in (2, 3):
        raise AnatomyError(f"maps have two or three axes, not {inside.ndim}")
    values = np.zeros(inside.shape, dtype=np.int32)
    values[inside] = FAR
    three = values.reshape((1,) * (3 - inside.ndim) + inside.shape)
    none = np.empty((0, 0, 0), dtype=np.int32)
    for axis in (2, 1, 0):
        lower_envelopes(three, none, axis)
    return values


def _check_outside(inside: np.ndarray) -> None:
    if inside.size == 0 or inside.all():
        raise AnatomyError("nothing is outside: there is no distance to it")
