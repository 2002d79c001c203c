# SPDX-License-Identifier: Apache-2.0
"""The indicator volume of a bone: cubic voxels, each inside or outside.

Voxel (i, j, k) has its centre at ``origin + spacing (i, j, k)``. The border of the
array is always outside, so that distances to the outside exist for every voxel inside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.anatomy.errors import AnatomyError
from humans_sim.core.arrays import finite_array


@dataclass(frozen=True)
class Volume:
    """Which voxels of a grid lie inside a bone.

    Attributes:
        inside: (nx, ny, nz), of truth values; its border is False.
        spacing: edge of a voxel [m].
        origin: centre of the first voxel (3,) [m].
    """

    inside: np.ndarray
    spacing: float
    origin: np.ndarray

    def __post_init__(self) -> None:
        """Refuse what is no volume.

        Raises:
            AnatomyError: a shape or number makes no sense, the volume is empty, or it
                reaches the border of its grid.
        """
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
        """What the bone takes up [m^3]."""
        return self.count * self.spacing**3

    def indices(self) -> np.ndarray:
        """Voxels inside (n, 3)."""
        return np.argwhere(self.inside)

    def points(self) -> np.ndarray:
        """Centres of the voxels inside (n, 3) [m]."""
        return self.origin + self.spacing * self.indices()

    def surface_count(self) -> int:
        """Voxels inside with an outside neighbour across a face."""
        core = self.inside.copy()
        for axis in range(3):
            for step in (1, -1):
                core &= np.roll(self.inside, step, axis)
        return self.count - int(np.count_nonzero(core))


def check_spacing(spacing: float) -> None:
    """Refuse edges of voxels that no image of a bone has.

    Raises:
        AnatomyError: it is not positive, or above 1 cm: then millimetres were given.
    """
    if not (np.isfinite(spacing) and spacing > 0):
        raise AnatomyError(f"the spacing must be positive, not {spacing} m")
    if spacing > 0.01:
        raise AnatomyError(
            f"a spacing of {spacing:g} m is no voxel of a bone: give metres "
            f"({spacing:g} mm are {spacing / 1000:g})"
        )


def dice(first: Volume, second: Volume) -> float:
    """Dice's coefficient of two volumes of one spacing: 1 where they are equal.

    Raises:
        AnatomyError: their voxels differ in size, or lie beside each other.
    """
    shift = (second.origin - first.origin) / first.spacing
    steps = np.rint(shift).astype(int)
    if first.spacing != second.spacing or np.abs(shift - steps).max() > 1e-6:
        raise AnatomyError("only volumes on one grid can be compared")
    places = second.indices() + steps
    within = ((places >= 0) & (places < first.inside.shape)).all(axis=1)
    both = np.count_nonzero(first.inside[tuple(places[within].T)])
    return 2 * both / (first.count + second.count)


def _bounds(inside: np.ndarray) -> tuple[slice, slice, slice]:
    """The least box around the voxels inside."""
    parts = []
    for axis in range(3):
        others = tuple(a for a in range(3) if a != axis)
        hit = np.flatnonzero(inside.any(axis=others))
        parts.append(slice(int(hit[0]), int(hit[-1]) + 1))
    return parts[0], parts[1], parts[2]
