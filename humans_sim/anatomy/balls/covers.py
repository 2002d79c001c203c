# SPDX-License-Identifier: Apache-2.0
"""Covers of a bone by fewer balls, or by simpler ones.

The medial axis is not the least cover: a ball may lie in the union of others. Perez
(1994, 5.7 and 9) proposes to leave such balls out; an octree with balls around its
cubes (5.3) is the plain cover to compare with.

Also compiled: distances to unions of balls, and of a ball model to its mesh.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.ndimage import binary_erosion

from humans_sim.anatomy.balls.ball_model import EUCLIDEAN, BallGrid, BallModel
from humans_sim.anatomy.balls.distance_maps import chamfer_map, find_mask
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.volumes.volume import Volume, check_spacing
from humans_sim.core.budget import VOXELS
from humans_sim.core.kernels import kernel

if TYPE_CHECKING:
    import trimesh


SHIFT = 2
"""Edges of blocks of voxels: 4."""


class CoverBalls(NamedTuple):
    """Balls on a grid, by falling size: centres (n, 3).

    Reaches are voxels that each goes along an axis (n,), limits of the norm inside of
    each (n,); the norm of an offset (i, j, k) >= 0 grows with each (r, r, r).
    """

    voxels: np.ndarray
    reaches: np.ndarray
    limits: np.ndarray
    norm: np.ndarray


class CoverGrids(NamedTuple):
    """Voxels to be covered, with blocks of them: few are looked at.

    Attributes:
        wanted: voxels to be covered (nx, ny, nz).
        counts: of balls over each of these (nx, ny, nz).
        present: how many are wanted of each block (bx, by, bz).
        sums: how many of these have the count that is looked for (bx, by, bz).
    """

    wanted: np.ndarray
    counts: np.ndarray
    present: np.ndarray
    sums: np.ndarray


@kernel
def choose_cover(balls, grids):
    """Choose balls (n,), by falling size, that cover the voxels that are wanted.

    Largest first, a ball is taken where it covers a voxel that none before it does.
    Then, smallest first, balls are left out whose every voxel others cover. Counts and
    sums of the grids are zero at first.
    """
    n = len(balls.voxels)
    chosen = np.zeros(n, np.bool_)
    grids.sums[:] = grids.present
    for b in range(n):
        if _visit(balls, b, grids, 0, 0):
            chosen[b] = True
            _visit(balls, b, grids, 0, 1)
    grids.sums[:] = 0
    nx, ny, nz = grids.wanted.shape
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                if grids.wanted[i, j, k] and grids.counts[i, j, k] == 1:
                    grids.sums[i >> SHIFT, j >> SHIFT, k >> SHIFT] += 1
    for b in range(n - 1, -1, -1):
        if chosen[b] and not _visit(balls, b, grids, 1, 0):
            chosen[b] = False
            _visit(balls, b, grids, 1, -1)
    return chosen


@kernel
def _nearest(middle, block):
    """Offset of a block's nearest voxel from a ball's centre, along an axis."""
    first = block << SHIFT
    if middle < first:
        return first - middle
    return max(middle - first - (1 << SHIFT) + 1, 0)


@kernel
def _visit(balls, b, grids, value, change):
    """Visit the blocks of a ball that have wanted voxels; sums are of a value.

    Its counts change; by 0: look for a voxel that has the value. Whether one was found.
    """
    limit, reach, norm = balls.limits[b], balls.reaches[b], balls.norm
    x, y, z = balls.voxels[b]
    worth = grids.sums if change == 0 else grids.present
    for bx in range((x - reach) >> SHIFT, ((x + reach) >> SHIFT) + 1):
        i = _nearest(x, bx)
        for by in range((y - reach) >> SHIFT, ((y + reach) >> SHIFT) + 1):
            j = _nearest(y, by)
            if norm[i, j, 0] >= limit:
                continue
            for bz in range((z - reach) >> SHIFT, ((z + reach) >> SHIFT) + 1):
                if worth[bx, by, bz] > 0 and norm[i, j, _nearest(z, bz)] < limit:
                    if _visit_block(balls, b, (bx, by, bz), grids, value, change):
                        return True
    return False


@kernel
def _visit_block(balls, b, block, grids, value, change):
    limit, reach, norm = balls.limits[b], balls.reaches[b], balls.norm
    x, y, z = balls.voxels[b]
    bx, by, bz = block
    first, last = max(z - reach, bz << SHIFT), min(z + reach + 1, (bz + 1) << SHIFT)
    for u in range(max(x - reach, bx << SHIFT), min(x + reach + 1, (bx + 1) << SHIFT)):
        for v in range(
            max(y - reach, by << SHIFT), min(y + reach + 1, (by + 1) << SHIFT)
        ):
            line = norm[abs(u - x), abs(v - y)]
            for w in range(first, last):
                if not grids.wanted[u, v, w] or line[abs(w - z)] >= limit:
                    continue
                count = grids.counts[u, v, w]
                if change == 0:
                    if count == value:
                        return True
                    continue
                grids.counts[u, v, w] = count + change
                if count == value:
                    grids.sums[bx, by, bz] -= 1
                elif count + change == value:
                    grids.sums[bx, by, bz] += 1
    return False


@kernel
def union_distances(points, centres, radii):
    """Signed distance of points to a union of balls, negative inside (n,).

    Inside, it is that to the surface of the ball that holds the point most deeply.
    """
    out = np.empty(len(points))
    for n in range(len(points)):
        best = np.inf
        for b in range(len(radii)):
            x = points[n, 0] - centres[b, 0]
            y = points[n, 1] - centres[b, 1]
            z = points[n, 2] - centres[b, 2]
            square = x * x + y * y + z * z
            reach = best + radii[b]
            if reach > 0.0 and square < reach * reach:
                best = math.sqrt(square) - radii[b]
        out[n] = best
    return out


@kernel
def cover_voxels(centres, radii, inside):
    """Mark voxels whose centres lie in a ball; centres and radii in voxels."""
    nx, ny, nz = inside.shape
    for b in range(len(radii)):
        r = radii[b]
        x, y, z = centres[b]
        for i in range(max(math.ceil(x - r), 0), min(math.floor(x + r), nx - 1) + 1):
            flat = r * r - (i - x) ** 2
            if flat < 0.0:
                continue
            w = math.sqrt(flat)
            for j in range(
                max(math.ceil(y - w), 0), min(math.floor(y + w), ny - 1) + 1
            ):
                rest = flat - (j - y) ** 2
                if rest < 0.0:
                    continue
                d = math.sqrt(rest)
                low = max(math.ceil(z - d), 0)
                for k in range(low, min(math.floor(z + d), nz - 1) + 1):
                    inside[i, j, k] = True


def reduce_cover(model: BallModel) -> BallModel:
    """Fewer balls of a distance map's model that still rebuild its volume exactly."""
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
        rows = squares[:, None, None] + squares[None, :, None]
        return np.ascontiguousarray(rows + squares)
    mask = find_mask(grid.metric, 3)
    reach = largest // mask.unit + 2
    free = np.ones((reach, reach, reach), dtype=bool)
    free[0, 0, 0] = False
    return chamfer_map(free, mask).astype(np.int64)


