# SPDX-License-Identifier: Apache-2.0
"""How far a ball model is from the mesh it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from humans_sim.anatomy.balls.ball_model import BallModel
from humans_sim.anatomy.balls.cover_kernels import union_distances

if TYPE_CHECKING:
    import trimesh


@dataclass(frozen=True)
class ModelDeviation:
    """Distances of points of a mesh to the surface of the balls.

    Attributes:
        short: greatest distance by which the balls stay below the surface [m].
        beyond: greatest distance by which they come out of it [m].
        mean: signed, positive where they stay below [m].
        rms: [m].
        points: how many were looked at.
    """

    short: float
    beyond: float
    mean: float
    rms: float
    points: int


def surface_error(
    model: BallModel, mesh: trimesh.Trimesh, points: int = 4000, seed: int = 0
) -> ModelDeviation:
    """Compare a ball model with a mesh, at points spread over the mesh's area.

    Args:
        model: the balls.
        mesh: in the same frame [m].
        points: how many are looked at, beside the vertices where these are fewer.
        seed: of their choice.
    """
    places = spread_points(mesh, points, seed)
    distances = union_distances(places, model.centres, model.radii)
    return ModelDeviation(
        float(max(distances.max(), 0.0)),
        float(max(-distances.min(), 0.0)),
        float(distances.mean()),
        float(np.sqrt(np.mean(distances**2))),
        len(places),
    )


def spread_points(mesh: trimesh.Trimesh, count: int, seed: int = 0) -> np.ndarray:
    """Points on a mesh, evenly by area, and its vertices where these are fewer."""
    chance = np.random.default_rng(seed)
    corners = np.asarray(mesh.triangles, dtype=float)
    a, b, c = np.moveaxis(corners, 1, 0)
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    chosen = chance.choice(len(areas), count, p=areas / areas.sum())
    u, v = chance.random((2, count, 1))
    outer = u + v > 1
    u, v = np.where(outer, 1 - u, u), np.where(outer, 1 - v, v)
    places = a[chosen] + u * (b - a)[chosen] + v * (c - a)[chosen]
    if len(mesh.vertices) <= count:
        places = np.vstack([places, mesh.vertices])
    return np.ascontiguousarray(places)
