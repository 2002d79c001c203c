# SPDX-License-Identifier: Apache-2.0
"""The drawn solids of a model, from its URDF."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import trimesh

from humans_sim.core.xml_file import parse_xml
from humans_sim.models import Model
from humans_sim.models.collision_shapes import VISUAL, shape_elements
from humans_sim.models.files.urdf_elements import number, numbers
from humans_sim.models.mesh_files import find_mesh, read_mesh
from humans_sim.view.browser.plain_solids import GREY, plain_hulls

_PLAIN = (230, 230, 230)
"""Colour of what has no material: pinocchio's."""


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
    colours = _material_colours(model)
    meshes = [
        Solid(f"{name}_{k}", joint, pose, _mesh(model, shape), _colour(visual, colours))
        for k, (name, joint, pose, shape, visual) in enumerate(
            shape_elements(model, VISUAL)
        )
    ]
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


def _mesh(model: Model, shape: ET.Element) -> trimesh.Trimesh:
    radius, length = number(shape, "radius"), number(shape, "length")
    if shape.tag == "box":
        return trimesh.creation.box(numbers(shape, "size"))
    if shape.tag == "sphere":
        return trimesh.creation.icosphere(subdivisions=3, radius=radius)
    if shape.tag == "cylinder":
        return trimesh.creation.cylinder(radius, length)
    if shape.tag == "capsule":
        return trimesh.creation.capsule(length, radius)
    scale = np.array(numbers(shape, "scale", 1.0, 1.0, 1.0))
    return read_mesh(find_mesh(shape.get("filename", ""), model), scale)


def _material_colours(model: Model) -> dict[str, tuple[int, int, int]]:
    """Colours of the materials that have one, by name."""
    robot = parse_xml(model.urdf(), model.parts.source)
    return {
        material.get("name", ""): _rgb(colour)
        for material in robot.iter("material")
        if (colour := material.find("color")) is not None
    }


def _colour(
    visual: ET.Element, colours: dict[str, tuple[int, int, int]]
) -> tuple[int, int, int]:
    own, material = visual.find("material/color"), visual.find("material")
    if own is not None:
        return _rgb(own)
    return colours.get("" if material is None else material.get("name", ""), _PLAIN)


def _rgb(colour: ET.Element) -> tuple[int, int, int]:
    red, green, blue = (
        round(255 * min(max(part, 0.0), 1.0)) for part in numbers(colour, "rgba")[:3]
    )
    return red, green, blue
