# SPDX-License-Identifier: Apache-2.0
"""Volumes of shapes given by a formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.volumes.volume import Volume, check_spacing
from humans_sim.core.arrays import finite_array
from humans_sim.core.budget import VOXELS

Field = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Of x, y and z [m]: negative inside."""


def of_field(
    field: Field, low: Sequence[float], high: Sequence[float], spacing: float
) -> Volume:
    """The volume in which a function of x, y and z is negative.

    It is evaluated a plane of voxels at a time, so a large grid needs no more memory
    than its truth values.

    Args:
        field: takes coordinates that broadcast [m].
        low: corner of the box that is looked at (3,) [m].
        high: opposite corner (3,) [m].
        spacing: edge of a voxel [m].

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
    """A solid ellipsoid along the axes; its surface belongs to it.

    Args:
        semi_axes: (3,) [m].
        spacing: edge of a voxel [m].
        centre: (3,) [m].
    """
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


def of_rough_ellipsoid(
    semi_axes: Sequence[float], spacing: float, roughness: float, seed: int = 0
) -> Volume:
    """An ellipsoid with a noisy surface, as segmented images give it.

    Args:
        semi_axes: (3,) [m].
        spacing: edge of a voxel [m].
        roughness: standard deviation of the surface [m].
        seed: of the noise.
    """
    a, b, c = _positive(semi_axes)
    reach = 4 * roughness
    noise = np.random.default_rng(seed)

    def field(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        radius = np.sqrt((x / a) ** 2 + (y / b) ** 2 + (z / c) ** 2)
        depth = (radius - 1) * min(a, b, c)
        return np.asarray(depth + roughness * noise.standard_normal(radius.shape))

    high = (a + reach, b + reach, c + reach)
    volume = of_field(field, [-x for x in high], high, spacing)
    from scipy import ndimage

    labels, count = ndimage.label(volume.inside)
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    solid = ndimage.binary_fill_holes(labels == sizes.argmax()) if count else labels
    return Volume.padded(np.asarray(solid), spacing, volume.origin)


def _positive(lengths: Sequence[float]) -> np.ndarray:
    values = finite_array(lengths, (3,), "lengths", AnatomyError)
    if not np.all(values > 0):
        raise AnatomyError(f"lengths must be positive, not {values}")
    return values
