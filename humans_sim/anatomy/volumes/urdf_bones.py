# SPDX-License-Identifier: Apache-2.0
"""Bones out of robot descriptions: the collision mesh of a link of a URDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.volumes.mesh_repair import PreparedMesh, prepare_mesh
from humans_sim.contact.geometry.terrain_files import read_mesh_file
from humans_sim.core.errors import ModelFileError
from humans_sim.core.files import read_bytes
from humans_sim.core.xml_file import element_error, parse_xml
from humans_sim.models.files.urdf_elements import check_numbers, numbers

if TYPE_CHECKING:
    import trimesh

_LARGEST = 1 << 24
"""A description above this size is refused [bytes]."""
_PACKAGE, _FILE = "package://", "file://"


def collision_mesh(urdf: Path | str, link: str) -> tuple[Path, np.ndarray]:
    """File of the collision mesh of a link, and its scale along the axes (3,).

    Paths begin at the URDF's folder; of ``package://name/path`` at the nearest folder
    above it that has the path. The mesh is taken as it is, in its own frame.

    Raises:
        ModelFileError: it is no URDF, or has no such link with one mesh.
    """
    urdf = Path(urdf)
    text = read_bytes(urdf, ModelFileError, _LARGEST).decode("utf-8", "replace")
    root = parse_xml(text, urdf)
    found = [one for one in root.iter("link") if one.get("name") == link]
    if len(found) != 1:
        raise ModelFileError(f"no link or several are called '{link[:80]}'", urdf)
    meshes = found[0].findall("collision/geometry/mesh")
    if len(meshes) != 1:
        raise ModelFileError(
            f"the link '{link[:80]}' has {len(meshes)} collision meshes, not one", urdf
        )
    check_numbers(meshes[0], "scale", 3, f"link {link[:80]}")
    scale = np.array(numbers(meshes[0], "scale", 1.0, 1.0, 1.0))
    if not (scale > 0).all():
        raise element_error(
            meshes[0], "the scale of a bone is above zero", None, "scale"
        )
    return _mesh_path(urdf, meshes[0].get("filename", "")), scale


def read_link_bone(
    urdf: Path | str, link: str, mesh: Path | None = None
) -> PreparedMesh:
    """The collision mesh of a link of a URDF, as a bone.

    Args:
        urdf: the description.
        link: its name.
        mesh: the file of the mesh, where it was looked up and allowed before.

    Raises:
        ModelFileError: the URDF has no such mesh.
        FileError: the mesh cannot be read.
        BoneMeshError: it bounds no bone.
    """
    import trimesh

    path, scale = collision_mesh(urdf, link)
    if mesh is not None and mesh != path.resolve():
        raise AnatomyError("the description has changed meanwhile")

    def scaled(vertices: np.ndarray, faces: np.ndarray) -> trimesh.Trimesh:
        return trimesh.Trimesh(vertices * scale, faces, process=False)

    return prepare_mesh(read_mesh_file(path, 1.0, scaled), "m")


def _mesh_path(urdf: Path, name: str) -> Path:
    if name.startswith(_PACKAGE):
        inner = name.removeprefix(_PACKAGE).partition("/")[2].lstrip("/")
        if ".." in Path(inner).parts:
            raise ModelFileError(f"'{name[:120]}' leads out of its package", urdf)
        for folder in urdf.resolve().parents:
            if inner and (folder / inner).is_file():
                return folder / inner
        raise ModelFileError(f"'{name[:120]}' is not found above it", urdf)
    name = name.removeprefix(_FILE)
    if not name:
        raise ModelFileError("a mesh has no file name", urdf)
    return urdf.parent / name
