# SPDX-License-Identifier: Apache-2.0
"""Distances to a body of swept parts that blend along the edges of a graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel

OFFSET, FRONT, OUT, POWER = 0, 2, 4, 6
"""Columns of a table: centre (2), front and back, outer and inner radius, power."""
_APART = 0.06
"""Distance from a part beyond which it need not be exact [m]."""
_FAR = 8.0
"""Widths of a blend beyond which the weaker part is not felt."""


class Sweeps(NamedTuple):
    """Parts of a body as arrays.

    Attributes:
        frames: directions to the front, outwards and along, origin (n, 12) [m].
        spans: first and last station along the axis, how far the rounded ends go beyond
            them, how far a part goes from its axis or its ends (n, 5) [m].
        tables: sections at even stations (n, k, 7) [m].
        planes: normals and offsets of half-spaces that hold a part (n, 2, 4).
        bumps: part, centre, deviations along x, y, z, height (b, 8) [m].
        edges: pairs of parts that blend (e, 2).
        widths: of these blends (e,) [m].
    """

    frames: np.ndarray
    spans: np.ndarray
    tables: np.ndarray
    planes: np.ndarray
    bumps: np.ndarray
    edges: np.ndarray
    widths: np.ndarray


@kernel
def section_distance(a, b, c, radii, n):
    """About the distance to where the power sum of a / ra, b / rb, c / rc is one."""
    ra, rb, rc = radii
    a, b, c = abs(a) / ra, abs(b) / rb, abs(c) / rc
    largest = max(a, b, c)
    if largest < 1e-3:
        return -min(ra, rb)
    a, b, c = a / largest, b / largest, c / largest
    if n == 2.0:
        u, v, w = a, b, c
    else:
        u = a ** (n - 1.0)
        v = b ** (n - 1.0)
        w = c ** (n - 1.0)
    power = a * u + b * v + c * w
    level = largest * (np.sqrt(power) if n == 2.0 else power ** (1.0 / n))
    u, v, w = u / ra, v / rb, w / rc
    slope = np.sqrt(u * u + v * v + w * w) * (level / largest) / power
    return (level - 1.0) / slope


@kernel
def part_distances(sweeps, x, y, z, out):
    """About the distances from a point to all parts, negative inside (n,) [m].

    Far from a part it is that to its widest section, all along it.
    """
    frames, spans, tables = sweeps.frames, sweeps.spans, sweeps.tables
    planes, bumps = sweeps.planes, sweeps.bumps
    stations = tables.shape[1]
    for part in range(len(out)):
        u, v, w = x - frames[part, 9], y - frames[part, 10], z - frames[part, 11]
        c = frames[part, 6] * u + frames[part, 7] * v + frames[part, 8] * w
        first, last = spans[part, 0], spans[part, 1]
        s = min(max(c, first), last)
        c -= s
        a = frames[part, 0] * u + frames[part, 1] * v + frames[part, 2] * w
        b = frames[part, 3] * u + frames[part, 4] * v + frames[part, 5] * w
        beyond = max(abs(a), abs(b), abs(c)) - spans[part, 4]
        if beyond > _APART:
            out[part] = beyond
            continue
        place = (s - first) / (last - first) * (stations - 1)
        k = min(int(place), stations - 2)
        after = place - k
        own = 1.0 - after
        a -= own * tables[part, k, OFFSET] + after * tables[part, k + 1, OFFSET]
        b -= own * tables[part, k, OFFSET + 1] + after * tables[part, k + 1, OFFSET + 1]
        i = FRONT if a > 0 else FRONT + 1
        ra = own * tables[part, k, i] + after * tables[part, k + 1, i]
        i = OUT if b > 0 else OUT + 1
        rb = own * tables[part, k, i] + after * tables[part, k + 1, i]
        rc = spans[part, 2] if c < 0 else spans[part, 3]
        n = own * tables[part, k, POWER] + after * tables[part, k + 1, POWER]
        out[part] = section_distance(a, b, c, (ra, rb, rc), n)
        for i in range(planes.shape[1]):
            height = planes[part, i, 0] * x + planes[part, i, 1] * y
            height += planes[part, i, 2] * z - planes[part, i, 3]
            out[part] = max(out[part], height)
    for i in range(len(bumps)):
        square = ((x - bumps[i, 1]) / bumps[i, 4]) ** 2
        square += ((y - bumps[i, 2]) / bumps[i, 5]) ** 2
        square += ((z - bumps[i, 3]) / bumps[i, 6]) ** 2
        if square < 20.0:
            out[int(bumps[i, 0])] -= bumps[i, 7] * np.exp(-0.5 * square)


@kernel
def blended(sweeps, each):
    """The distance to all parts blended along the graph's edges [m].

    Along an edge the fields exp(-d / w) of two parts are added.
    """
    least = each.min()
    for e in range(len(sweeps.widths)):
        a, b = each[sweeps.edges[e, 0]], each[sweeps.edges[e, 1]]
        w = sweeps.widths[e]
        apart = abs(a - b) / w
        if min(a, b) - w < least and apart < _FAR:
            least = min(least, min(a, b) - w * np.log1p(np.exp(-apart)))
    return least


@kernel
def body_distances(sweeps, points):
    """About the distances from points (m, 3) to the body (m,) [m]."""
    each = np.empty(len(sweeps.frames))
    out = np.empty(len(points))
    for i in range(len(points)):
        part_distances(sweeps, points[i, 0], points[i, 1], points[i, 2], each)
        out[i] = blended(sweeps, each)
    return out


@kernel
def nearest_parts(sweeps, points):
    """The part that each point is deepest in, or nearest to (m,)."""
    each = np.empty(len(sweeps.frames))
    out = np.empty(len(points), dtype=np.int64)
    for i in range(len(points)):
        part_distances(sweeps, points[i, 0], points[i, 1], points[i, 2], each)
        out[i] = np.argmin(each)
    return out
