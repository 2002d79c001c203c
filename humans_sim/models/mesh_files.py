# SPDX-License-Identifier: Apache-2.0
"""Meshes that a model's URDF names: where they lie, and what is in them."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import trimesh

from humans_sim.core.errors import ModelFileError
from humans_sim.core.expressions import shortened
from humans_sim.core.files import check_regular
from humans_sim.core.resources import share_directory
from humans_sim.models.model import Model

MESHES = (".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".off")
"""Formats of meshes, by the endings of their names."""
LARGEST_MESH = 1 << 27
"""Largest file of a mesh [bytes]."""
_OWN_URI, _PACKAGE, _FILE = "package://humans_sim/", "package://", "file://"


def resolved_urdf(model: Model) -> str:
    """The model's URDF with this package's meshes as file names."""
    return model.urdf().replace(_OWN_URI, f"{share_directory()}/")


def package_directories(model: Model) -> list[str]:
    """Folders in which ``package://`` names of other packages are looked up."""
    folders = [str(model.parts.source.resolve().parent)]
    for variable, below in (("AMENT_PREFIX_PATH", "share"), ("ROS_PACKAGE_PATH", ".")):
        for prefix in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            folders.append(str(Path(prefix) / below))
    return folders


def mesh_candidates(name: str, model: Model) -> list[Path]:
    """Places where a mesh may lie, by the name that the URDF gives it.

    Raises:
        ModelFileError: the name does not end like that of a mesh.
    """
    if Path(name).suffix.lower() not in MESHES:
        raise ModelFileError(
            f"meshes are read from {', '.join(MESHES)}, not '{shortened(name)}'",
            model.name,
        )
    if name.startswith(_OWN_URI):
        return [Path(share_directory()) / name.removeprefix(_OWN_URI)]
    if name.startswith(_PACKAGE):
        place = name.removeprefix(_PACKAGE)
        return [Path(folder) / place for folder in package_directories(model)]
    path = Path(name.removeprefix(_FILE))
    if path.is_absolute():
        return [path]
    return [path, model.parts.source.resolve().parent / path]


def mesh_path(name: str, model: Model) -> Path:
    """The file of a mesh, by the name that the URDF gives it.

    Raises:
        ModelFileError: it is not there, too large, or no mesh by its name.
    """
    for path in mesh_candidates(name, model):
        if os.path.lexists(path):
            check_regular(path, ModelFileError, LARGEST_MESH)
            return path
    raise ModelFileError(
        f"the mesh '{shortened(name)}' is not there: put it beside the URDF, or its "
        "package on ROS_PACKAGE_PATH",
        model.name,
    )


def read_mesh(path: Path | str, scale: np.ndarray) -> trimesh.Trimesh:
    """The triangles of a mesh file, scaled along its axes [m].

    Raises:
        ModelFileError: it cannot be read or has no faces.
    """
    try:
        mesh = trimesh.load(path, force="mesh")
        mesh.apply_scale(np.asarray(scale).ravel())
    except Exception as error:  # trimesh and its readers raise what they like
        raise ModelFileError(f"not a mesh: {error}", path) from error
    if not len(mesh.faces) or not np.isfinite(mesh.vertices).all():
        raise ModelFileError("not a mesh: it has no faces", path)
    return mesh


def hull_vertices(path: Path, scale: np.ndarray) -> np.ndarray:
    """Vertices of the convex hull of a mesh file, scaled along its axes (n, 3) [m].

    Raises:
        ModelFileError: it cannot be read, or its vertices lie in one plane.
    """
    state = path.stat()
    unit = _unit_hull(path, state.st_mtime_ns, state.st_size)
    return unit * np.asarray(scale, dtype=float)


@lru_cache(maxsize=256)
def _unit_hull(path: Path, changed: int, size: int) -> np.ndarray:
    """The hull of a file in a given state: a scaled hull is the hull of what is scaled.

    One file draws every limb of a model, so it is read once.
    """
    mesh = read_mesh(path, np.ones(3))
    try:
        vertices = np.array(mesh.convex_hull.vertices, dtype=float)
    except Exception as error:  # qhull, by several kinds of errors
        raise ModelFileError("its convex hull has no volume", path) from error
    vertices.setflags(write=False)
    return vertices
