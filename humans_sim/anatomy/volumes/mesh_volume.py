# SPDX-License-Identifier: Apache-2.0
"""Volumes of closed meshes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from humans_sim.anatomy.errors import AnatomyError, BoneMeshError
from humans_sim.anatomy.volumes.volume import Volume, check_spacing
from humans_sim.anatomy.volumes.voxel_kernels import count_windings, fill_columns
from humans_sim.core.budget import VOXELS

if TYPE_CHECKING:
    import trimesh


def voxelise(mesh: trimesh.Trimesh, spacing: float) -> Volume:
    """The voxels whose centres lie inside a closed mesh.

    Parts that overlap count once; closed surfaces turned inwards are hollows.

    Args:
        mesh: closed, its faces turned outwards, in metres
            (:func:`~humans_sim.anatomy.volumes.mesh_repair.prepare_mesh` makes it so).
        spacing: edge of a voxel [m].

    Raises:
        AnatomyError: the spacing makes no sense, or is too fine or too coarse.
        BoneMeshError: the mesh is empty or open.
    """
    check_spacing(spacing)
    if len(mesh.faces) == 0:
        raise BoneMeshError("the mesh is empty: it has no faces")
    if not mesh.is_watertight:
        raise BoneMeshError(
            "the mesh is open; prepare_mesh closes small holes and reports others"
        )
    low, high = np.asarray(mesh.bounds, dtype=float)
    VOXELS.check("a mesh", *((high - low) / spacing + 3), error=AnatomyError)
    first = np.floor(low / spacing).astype(int) - 1
    counts = np.ceil(high / spacing).astype(int) + 2 - first
    windings = np.zeros(counts, dtype=np.int8)
    triangles = np.ascontiguousarray(mesh.triangles, dtype=float)
    origin = spacing * first.astype(float)
    count_windings(triangles, origin, float(spacing), windings)
    inside = windings.view(np.bool_)  # the same memory: a large volume is large
    if fill_columns(windings, inside) == 0:
        raise AnatomyError(
            f"no centre of a voxel of {spacing:g} m lies inside the mesh: take a "
            "smaller spacing"
        )
    return Volume.padded(inside, spacing, origin)
