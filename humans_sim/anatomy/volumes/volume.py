# SPDX-License-Identifier: Apache-2.0
"""The indicator volume of a bone: cubic voxels, each inside or outside.

Voxel (i, j, k) has its centre at ``origin + spacing (i, j, k)``. The border of the
array is always outside, so that distances to the outside exist for every voxel inside.

Volumes are made of shapes given by a formula and of closed meshes (a compiled scan of
triangles along columns of voxels).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from humans_sim.anatomy.errors import AnatomyError, BoneMeshError
from humans_sim.core.arrays import finite_array
from humans_sim.core.budget import VOXELS
from humans_sim.core.kernels import kernel

if TYPE_CHECKING:
    import trimesh


@dataclass(frozen=True)
class Volume:
    """Which voxels of a grid (nx, ny, nz) lie inside a bone; none of its border does.

    The spacing is the edge of a voxel [m], the origin the centre of the first (3,) [m].
    """

    inside: np.ndarray
    spacing: float
    origin: np.ndarray

    def __post_init__(self) -> None:
        inside = np.ascontiguousarray(self.inside)
        if inside.ndim != 3 or min(inside.shape, default=0) < 3:
            raise AnatomyError(
                f"a volume has 3 axes of 3 voxels or more, not {inside.shape}"
            )
        if inside.dtype != np.bool_:
            raise AnatomyError(f"voxels are truth values, not {inside.dtype}")
        check_spacing(self.spacing)
        origin = finite_array(self.origin, (3,), "origin of a volume", AnatomyError)
        if not inside.any():
            raise AnatomyError("the volume is empty: no voxel lies inside")
        for axis in range(3):
            if inside.take(0, axis).any() or inside.take(-1, axis).any():
                raise AnatomyError(
                    f"the volume reaches the border of its grid along axis {axis}: "
                    "leave a voxel of margin (Volume.padded does it)"
                )
        object.__setattr__(self, "inside", inside)
        object.__setattr__(self, "origin", origin.copy())

    @classmethod
    def padded(cls, inside: np.ndarray, spacing: float, origin: np.ndarray) -> Volume:
        """A volume of voxels that may touch the border: cut out, with a margin."""
        inside = np.asarray(inside, dtype=bool)
        if inside.ndim != 3 or not inside.any():
            raise AnatomyError("the volume is empty: no voxel lies inside")
        box = _bounds(inside)
        cut = np.pad(inside[box], 1)
        low = np.array([part.start for part in box]) - 1
        return cls(cut, spacing, np.asarray(origin, dtype=float) + spacing * low)

    @property
    def count(self) -> int:
        """Number of voxels inside."""
        return int(np.count_nonzero(self.inside))

    @property
    def size(self) -> float:
        """The volume of the bone [m^3]."""
        return self.count * self.spacing**3

    def indices(self) -> np.ndarray:
        """Voxels inside (n, 3)."""
        return np.argwhere(self.inside)

    def points(self) -> np.ndarray:
        """Centres of the voxels inside (n, 3) [m]."""
        return self.origin + self.spacing * self.indices()


def check_spacing(spacing: float) -> None:
    """Refuse edges of voxels that no image of a bone has: millimetres were given."""
    if not (np.isfinite(spacing) and spacing > 0):
        raise AnatomyError(f"the spacing must be positive, not {spacing} m")
    if spacing > 0.01:
        raise AnatomyError(
            f"a spacing of {spacing:g} m is no voxel of a bone: give metres "
            f"({spacing:g} mm are {spacing / 1000:g})"
        )


def _bounds(inside: np.ndarray) -> tuple[slice, slice, slice]:
    """The least box around the voxels inside."""
    parts = []
    for axis in range(3):
        others = tuple(a for a in range(3) if a != axis)
        hit = np.flatnonzero(inside.any(axis=others))
        parts.append(slice(int(hit[0]), int(hit[-1]) + 1))
    return parts[0], parts[1], parts[2]


Field = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Of x, y and z [m]: negative inside."""


def of_field(
    field: Field, low: Sequence[float], high: Sequence[float], spacing: float
) -> Volume:
    """The volume in which a function of x, y and z is negative.

    It is evaluated a plane of voxels at a time, so a large grid needs no more memory
    than its truth values; the field takes coordinates that broadcast, between two
    corners of a box (3,) [m].

    Raises:
        AnatomyError: the box is empty or too fine, or nothing in it is negative.
    """
    check_spacing(spacing)
    first = finite_array(low, (3,), "low corner", AnatomyError)
    last = finite_array(high, (3,), "high corner", AnatomyError)
    if not np.all(last > first):
        raise AnatomyError(f"the box from {first} to {last} is empty")
    VOXELS.check("a shape", *np.ceil((last - first) / spacing + 2), error=AnatomyError)
    x, y, z = (
        np.arange(math.floor(a / spacing), math.ceil(b / spacing) + 1) * spacing
        for a, b in zip(first, last, strict=True)
    )
    inside = np.empty((len(x), len(y), len(z)), dtype=bool)
    for i, place in enumerate(x):
        inside[i] = field(place, y[:, None], z[None, :]) < 0
    return Volume.padded(inside, spacing, np.array([x[0], y[0], z[0]]))


