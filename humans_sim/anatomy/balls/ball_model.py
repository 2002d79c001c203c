# SPDX-License-Identifier: Apache-2.0
"""Ball models: a bone as a union of balls, with the grid they came from.

A ball of a distance map has its centre on a voxel and a radius that is an integer
number D of the map. On the grid the balls ``d(P, x) < D`` rebuild the bone voxel for
voxel; in space they are round, of the radius

    r = (D / unit - 1/2) spacing        (Euclidean maps: sqrt(D) in place of D / unit)

since the map reaches the centre of the first voxel outside, half a voxel beyond the
surface. (With D / unit alone two balls of 20 voxels touch 1.6 voxels too early.)

*Medial axis*: the balls that no other ball of the distance map holds. Perez (1994,
5.5): of a chamfer map with a mask of 3 x 3 x 3, voxel M is on the axis where
:math:`D(P) - D(M) < d(M, P)` for every neighbour P. The union of its balls is the
volume itself.

The same rule on an exact map keeps nearly every voxel. There the balls are kept that
own a voxel of their power diagram, the upper envelope of :math:`D^2(P) - |x - P|^2`
(Coeurjolly and Montanvert, "Optimal separable algorithms to compute the reverse
Euclidean distance transformation and discrete medial axis", 2007): a subset of the
medial axis that still rebuilds the volume exactly.

*Balls that touch the mesh*, in place of the voxels' surface. The centres of a coarse
grid's medial axis are good; its radii are uncertain by half a voxel, and bones of such
balls catch on each other's steps. With the distance to the mesh as radius neighbouring
balls differ by little: the surface is smooth to some hundredths of a millimetre.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from humans_sim.anatomy.balls.distance_maps import (
    FAR,
    find_mask,
    grow,
    lower_envelopes,
    mark_owners,
    maximal,
    padded_grid,
    shortest_paths,
    squared_distance_map,
)
from humans_sim.anatomy.errors import AnatomyError, BallModelFileError
from humans_sim.anatomy.volumes.volume import Volume
from humans_sim.core.arrays import real_array
from humans_sim.core.budget import VOXELS
from humans_sim.core.npz_file import read_npz, write_npz

if TYPE_CHECKING:
    import trimesh


EUCLIDEAN = "euclidean"
"""Name of the exact metric, beside the masks'."""
_KIND = "humans-sim ball model"


@dataclass(frozen=True)
class BallGrid:
    """Balls of a distance map, in its integers.

    Centres are voxels (n, 3) of a grid of a shape (3,), a spacing [m] and an origin,
    the centre of the first voxel (3,) [m]; distances (n,) are squared where the metric
    is ``euclidean``, else it is the name of a mask.
    """

    voxels: np.ndarray
    distances: np.ndarray
    metric: str
    shape: tuple[int, int, int]
    spacing: float
    origin: np.ndarray

    def radii(self) -> np.ndarray:
        """Of the round balls (n,) [m]."""
        if self.metric == EUCLIDEAN:
            reach = np.sqrt(self.distances)
        else:
            reach = self.distances / find_mask(self.metric, 3).unit
        return np.asarray((reach - 0.5) * self.spacing)

    def reconstruct(self) -> Volume:
        """The voxels that the balls cover: those of the bone, exactly."""
        spots = tuple(self.voxels.T)
        if self.metric == EUCLIDEAN:
            values = np.full(self.shape, FAR, dtype=np.int32)
            values[spots] = -self.distances
            none = np.empty((0, 0, 0), dtype=np.int32)
            for axis in (2, 1, 0):
                lower_envelopes(values, none, axis)
            return Volume(values < 0, self.spacing, self.origin)
        grid, place = padded_grid(self.shape, find_mask(self.metric, 3))
        values = np.zeros(grid.shape, dtype=np.int32)
        values[place][spots] = self.distances
        grow(values.reshape(-1), grid)
        return Volume(values[place] > 0, self.spacing, self.origin)


