# SPDX-License-Identifier: Apache-2.0
"""Bones in grey levels: two thresholds, connected parts, edges.

Perez (1994, 4.3): a high threshold seeds the bones and a low one bounds their growth.
Bones that touch come out as one part. Nothing here splits them: a part with a neck is
reported as probably several bones, for somebody who knows anatomy to decide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from humans_sim.anatomy.errors import ImageStackError

_LEVELS = (0.3, 0.4, 0.5, 0.6, 0.7)
"""Depths at which a part is looked at, of its greatest depth."""
_BODY = 0.6
"""Depth of a lobe that counts as a bone of its own, of the greatest depth."""


@dataclass(frozen=True)
class Segmentation:
    """Parts of an image.

    Attributes:
        labels: of the pixels or voxels, 0 outside, parts from 1 on by falling size.
        sizes: number of pixels or voxels of each part.
        merged: parts that are probably several bones which touch, with how many lobes.
    """

    labels: np.ndarray
    sizes: tuple[int, ...]
    merged: dict[int, int]

    @property
    def count(self) -> int:
        """Number of parts."""
        return len(self.sizes)


def hysteresis(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """What is above a low threshold and connected to something above a high one.

    Args:
        values: grey levels, of two or three axes.
        low: threshold of growth.
        high: threshold of seeds.

    Raises:
        ImageStackError: the thresholds are no numbers, or in the wrong order.
    """
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ImageStackError(
            f"the low threshold {low} must not be above the high one {high}"
        )
    labels, count = ndimage.label(values >= low)
    seeded = np.zeros(count + 1, dtype=bool)
    seeded[labels[values >= high]] = True
    seeded[0] = False
    return np.asarray(seeded[labels])


def segment(
    values: np.ndarray, low: float, high: float, least: int = 1
) -> Segmentation:
    """The parts that two thresholds leave.

    Args:
        values: grey levels (rows, columns) or (slices, rows, columns).
        low: threshold of growth.
        high: threshold of seeds.
        least: smallest number of pixels of a part; smaller ones are noise.

    Raises:
        ImageStackError: the thresholds are in the wrong order, or nothing is left.
    """
    labels, count = ndimage.label(hysteresis(np.asarray(values), low, high))
    sizes = np.bincount(labels.ravel(), minlength=count + 1)
    sizes[0] = 0
    order = [int(n) for n in np.argsort(sizes)[::-1] if sizes[n] >= max(least, 1)]
    if not order:
        raise ImageStackError(
            f"no part of {least} pixels is above {low:g} with a seed above {high:g}"
        )
    names = np.zeros(count + 1, dtype=np.int32)
    names[order] = np.arange(1, len(order) + 1)
    labels = names[labels]
    merged = {}
    for name, box in enumerate(ndimage.find_objects(labels), 1):
        lobes = count_lobes(labels[box] == name)
        if lobes > 1:
            merged[name] = lobes
    return Segmentation(labels, tuple(int(sizes[n]) for n in order), merged)


def count_lobes(part: np.ndarray) -> int:
    """How many thick lobes a part has that only necks join.

    A neck is thinner than what it joins: below some depth the part falls apart, and a
    piece that is deep itself is a lobe.
    """
    depth = ndimage.distance_transform_edt(np.pad(part, 1))
    deepest = float(depth.max())
    most = 1
    for level in _LEVELS:
        pieces, count = ndimage.label(depth > level * deepest)
        if count > 1:
            peaks = ndimage.maximum(depth, pieces, np.arange(1, count + 1))
            lobes = np.count_nonzero(peaks >= max(_BODY, level + 0.15) * deepest)
            most = max(most, int(lobes))
    return most


def deriche_gradient(values: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    """Gradient of an image by Deriche's recursive filters.

    Args:
        values: grey levels (rows, columns).
        alpha: width of the filter, in 1 / pixel; smaller ones smooth more.

    Returns:
        the gradient along rows and columns (2, rows, columns) [1 / pixel].
    """
    if not alpha > 0:
        raise ImageStackError(f"alpha must be positive, not {alpha}")
    image = np.asarray(values, dtype=float)
    e = np.exp(-alpha)
    gradients = []
    for axis in (0, 1):
        smooth = _smoothed(image, e, alpha, 1 - axis)
        # The derivative of the same kernel is odd: one side minus the other.
        gain = (1 - e) ** 3 / (2 * (1 + e) * e)
        poles = [1.0, -2 * e, e * e]
        before = _causal([0.0, e * gain], poles, smooth, axis)
        after = np.flip(
            _causal([0.0, e * gain], poles, np.flip(smooth, axis), axis), axis
        )
        gradients.append(after - before)
    return np.array(gradients)


def edges(
    values: np.ndarray, low: float, high: float, alpha: float = 1.0
) -> np.ndarray:
    """Edges of an image: ridges of the gradient, kept by two thresholds.

    Args:
        values: grey levels (rows, columns).
        low: gradient that resumes an edge [1 / pixel].
        high: gradient that begins one [1 / pixel].
        alpha: of the filter.

    Returns:
        which pixels are edges.
    """
    down, right = deriche_gradient(values, alpha)
    size = np.hypot(down, right)
    safe = np.where(size > 0, size, 1.0)
    rows, columns = np.indices(size.shape, dtype=float)
    ridge = size > 0
    for sign in (1.0, -1.0):
        place = [rows + sign * down / safe, columns + sign * right / safe]
        ridge &= size >= ndimage.map_coordinates(size, place, order=1, mode="nearest")
    kept = np.where(ridge, size, 0.0)
    labels, count = ndimage.label(kept >= low, np.ones((3, 3)))
    strong = np.zeros(count + 1, dtype=bool)
    strong[labels[kept >= high]] = True
    strong[0] = False
    return np.asarray(strong[labels])


def _smoothed(image: np.ndarray, e: float, alpha: float, axis: int) -> np.ndarray:
    """Deriche's smoothing, k (alpha |x| + 1) exp(-alpha |x|), of unit sum."""
    k = (1 - e) ** 2 / (1 + 2 * alpha * e - e * e)
    poles = [1.0, -2 * e, e * e]
    before = _causal([k, k * e * (alpha - 1)], poles, image, axis)
    flipped = np.flip(image, axis)
    after = _causal([0.0, k * e * (alpha + 1), -k * e * e], poles, flipped, axis)
    return np.asarray(before + np.flip(after, axis))


def _causal(
    forward: list[float], poles: list[float], image: np.ndarray, axis: int
) -> np.ndarray:
    """A recursive filter that begins as if the first value had always been there."""
    from scipy.signal import lfilter  # slow to load

    first = np.take(image, [0], axis)
    steady = sum(forward) / sum(poles)
    shifted = lfilter(forward, poles, image - first, axis)
    return np.asarray(shifted + steady * first)
