# SPDX-License-Identifier: Apache-2.0
"""Rough bones, and how alike two volumes are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import ndimage

from humans_sim.anatomy import Volume, of_field


def dice(first: Volume, second: Volume) -> float:
    """Dice's coefficient of two volumes of one spacing: 1 where they are equal.

    They must be on one grid.
    """
    shift = (second.origin - first.origin) / first.spacing
    steps = np.rint(shift).astype(int)
    if first.spacing != second.spacing or np.abs(shift - steps).max() > 1e-6:
        raise ValueError("only volumes on one grid can be compared")
    places = second.indices() + steps
    within = ((places >= 0) & (places < first.inside.shape)).all(axis=1)
    both = np.count_nonzero(first.inside[tuple(places[within].T)])
    return 2 * both / (first.count + second.count)


def of_rough_ellipsoid(
    semi_axes: Sequence[float], spacing: float, roughness: float, seed: int = 0
) -> Volume:
    """An ellipsoid with a noisy surface, as segmented images give it [m].

    The roughness is the standard deviation of the surface.
    """
    a, b, c = semi_axes
    reach = 4 * roughness
    noise = np.random.default_rng(seed)

    def field(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        radius = np.sqrt((x / a) ** 2 + (y / b) ** 2 + (z / c) ** 2)
        depth = (radius - 1) * min(a, b, c)
        return np.asarray(depth + roughness * noise.standard_normal(radius.shape))

    high = (a + reach, b + reach, c + reach)
    volume = of_field(field, [-x for x in high], high, spacing)
    labels, count = ndimage.label(volume.inside)
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    solid = ndimage.binary_fill_holes(labels == sizes.argmax()) if count else labels
    return Volume.padded(np.asarray(solid), spacing, volume.origin)


def surface_count(volume: Volume) -> int:
    """Voxels inside with an outside neighbour across a face."""
    core = volume.inside.copy()
    for axis in range(3):
        for step in (1, -1):
            core &= np.roll(volume.inside, step, axis)
    return volume.count - int(np.count_nonzero(core))