@dataclass(frozen=True)
class BallModel:
    """A bone as balls: centres (n, 3) and radii (n,) [m].

    The grid has the distance map's balls they came from; notes say how it was made.
    """

    centres: np.ndarray
    radii: np.ndarray
    grid: BallGrid | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        centres, radii = (
            np.ascontiguousarray(real_array(values, f"{what} of balls", AnatomyError))
            for what, values in (("centres", self.centres), ("radii", self.radii))
        )
        if centres.ndim != 2 or centres.shape[1:] != (3,) or len(centres) == 0:
            raise AnatomyError(f"centres are rows of 3 numbers, not {centres.shape}")
        if radii.shape != (len(centres),):
            raise AnatomyError(f"{len(centres)} balls need as many radii")
        if not np.isfinite(centres).all():
            raise AnatomyError("centres of balls must be finite")
        if not (np.isfinite(radii).all() and radii.min() > 0):
            raise AnatomyError(f"radii must be positive, not {radii.min():g} m")
        object.__setattr__(self, "centres", centres)
        object.__setattr__(self, "radii", radii)

    @classmethod
    def of_grid(cls, grid: BallGrid, notes: tuple[str, ...] = ()) -> BallModel:
        """The round balls of a distance map's."""
        centres = grid.origin + grid.spacing * grid.voxels
        return cls(centres, grid.radii(), grid, notes)

    def __len__(self) -> int:
        """How many balls."""
        return len(self.radii)

    def reconstruct(self) -> Volume:
        """The voxels that the balls cover on the grid they came from, if any."""
        if self.grid is None:
            raise AnatomyError("the model came from no grid: there is none to rebuild")
        return self.grid.reconstruct()

    def moved(self, rotation: np.ndarray, translation: np.ndarray) -> BallModel:
        """The same balls, turned and then shifted; without a grid."""
        centres = self.centres @ np.asarray(rotation).T + translation
        return BallModel(centres, self.radii, None, self.notes)

    def save(self, path: Path | str) -> Path:
        """Write the model (``.npz``)."""
        header: dict[str, Any] = {"kind": _KIND, "notes": list(self.notes)}
        arrays = {"centres": self.centres, "radii": self.radii}
        if self.grid is not None:
            grid = self.grid
            header["metric"], header["shape"] = grid.metric, list(grid.shape)
            header["spacing"], header["origin"] = grid.spacing, grid.origin.tolist()
            arrays["voxels"] = grid.voxels.astype(np.int32)
            arrays["distances"] = grid.distances.astype(np.int32)
        return write_npz(Path(path), header, arrays)


def load_ball_model(path: Path | str) -> BallModel:
    """Read what :meth:`BallModel.save` wrote; BallModelFileError: it is no model."""
    path = Path(path)
    names = ("centres", "radii")
    header, arrays = read_npz(
        path, BallModelFileError, "a ball model", names, ("voxels", "distances")
    )
    try:
        if not isinstance(header, dict) or header.get("kind") != _KIND:
            raise ValueError("it is of another kind")
        grid = None
        if "metric" in header:
            grid = _grid(header, arrays["voxels"], arrays["distances"])
        notes = tuple(str(note) for note in header.get("notes", ()))
        model = BallModel(arrays["centres"], arrays["radii"], grid, notes)
        if grid is not None and len(grid.distances) != len(model):
            raise ValueError("its grid has another number of balls")
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as fault:
        raise BallModelFileError(f"not a ball model: {fault}", path) from fault
    return model


def _grid(
    header: dict[str, Any], voxels: np.ndarray, distances: np.ndarray
) -> BallGrid:
    shape = tuple(int(n) for n in header["shape"])
    if len(shape) != 3 or min(shape) < 3:
        raise ValueError(f"its grid {shape} makes no sense")
    VOXELS.check("its grid", *shape)
    metric = str(header["metric"])
    if metric != EUCLIDEAN:
        find_mask(metric, 3)
    if voxels.dtype.kind not in "iu" or distances.dtype.kind not in "iu":
        raise ValueError("voxels and distances are whole numbers")
    if voxels.shape != (len(distances), 3) or distances.ndim != 1:
        raise ValueError("voxels and distances do not fit")
    if len(voxels) and (voxels.min() < 0 or (voxels.max(axis=0) >= shape).any()):
        raise ValueError("a ball lies outside its grid")
    if len(distances) and not 0 < int(distances.min()) <= int(distances.max()) < FAR:
        raise ValueError("a distance is out of its range")
    origin = np.array(header["origin"], dtype=float)
    spacing = float(header["spacing"])
    if origin.shape != (3,) or not np.isfinite(origin).all() or not spacing > 0:
        raise ValueError("its place or spacing makes no sense")
    whole = voxels.astype(np.int64), distances.astype(np.int64)
    return BallGrid(*whole, metric, (shape[0], shape[1], shape[2]), spacing, origin)


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
    nx, ny, nz = volume.inside.shape
    where = (nx, ny, nz), volume.spacing, volume.origin
    grid = BallGrid(voxels, distances.astype(np.int64), metric, *where)
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


def inscribe(
    model: BallModel, mesh: trimesh.Trimesh, smallest: float = 3e-4
) -> BallModel:
    """The balls of a model, each as large as a closed mesh around it has room for [m].

    Those below a smallest radius are left out [m]; AnatomyError: no ball is left.
    """
    from scipy.spatial import cKDTree

    # Points of the mesh, four a side of each face.
    a, b, c = np.moveaxis(np.asarray(mesh.triangles, dtype=float), 1, 0)
    shares = np.array([(i, j) for i in range(5) for j in range(5 - i)], dtype=float) / 4
    points = np.concatenate([a + u * (b - a) + v * (c - a) for u, v in shares])
    radii = cKDTree(points).query(model.centres)[0]
    kept = radii >= smallest
    if not kept.any():
        raise AnatomyError("the mesh has no room for a ball: take a smaller spacing")
    note = f"{np.count_nonzero(kept)} balls that touch the mesh from inside"
    return BallModel(model.centres[kept], radii[kept], None, (*model.notes, note))
