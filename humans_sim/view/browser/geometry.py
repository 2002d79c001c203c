# SPDX-License-Identifier: Apache-2.0
"""The drawn solids of a model, from its URDF."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin
import trimesh

from humans_sim.core.errors import ModelFileError
from humans_sim.core.files import check_regular
from humans_sim.models import Model
from humans_sim.models.mesh_files import (
    LARGEST_MESH,
    mesh_candidates,
    package_directories,
    read_mesh,
    resolved_urdf,
)
from humans_sim.view.browser.plain_solids import GREY, plain_hulls


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


def solids(model: Model) -> list[Solid]:
    """All drawn solids of a model; plain ones where its file draws none.

    Raises:
        ModelFileError: a mesh of the URDF is missing or unreadable.
    """
    urdf, folders = resolved_urdf(model), package_directories(model)
    _check_meshes(urdf, model)
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
    if meshes:
        return meshes
    return [
        Solid(f"{model.pin.names[joint]}_plain", joint, pin.SE3.Identity(), mesh, GREY)
        for joint, mesh in plain_hulls(model, body_height(model)).items()
    ]


def body_height(model: Model) -> float:
    """Height of the highest tag or joint in the zero position [m]."""
    data = model.data()
    pin.forwardKinematics(model.pin, data, model.neutral())
    joints = [float(data.oMi[i].translation[2]) for i in range(1, model.pin.njoints)]
    tags = model.tags(model.neutral())[:, 2]
    return max(0.1, *joints, float(tags.max()))


def _check_meshes(urdf: str, model: Model) -> None:
    """Refuse what must not be opened: libraries open files by their names."""
    for mesh in ET.fromstring(urdf).iter("mesh"):
        for path in mesh_candidates(mesh.get("filename", ""), model):
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
    return read_mesh(item.meshPath, item.meshScale)