def of_ellipsoid(
    semi_axes: Sequence[float],
    spacing: float,
    centre: Sequence[float] = (0.0, 0.0, 0.0),
) -> Volume:
    """A solid ellipsoid along the axes; its surface belongs to it [m]."""
    a, b, c = _positive(semi_axes)
    u, v, w = finite_array(centre, (3,), "centre", AnatomyError)
    reach = 1 + 1e-12  # voxels on the surface are inside, whatever the rounding

    def field(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        value = ((x - u) / a) ** 2 + ((y - v) / b) ** 2 + ((z - w) / c) ** 2 - reach
        return np.asarray(value)

    low, high = (u - a, v - b, w - c), (u + a, v + b, w + c)
    return of_field(field, low, high, spacing)


def of_ball(radius: float, spacing: float) -> Volume:
    """A solid ball about the origin."""
    return of_ellipsoid((radius, radius, radius), spacing)


def of_box(size: Sequence[float], spacing: float) -> Volume:
    """A solid box about the origin, its faces halfway between voxels where they fit."""
    half = _positive(size) / 2
    check_spacing(spacing)
    sides = np.maximum(np.rint(2 * half / spacing), 1)
    VOXELS.check("a box", *sides, error=AnatomyError)
    counts = sides.astype(int)
    origin = -spacing * (counts - 1) / 2
    return Volume.padded(np.ones(counts, dtype=bool), spacing, origin)


def _positive(lengths: Sequence[float]) -> np.ndarray:
    values = finite_array(lengths, (3,), "lengths", AnatomyError)
    if not np.all(values > 0):
        raise AnatomyError(f"lengths must be positive, not {values}")
    return values


@kernel
def count_windings(triangles, low, spacing, windings):
    """Add to each column where the surface is crossed, and in which sense.

    Every column (i, j) is the line through the centres of its voxels, along z. Where a
    triangle crosses it, the first voxel beyond gets +1 or -1; the running sum along z
    is the winding number. Of two triangles with a common edge exactly one has the line,
    also where it meets the edge: signs are computed with the edge's ends in one order.

    Args:
        triangles: corners (n, 3, 3).
        low: centre of the first voxel (3,).
        spacing: edge of a voxel.
        windings: (nx, ny, nz) of small integers, zero; changed.
    """
    nx, ny, nz = windings.shape
    for n in range(len(triangles)):
        a, b, c = triangles[n, 0], triangles[n, 1], triangles[n, 2]
        first = max(math.ceil((min(a[0], b[0], c[0]) - low[0]) / spacing), 0)
        last = min(math.floor((max(a[0], b[0], c[0]) - low[0]) / spacing), nx - 1)
        left = max(math.ceil((min(a[1], b[1], c[1]) - low[1]) / spacing), 0)
        right = min(math.floor((max(a[1], b[1], c[1]) - low[1]) / spacing), ny - 1)
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        bottom, top = min(a[2], b[2], c[2]), max(a[2], b[2], c[2])
        for i in range(first, last + 1):
            x = low[0] + spacing * i
            for j in range(left, right + 1):
                y = low[1] + spacing * j
                side = _left_of(a, b, x, y)
                if _left_of(b, c, x, y) != side or _left_of(c, a, x, y) != side:
                    continue
                z = bottom
                if area != 0.0:
                    u = (x - a[0]) * (c[1] - a[1]) - (y - a[1]) * (c[0] - a[0])
                    v = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
                    z = a[2] + (u * (b[2] - a[2]) + v * (c[2] - a[2])) / area
                    z = min(max(z, bottom), top)
                k = max(math.ceil((z - low[2]) / spacing), 0)
                if k < nz:
                    windings[i, j, k] += -1 if side else 1


@kernel
def _left_of(start, end, x, y):
    """Whether a point lies left of an edge; the same for both of its triangles."""
    turned = start[0] > end[0] or (start[0] == end[0] and start[1] > end[1])
    a, b = (end, start) if turned else (start, end)
    value = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
    return (value >= 0.0) != turned


@kernel
def fill_columns(windings, inside):
    """Sum along z: where the winding number is not zero lies the inside."""
    nx, ny, nz = windings.shape
    for i in range(nx):
        for j in range(ny):
            total = 0
            for k in range(nz):
                total += windings[i, j, k]
                inside[i, j, k] = total > 0
    return np.count_nonzero(inside)


def voxelise(mesh: trimesh.Trimesh, spacing: float) -> Volume:
    """The voxels whose centres lie inside a closed mesh, its faces turned outwards.

    :func:`~humans_sim.anatomy.volumes.mesh_repair.prepare_mesh` makes it so. Parts that
    overlap count once; closed surfaces turned inwards are hollows.

    Raises:
        AnatomyError: the spacing makes no sense, or is too fine or too coarse.
        BoneMeshError: the mesh is empty or open.
    """
    check_spacing(spacing)
    if len(mesh.faces) == 0:
        raise BoneMeshError("the mesh is empty: it has no faces")
    if not mesh.is_watertight:
        raise BoneMeshError(
            "the mesh is open; prepare_mesh closes small holes and reports others"
        )
    low, high = np.asarray(mesh.bounds, dtype=float)
    VOXELS.check("a mesh", *((high - low) / spacing + 3), error=AnatomyError)
    first = np.floor(low / spacing).astype(int) - 1
    counts = np.ceil(high / spacing).astype(int) + 2 - first
    windings = np.zeros(counts, dtype=np.int8)
    triangles = np.ascontiguousarray(mesh.triangles, dtype=float)
    origin = spacing * first.astype(float)
    count_windings(triangles, origin, float(spacing), windings)
    inside = windings.view(np.bool_)  # the same memory: a large volume is large
    if fill_columns(windings, inside) == 0:
        raise AnatomyError(
            f"no centre of a voxel of {spacing:g} m lies inside the mesh: take a "
            "smaller spacing"
        )
    return Volume.padded(inside, spacing, origin)
