# SPDX-License-Identifier: Apache-2.0
"""Covers of a bone by fewer balls, or by simpler ones.

The medial axis is not the least cover: a ball may lie in the union of others. Perez
(1994, 5.7 and 9) proposes to leave such balls out; an octree with balls around its
cubes (5.3) is the plain cover to compare with.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import binary_erosion

from humans_sim.anatomy.balls.ball_model import EUCLIDEAN, BallGrid, BallModel
from humans_sim.anatomy.balls.cover_kernels import (
    SHIFT,
    CoverBalls,
    CoverGrids,
    choose_cover,
    cover_voxels,
)
from humans_sim.anatomy.balls.distance_maps import chamfer_map, find_mask
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.volumes.volume import Volume, check_spacing
from humans_sim.core.budget import VOXELS


def reduce_cover(model: BallModel) -> BallModel:
    """Fewer balls of a model that still rebuild its volume exactly.

    Args:
        model: of a distance map.

    Raises:
        AnatomyError: it came from no grid.
    """
    grid = model.grid
    if grid is None:
        raise AnatomyError("the model came from no grid: covers cannot be compared")
    distances = grid.distances
    order = np.argsort(-distances, kind="stable")
    norm = _norm(grid)
    balls = CoverBalls(
        np.ascontiguousarray(grid.voxels[order]),
        np.searchsorted(norm[:, 0, 0], distances[order], side="left") - 1,
        np.ascontiguousarray(distances[order]),
        norm,
    )
    inside = grid.reconstruct().inside
    # What covers a bone's outer layers covers its inside, but for some voxels.
    chosen = choose_cover(balls, _wanted(inside & ~binary_erosion(inside, None, 2)))
    missed = inside & ~_part(grid, np.sort(order[chosen])).reconstruct().inside
    if missed.any():
        chosen |= choose_cover(balls, _wanted(missed))
    kept = np.sort(order[chosen])
    note = f"reduced to {len(kept)} balls of {len(distances)}"
    return BallModel.of_grid(_part(grid, kept), (*model.notes, note))


def _part(grid: BallGrid, kept: np.ndarray) -> BallGrid:
    """Some of a grid's balls."""
    return replace(grid, voxels=grid.voxels[kept], distances=grid.distances[kept])


def _wanted(voxels: np.ndarray) -> CoverGrids:
    """Voxels to be covered, none of them yet."""
    blocks = [-(-size // (1 << SHIFT)) for size in voxels.shape]
    present = np.zeros(blocks, dtype=np.int32)
    np.add.at(present, tuple(np.argwhere(voxels).T >> SHIFT), 1)
    counts = np.zeros(voxels.shape, dtype=np.int16)
    return CoverGrids(voxels, counts, present, np.zeros_like(present))


def _norm(grid: BallGrid) -> np.ndarray:
    """Of offsets (i, j, k) >= 0 up to the largest ball."""
    largest = int(grid.distances.max())
    if grid.metric == EUCLIDEAN:
        reach = int(np.sqrt(largest)) + 2
        squares = np.arange(reach, dtype=np.int64) ** 2
        return np.ascontiguousarray(
            squares[:, None, None] + squares[None, :, None] + squares
        )
    mask = find_mask(grid.metric, 3)
    reach = largest // mask.unit + 2
    free = np.ones((reach, reach, reach), dtype=bool)
    free[0, 0, 0] = False
    return chamfer_map(free, mask).astype(np.int64)


def octree_cover(volume: Volume) -> BallModel:
    """The balls around the cubes of a bone's octree: they cover it, and more.

    Args:
        volume: the bone.
    """
    edge = 1 << int(max(volume.inside.shape) - 1).bit_length()
    full: np.ndarray = np.zeros((edge, edge, edge), dtype=bool)
    full[tuple(slice(n) for n in volume.inside.shape)] = volume.inside
    levels = [full]
    while edge > 1:
        edge //= 2
        halves = full.reshape(edge, 2, edge, 2, edge, 2)
        full = np.asarray(halves.all(axis=(1, 3, 5)))
        levels.append(full)
    centres, radii = [], []
    for level, cubes in enumerate(levels):
        alone = cubes.copy()
        if level + 1 < len(levels):
            above = levels[level + 1]
            for axis in range(3):
                above = above.repeat(2, axis)
            alone &= ~above
        size = 1 << level
        corners = np.argwhere(alone) * size
        centres.append(corners + (size - 1) / 2)
        radii.append(np.full(len(corners), size * np.sqrt(3) / 2))
    places = volume.origin + volume.spacing * np.vstack(centres)
    sizes = volume.spacing * np.concatenate(radii)
    note = f"{len(sizes)} balls around the cubes of an octree of {volume.count} voxels"
    return BallModel(places, sizes, None, (note,))


def fill_balls(model: BallModel, spacing: float) -> Volume:
    """The voxels whose centres lie in a ball of a model.

    Args:
        model: of any balls.
        spacing: edge of a voxel [m].

    Raises:
        AnatomyError: the spacing makes no sense, or is too fine.
    """
    check_spacing(spacing)
    low = (model.centres - model.radii[:, None]).min(axis=0)
    high = (model.centres + model.radii[:, None]).max(axis=0)
    first = np.floor(low / spacing)
    sides = np.ceil(high / spacing) - first + 1
    VOXELS.check("a ball model", *sides, error=AnatomyError)
    counts = sides.astype(int)
    inside = np.zeros(counts, dtype=bool)
    cover_voxels(model.centres / spacing - first, model.radii / spacing, inside)
    return Volume.padded(inside, spacing, spacing * first)
