# SPDX-License-Identifier: Apache-2.0
"""Distance maps: of every voxel inside, how far the outside is.

Chamfer maps (Perez 1994, 5.4 and 5.5) take the length of the shortest path over
neighbours, each at an integer weight, by two scans. The exact map has squared Euclidean
distances, which are integers, too. A distance reaches the *centre* of the first voxel
outside, half a voxel beyond the surface.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from humans_sim.anatomy.balls.chamfer_kernels import FAR, Grid, shortest_paths
from humans_sim.anatomy.balls.euclidean_kernels import lower_envelopes
from humans_sim.anatomy.errors import AnatomyError


@dataclass(frozen=True)
class ChamferMask:
    """Weights of the steps of a path.

    Attributes:
        name: e.g. ``3-4-5``.
        moves: steps up to their signs and order, with their weights: all steps that
            permutations and signs make of them are allowed.
        axes: 2 or 3.
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
    """A mask by its name.

    Raises:
        AnatomyError: there is none of that name, or it has another number of axes.
    """
    if isinstance(mask, str):
        if mask not in MASKS:
            raise AnatomyError(
                f"no mask is called '{mask}' (there are: {', '.join(MASKS)})"
            )
        mask = MASKS[mask]
    if mask.axes != axes:
        raise AnatomyError(f"the mask {mask.name} has {mask.axes} axes, not {axes}")
    return mask


def padded_grid(
    shape: Sequence[int], mask: ChamferMask
) -> tuple[Grid, tuple[slice, ...]]:
    """A flat grid with a margin as wide as a mask reaches; where the voxels lie in it.

    Returns:
        the grid, and slices of the array of three axes that the voxels fill.
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

    Args:
        inside: truth values of two or three axes; what lies beyond is not known.
        mask: of the steps.

    Returns:
        integers of the same shape, 0 outside; divided by ``mask.unit`` they are voxels.

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

    Args:
        inside: truth values of two or three axes.

    Raises:
        AnatomyError: nothing is outside.
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
