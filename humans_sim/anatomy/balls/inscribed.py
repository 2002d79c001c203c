# SPDX-License-Identifier: Apache-2.0
"""Balls that touch the mesh they came from, in place of the voxels' surface.

The centres of a coarse grid's medial axis are good; its radii are uncertain by half a
voxel, and bones of such balls catch on each other's steps. With the distance to the
mesh as radius neighbouring balls differ by little: the surface is smooth to some
hundredths of a millimetre.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from humans_sim.anatomy.balls.ball_model import BallModel
from humans_sim.anatomy.errors import AnatomyError

if TYPE_CHECKING:
    import trimesh


def inscribe(
    model: BallModel, mesh: trimesh.Trimesh, smallest: float = 3e-4
) -> BallModel:
    """The balls of a model, each as large as the mesh has room for.

    Args:
        model: with centres inside the mesh.
        mesh: closed, in the same frame [m].
        smallest: radius below which a ball is left out [m].

    Raises:
        AnatomyError: no ball is left.
    """
    from scipy.spatial import cKDTree

    points = _dense_points(mesh)
    radii = cKDTree(points).query(model.centres)[0]
    kept = radii >= smallest
    if not kept.any():
        raise AnatomyError("the mesh has no room for a ball: take a smaller spacing")
    note = f"{np.count_nonzero(kept)} balls that touch the mesh from inside"
    return BallModel(model.centres[kept], radii[kept], None, (*model.notes, note))


def _dense_points(mesh: trimesh.Trimesh) -> np.ndarray:
    """Points of a mesh, four a side of each face."""
    a, b, c = np.moveaxis(np.asarray(mesh.triangles, dtype=float), 1, 0)
    shares = np.array([(i, j) for i in range(5) for j in range(5 - i)], dtype=float) / 4
    points = [a + u * (b - a) + v * (c - a) for u, v in shares]
    return np.concatenate(points)
