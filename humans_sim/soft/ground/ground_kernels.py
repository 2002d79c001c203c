# SPDX-License-Identifier: Apache-2.0
"""Points on a screen of pins: which pins they press on, how deep they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel


class PinGrid(NamedTuple):
    """A screen under a body, and the contact between them.

    Attributes:
        x: of the first pin [m].
        y: the same.
        spacing: of pins [m].
        patch: half the width of what a point presses on, in spacings.
        period: of a sample [s].
        mass: of a pin [kg].
        stiffness: of a contact [N/m].
        viscosity: of a contact [N s/m].
    """

    x: float
    y: float
    spacing: float
    patch: float
    period: float
    mass: float
    stiffness: float
    viscosity: float


@kernel
def shares(place, width, first, share):
    """Pins along one axis that a point presses on: the first, and the share of each.

    Args:
        place: of the point, in spacings from the first pin.
        width: half that of the patch, in spacings.
        first: is set to the number of the first pin (1,).
        share: is set (m,).
    """
    first[0] = int(np.ceil(place - width - 1e-9))
    total = 0.0
    for a in range(share.shape[0]):
        share[a] = max(0.0, 1.0 - abs(first[0] + a - place) / width)
        total += share[a]
    for a in range(share.shape[0]):
        share[a] /= total


@kernel
def patches(grid, places):
    """Pins that points press on: first ones (k, 2, 1), shares on both axes (k, 2, m).

    Args:
        grid: fields of a :class:`PinGrid`, as a plain tuple.
        places: of the points (k, 3) [m].
    """
    x, y, spacing, width = grid[0], grid[1], grid[2], grid[3]
    count = places.shape[0]
    size = int(np.floor(2.0 * width + 1e-9)) + 1
    first = np.empty((count, 2, 1), np.int64)
    share = np.empty((count, 2, size))
    for c in range(count):
        shares((places[c, 0] - x) / spacing, width, first[c, 0], share[c, 0])
        shares((places[c, 1] - y) / spacing, width, first[c, 1], share[c, 1])
    return first, share


@kernel
def first_beside(grid, shape, places):
    """The first point that does not lie on the screen with its patch; -1 for none.

    Args:
        grid: fields of a :class:`PinGrid`, as a plain tuple.
        shape: numbers of pins.
        places: of the points (k, 3) [m].
    """
    room = grid[3] - 1.0
    for c in range(places.shape[0]):
        a = (places[c, 0] - grid[0]) / grid[2]
        b = (places[c, 1] - grid[1]) / grid[2]
        inside = room <= a <= shape[0] - 1 - room and room <= b <= shape[1] - 1 - room
        if not inside:
            return c
    return -1


@kernel
def overlap(first, share, c, d):
    """Sum over pins of the products of the shares of two points."""
    product, size = 1.0, share.shape[2]
    for axis in range(2):
        shift = first[c, axis, 0] - first[d, axis, 0]
        if shift >= size or shift <= -size:
            return 0.0
        total = 0.0
        for a in range(max(0, -shift), min(size, size - shift)):
            total += share[c, axis, a] * share[d, axis, a + shift]
        product *= total
    return product


@kernel
def feel(pins, period, first, share, depth):
    """Depths of points below the pins half a sample ago, and how fast those rise.

    Args:
        pins: deviations at the end of a sample, at its beginning, and a sample before,
            with borders (n + 2, m + 2) [m].
        period: of a sample [s].
        first: of :func:`patches`.
        share: the same.
        depth: below pins at rest (k,) [m]; is changed.

    Returns:
        mean rates of the pins under each point in the sample (k,) [m/s].
    """
    after, now, before = pins
    size = share.shape[2]
    rising = np.zeros(depth.shape[0])
    for c in range(depth.shape[0]):
        for a in range(size):
            i = first[c, 0, 0] + a + 1
            for b in range(size):
                w = share[c, 0, a] * share[c, 1, b]
                if w > 0.0:
                    j = first[c, 1, 0] + b + 1
                    depth[c] += 0.5 * w * (now[i, j] + before[i, j])
                    rising[c] += 0.5 * w * (after[i, j] - before[i, j]) / period
    return rising


@kernel
def load_pins(after, first, share, shifts):
    """Move the pins under points down.

    Args:
        after: deviations of the pins, with borders [m]; changed.
        first: pins before the points (k, 2, 1).
        share: of the pins around each point, along both axes (k, 2, n).
        shifts: how far down (k,) [m].

    Returns:
        the first and the last row of pins that moved; the first is larger if none did.
    """
    low, high = after.shape[0], -1
    size = share.shape[2]
    for c in range(shifts.shape[0]):
        if shifts[c] == 0.0:
            continue
        for a in range(size):
            i = first[c, 0, 0] + a + 1
            for b in range(size):
                w = share[c, 0, a] * share[c, 1, b]
                if w > 0.0:
                    after[i, first[c, 1, 0] + b + 1] -= w * shifts[c]
                    low, high = min(low, i), max(high, i)
    return low, high


@kernel
def depths(pins, grid, shape, places, heights, share_of_sample):
    """Of points below the ground between two samples (k,) [m].

    Points beside the screen are below pins at rest.

    Args:
        pins: deviations after the sample, at its beginning, and a sample before, with
            borders [m].
        grid: fields of a :class:`PinGrid`, as a plain tuple.
        shape: numbers of pins.
        places: of the points (k, 3) [m].
        heights: over pins at rest (k,) [m].
        share_of_sample: that has passed, 0 to 1.
    """
    after, now, before = pins
    deep = -heights
    for c in range(places.shape[0]):
        if first_beside(grid, shape, places[c : c + 1]) == 0:
            continue
        first, share = patches(grid, places[c : c + 1])
        for a in range(share.shape[2]):
            i = first[0, 0, 0] + a + 1
            for b in range(share.shape[2]):
                w = share[0, 0, a] * share[0, 1, b]
                if w > 0.0:
                    j = first[0, 1, 0] + b + 1
                    start = 0.5 * (now[i, j] + before[i, j])
                    end = 0.5 * (after[i, j] + now[i, j])
                    deep[c] += w * (start + share_of_sample * (end - start))
    return deep
