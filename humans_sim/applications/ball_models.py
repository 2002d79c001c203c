# SPDX-License-Identifier: Apache-2.0
"""From a bone's mesh, or a link of a URDF, to its model of balls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from humans_sim.anatomy import (
    BallModel,
    ball_model,
    read_bone,
    reduce_cover,
    surface_error,
    voxelise,
)
from humans_sim.anatomy.balls.mesh_error import ModelDeviation
from humans_sim.anatomy.volumes.urdf_bones import read_link_bone


@dataclass(frozen=True)
class BuiltModel:
    """A ball model and how it came about.

    Attributes:
        model: its balls.
        voxels: of the volume they cover.
        repairs: what was done to the mesh.
        error: how far it is from the mesh.
    """

    model: BallModel
    voxels: int
    repairs: tuple[str, ...]
    error: ModelDeviation


def build_ball_model(
    path: Path,
    spacing: float | None = None,
    metric: str = "euclidean",
    unit: str | None = None,
    reduced: bool = False,
    link: str = "",
) -> BuiltModel:
    """Build the ball model of a bone.

    Args:
        path: a mesh, or with ``link`` a URDF.
        spacing: edge of a voxel [m]; None: half a millimetre, or 1/300 of a longer
            bone.
        metric: of the distance map.
        unit: of the mesh; None: as its size says.
        reduced: whether balls that others cover together are left out.
        link: of the URDF whose collision mesh is the bone.

    Raises:
        HumansError: there is no such mesh, or it bounds no bone.
    """
    prepared = read_link_bone(path, link) if link else read_bone(path, unit)
    if spacing is None:
        spacing = max(5e-4, float(max(prepared.mesh.extents)) / 300)
    volume = voxelise(prepared.mesh, spacing)
    model = ball_model(volume, metric)
    if reduced:
        model = reduce_cover(model)
    error = surface_error(model, prepared.mesh)
    return BuiltModel(model, volume.count, prepared.repairs, error)
