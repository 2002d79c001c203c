# SPDX-License-Identifier: Apache-2.0
"""Convex polygons in a plane: hulls of points, and polygons as half-planes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_FLAT = 1e-12
"""Twice the area of a corner that is none [m^2]."""


class HalfPlanes(NamedTuple):
    """The points p with ``normals @ p <= bounds``.

    Attributes:
        normals: outward, of unit length (n, 2).
        bounds: (n,) [m].
    """

    normals: np.ndarray
    bounds: np.ndarray

    def depth(self, point: np.ndarray) -> float:
        """Distance of a point to the nearest edge, negative outside [m]."""
        return float((self.bounds - self.normals @ point).min())


def convex_hull(points: np.ndarray) -> np.ndarray:
    """Corners of the convex hull of points (n, 2), counter-clockwise (m, 2).

    Andrew's monotone chain.
    """
    ordered = sorted(map(tuple, points.tolist()))

    def half(places: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
        chain: list[tuple[float, ...]] = []
        for p in places:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2], chain[-1]
                if (bx - ax) * (p[1] - ay) - (by - ay) * (p[0] - ax) > _FLAT:
                    break
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return np.array(half(ordered) + half(ordered[::-1]))


def inside(corners: np.ndarray, margin: float = 0.0) -> HalfPlanes:
    """Half-planes of a convex polygon, each moved inwards by a margin [m]."""
    count = len(corners)
    normals = np.empty((count, 2))
    normals[:-1, 0] = corners[1:, 1] - corners[:-1, 1]
    normals[:-1, 1] = corners[:-1, 0] - corners[1:, 0]
    normals[-1, 0] = corners[0, 1] - corners[-1, 1]
    normals[-1, 1] = corners[-1, 0] - corners[0, 0]
    normals /= np.hypot(normals[:, 0], normals[:, 1])[:, None]
    return HalfPlanes(normals, (normals * corners).sum(axis=1) - margin)
