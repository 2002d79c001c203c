# SPDX-License-Identifier: Apache-2.0
"""Covers of a bone by fewer balls, or by simpler ones.

The medial axis is not the least cover: a ball may lie in the union of others. Perez
(1994, 5.7 and 9) proposes to leave such balls out; an octree with balls around its
cubes (5.3) is the plain cover to compare with.
"""

from __future__ import annotations

import numpy as np

from humans_sim.anatomy.balls.ball_model import EUCLIDEAN, BallGrid, BallModel
from humans_sim.anatomy.balls.cover_kernels import choose_cover, cover_voxels
from humans_sim.anatomy.balls.distance_maps import chamfer_map, find_mask
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.volumes.volume import MOST_VOXELS, Volume, check_spacing


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
    reaches = np.empty(len(distances), dtype=np.int64)
    along = norm[:, 0, 0]
    reaches[:] = np.searchsorted(along, distances[order], side="left") - 1
    counts = np.zeros(grid.shape, dtype=np.int16)
    chosen = choose_cover(
        np.ascontiguousarray(grid.voxels[order]),
        reaches,
        np.ascontiguousarray(distances[order]),
        norm,
        counts,
    )
    kept = np.sort(order[chosen])
    smaller = BallGrid(
        grid.voxels[kept],
        distances[kept],
        grid.metric,
        grid.shape,
        grid.spacing,
        grid.origin,
    )
    note = f"reduced to {len(kept)} balls of {len(distances)}"
    return BallModel.of_grid(smaller, (*model.notes, note))


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
    counts = (np.ceil(high / spacing) - first + 1).astype(int)
    if np.prod(counts, dtype=float) > MOST_VOXELS:
        raise AnatomyError(f"{counts} voxels are too many: take a larger spacing")
    inside = np.zeros(counts, dtype=bool)
    cover_voxels(model.centres / spacing - first, model.radii / spacing, inside)
    return Volume.padded(inside, spacing, spacing * first)
