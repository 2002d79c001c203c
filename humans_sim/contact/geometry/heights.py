# SPDX-License-Identifier: Apache-2.0
"""How high a ground is: where a plumb line from above first meets one of its solids."""

from __future__ import annotations

import numpy as np

from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.geometry.solids import Ball, Box, HalfSpace
from humans_sim.contact.geometry.terrain import TriangleMesh

_BORDER = 1e-12
"""Share of a triangle by which a line on its border counts as inside."""
_NOTHING = -np.inf


def ground_heights(ground: Ground, points: np.ndarray) -> np.ndarray:
    """Height of the ground's surface at places, seen from above (n,) [m].

    Args:
        ground: its solids; what lies under another one is not seen.
        points: x and y (n, 2) [m].

    Returns:
        NaN where nothing is met.
    """
    places = np.atleast_2d(np.asarray(points, dtype=float))
    highest = np.full(len(places), _NOTHING)
    for solid in ground.solids:
        if isinstance(solid, HalfSpace):
            here = _plane(solid, places)
        elif isinstance(solid, Box):
            here = _box(solid, places)
        elif isinstance(solid, Ball):
            here = _ball(solid, places)
        elif isinstance(solid, TriangleMesh):
            here = _mesh(solid, places)
        else:  # a further contact of a mesh that is looked at already
            continue
        highest = np.maximum(highest, here)
    return np.where(np.isfinite(highest), highest, np.nan)


def _plane(solid: HalfSpace, places: np.ndarray) -> np.ndarray:
    normal, point = np.asarray(solid.normal, float), np.asarray(solid.point, float)
    if normal[2] <= 0.0:  # it has no upper side
        return np.full(len(places), _NOTHING)
    return point[2] - (places - point[:2]) @ normal[:2] / normal[2]


def _box(solid: Box, places: np.ndarray) -> np.ndarray:
    """The upper end of the line's part between the three pairs of faces."""
    turn = np.eye(3) if solid.rotation is None else np.asarray(solid.rotation, float)
    start = np.column_stack([places, np.zeros(len(places))]) - solid.centre
    along, half = turn[2], 0.5 * np.asarray(solid.size, float)
    low, high = np.full(len(places), -np.inf), np.full(len(places), np.inf)
    for k, at in enumerate((start @ turn).T):
        if abs(along[k]) < _BORDER:
            high[np.abs(at) > half[k]] = -np.inf
            continue
        ends = (np.outer((-1.0, 1.0), half[k] * np.ones_like(at)) - at) / along[k]
        low, high = (
            np.maximum(low, ends.min(axis=0)),
            np.minimum(high, ends.max(axis=0)),
        )
    return np.where(low <= high, high, _NOTHING)


def _ball(solid: Ball, places: np.ndarray) -> np.ndarray:
    away = places - np.asarray(solid.centre[:2], float)
    square = solid.radius**2 - (away**2).sum(axis=1)
    top = solid.centre[2] + np.sqrt(np.maximum(square, 0.0))
    return np.where(square >= 0.0, top, _NOTHING)


def _mesh(solid: TriangleMesh, places: np.ndarray) -> np.ndarray:
    """The highest triangle that each line crosses."""
    corners = solid.vertices[solid.faces]
    flat = corners[:, :, :2]
    low, high = places.min(axis=0), places.max(axis=0)
    near = (flat.max(axis=1) >= low).all(axis=1) & (flat.min(axis=1) <= high).all(
        axis=1
    )
    edges = corners[near][:, 1:] - corners[near][:, :1]
    first = corners[near][:, 0]
    area = edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]
    highest = np.full(len(places), _NOTHING)
    for (one, other), origin, size in zip(edges, first, area, strict=True):
        if size == 0.0:  # upright
            continue
        away = places - origin[:2]
        u = (away[:, 0] * other[1] - away[:, 1] * other[0]) / size
        v = (away[:, 1] * one[0] - away[:, 0] * one[1]) / size
        inside = (u >= -_BORDER) & (v >= -_BORDER) & (u + v <= 1.0 + _BORDER)
        height = origin[2] + u * one[2] + v * other[2]
        highest = np.where(inside, np.maximum(highest, height), highest)
    return highest
