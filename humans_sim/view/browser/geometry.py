# SPDX-License-Identifier: Apache-2.0
"""The drawn solids of a model, from its URDF."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import trimesh

from humans_sim.core.errors import ModelFileError
from humans_sim.core.expressions import shortened
from humans_sim.core.files import check_regular
from humans_sim.core.resources import share_directory
from humans_sim.models import Model

_OWN_URI = "package://humans_sim/"
MESHES = (".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".off")
"""Formats of meshes, by the endings of their names."""
LARGEST_MESH = 1 << 27
"""Largest file of a mesh [bytes]."""


@dataclass(frozen=True)
class Solid:
    """A solid drawn on a joint's body.

    Attributes:
        name: unique name.
        joint: index of the joint that carries it.
        placement: pose in the joint's frame.
        mesh: triangles, in metres.
        colour: red, green, blue, 0 to 255.
    """

    name: str
    joint: int
    placement: pin.SE3
    mesh: trimesh.Trimesh
    colour: tuple[int, int, int]


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


def solids(model: Model) -> list[Solid]:
    """All drawn solids of a model.

    Raises:
        ModelFileError: a mesh of the URDF is missing or unreadable.
    """
    urdf, folders = resolved_urdf(model), package_directories(model)
    _check_meshes(urdf, folders, model)
    try:
        geometry = pin.buildGeomFromUrdfString(
            model.pin, urdf, pin.GeometryType.VISUAL, package_dirs=folders
        )
    except Exception as error:  # pinocchio and coal raise several kinds
        raise ModelFileError(
            f"its meshes cannot be read: {error}", model.name
        ) from error
    meshes = []
    for item in geometry.geometryObjects:
        red, green, blue = (round(255 * float(c)) for c in item.meshColor[:3])
        meshes.append(
            Solid(
                item.name,
                int(item.parentJoint),
                item.placement.copy(),
                _mesh(item),
                (red, green, blue),
            )
        )
    return meshes


def body_height(model: Model) -> float:
    """Height of the highest tag or joint in the zero position [m]."""
    data = model.data()
    pin.forwardKinematics(model.pin, data, model.neutral())
    joints = [float(data.oMi[i].translation[2]) for i in range(1, model.pin.njoints)]
    tags = model.tags(model.neutral())[:, 2]
    return max(0.1, *joints, float(tags.max()))


def _check_meshes(urdf: str, folders: list[str], model: Model) -> None:
    """Refuse what must not be opened: libraries open files by their names."""
    for mesh in ET.fromstring(urdf).iter("mesh"):
        name = mesh.get("filename", "")
        paths = [Path(name.removeprefix("file://"))]
        if name.startswith("package://"):
            place = name.removeprefix("package://")
            paths = [Path(folder) / place for folder in folders]
        if Path(name).suffix.lower() not in MESHES:
            raise ModelFileError(
                f"meshes are read from {', '.join(MESHES)}, not '{shortened(name)}'",
                model.name,
            )
        for path in paths:
            if os.path.lexists(path):
                check_regular(path, ModelFileError, LARGEST_MESH)


def _mesh(item: pin.GeometryObject) -> trimesh.Trimesh:
    shape = item.geometry
    if isinstance(shape, coal.Box):
        return trimesh.creation.box(2.0 * np.asarray(shape.halfSide))
    if isinstance(shape, coal.Sphere):
        return trimesh.creation.icosphere(subdivisions=3, radius=shape.radius)
    if isinstance(shape, coal.Cylinder):
        return trimesh.creation.cylinder(shape.radius, 2.0 * shape.halfLength)
    if isinstance(shape, coal.Capsule):
        return trimesh.creation.capsule(2.0 * shape.halfLength, shape.radius)
    try:
        mesh = trimesh.load(item.meshPath, force="mesh")
        mesh.apply_scale(np.asarray(item.meshScale).ravel())
    except Exception as error:  # trimesh and its readers raise what they like
        raise ModelFileError(f"not a mesh: {error}", item.meshPath) from error
    if not len(mesh.faces) or not np.isfinite(mesh.vertices).all():
        raise ModelFileError("not a mesh: it has no faces", item.meshPath)
    return mesh
