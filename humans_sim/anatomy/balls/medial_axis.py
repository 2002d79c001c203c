# SPDX-License-Identifier: Apache-2.0
r"""The medial axis of a volume: balls that no other ball of its distance map holds.

Perez (1994, 5.5): of a chamfer map with a mask of 3 x 3 x 3, voxel M is on the axis
where :math:`D(P) - D(M) < d(M, P)` for every neighbour P. The union of its balls is the
volume itself.

The same rule on an exact map keeps nearly every voxel. There the balls are kept that
own a voxel of their power diagram, the upper envelope of :math:`D^2(P) - |x - P|^2`
(Coeurjolly and Montanvert, "Optimal separable algorithms to compute the reverse
Euclidean distance transformation and discrete medial axis", 2007): a subset of the
medial axis that still rebuilds the volume exactly.
"""

from __future__ import annotations

import numpy as np

from humans_sim.anatomy.balls.ball_model import EUCLIDEAN, BallGrid, BallModel
from humans_sim.anatomy.balls.chamfer_kernels import FAR, maximal, shortest_paths
from humans_sim.anatomy.balls.distance_maps import (
    find_mask,
    padded_grid,
    squared_distance_map,
)
from humans_sim.anatomy.balls.euclidean_kernels import lower_envelopes, mark_owners
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.volumes.volume import Volume


def ball_model(volume: Volume, metric: str = "3-4-5") -> BallModel:
    """The medial balls of a bone.

    Args:
        volume: the bone.
        metric: a mask of 3 x 3 x 3 (``3-4-5``, ``5-7-9``), or ``euclidean``.

    Raises:
        AnatomyError: no mask has that name, or it reaches beyond the neighbours.
    """
    if metric == EUCLIDEAN:
        voxels, distances = _power_axis(volume.inside)
    else:
        voxels, distances = _chamfer_axis(volume.inside, metric)
    shape = volume.inside.shape
    grid = BallGrid(
        voxels,
        distances.astype(np.int64),
        metric,
        (shape[0], shape[1], shape[2]),
        volume.spacing,
        volume.origin,
    )
    note = f"{len(voxels)} medial balls of {volume.count} voxels, metric {metric}"
    return BallModel.of_grid(grid, (note,))


def _chamfer_axis(inside: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray]:
    mask = find_mask(metric, 3)
    if mask.reach != 1:
        raise AnatomyError(f"the local rule needs a mask of 3 x 3 x 3, not {metric}")
    grid, place = padded_grid(inside.shape, mask)
    values = np.full(grid.shape, FAR, dtype=np.int32)
    values[place][~inside] = 0
    flat = values.reshape(-1)
    shortest_paths(flat, grid)
    # The margin is scanned by no one, and must not hold the balls beside it.
    for axis in range(3):
        for side in (0, -1):
            np.moveaxis(values, axis, 0)[side] = 0
    kept = np.zeros(values.shape, dtype=bool)
    maximal(flat, grid, kept.reshape(-1))
    voxels = np.argwhere(kept[place])
    return voxels, values[place][tuple(voxels.T)]


def _power_axis(inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    squares = squared_distance_map(inside)
    values = np.where(inside, -squares, FAR).astype(np.int32)
    owners = np.arange(values.size, dtype=np.int32).reshape(values.shape)
    for axis in (2, 1, 0):
        lower_envelopes(values, owners, axis)
    kept = np.zeros(values.size, dtype=bool)
    mark_owners(values, owners, kept)
    voxels = np.argwhere(kept.reshape(values.shape))
    return voxels, squares[tuple(voxels.T)]