def octree_cover(volume: Volume) -> BallModel:
    """The balls around the cubes of a bone's octree: they cover it, and more."""
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
    """The voxels of an edge [m] whose centres lie in a ball of a model."""
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


@dataclass(frozen=True)
class ModelDeviation:
    """Distances of points of a mesh to the surface of the balls [m].

    Greatest ones by which the balls stay short of the surface and come beyond it; mean,
    positive where they stay below, and rms, of how many points.
    """

    short: float
    beyond: float
    mean: float
    rms: float
    points: int


def surface_error(
    model: BallModel, mesh: trimesh.Trimesh, points: int = 4000, seed: int = 0
) -> ModelDeviation:
    """Compare a ball model with a mesh in the same frame [m].

    At so many points spread over the mesh's area, and its vertices where these are
    fewer.
    """
    places = spread_points(mesh, points, seed)
    distances = union_distances(places, model.centres, model.radii)
    return ModelDeviation(
        float(max(distances.max(), 0.0)),
        float(max(-distances.min(), 0.0)),
        float(distances.mean()),
        float(np.sqrt(np.mean(distances**2))),
        len(places),
    )


def spread_points(mesh: trimesh.Trimesh, count: int, seed: int = 0) -> np.ndarray:
    """Points on a mesh, evenly by area, and its vertices where these are fewer."""
    chance = np.random.default_rng(seed)
    corners = np.asarray(mesh.triangles, dtype=float)
    a, b, c = np.moveaxis(corners, 1, 0)
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    chosen = chance.choice(len(areas), count, p=areas / areas.sum())
    u, v = chance.random((2, count, 1))
    outer = u + v > 1
    u, v = np.where(outer, 1 - u, u), np.where(outer, 1 - v, v)
    places = a[chosen] + u * (b - a)[chosen] + v * (c - a)[chosen]
    if len(mesh.vertices) <= count:
        places = np.vstack([places, mesh.vertices])
    return np.ascontiguousarray(places)
