# SPDX-License-Identifier: Apache-2.0
"""A :class:`ModelDescription` as URDF text."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np

from humans_sim.models.description import MESHES, Link, ModelDescription, Shape
from humans_sim.models.files.urdf_file import add_control_tag

MESH_URI = "package://humans_sim/urdf/meshes/{kind}.stl"


def write_urdf(description: ModelDescription, control: str = "") -> str:
    """URDF text; numbers keep all their digits, so that the model loads back exactly.

    REP-120 frames and soles become fixed links. ``base_footprint`` is missing on
    purpose: it moves with respect to every link and is published on TF.
    """
    robot = ET.Element("robot", name=description.name)
    for name, colour in description.materials.items():
        material = ET.SubElement(robot, "material", name=name)
        ET.SubElement(material, "color", rgba=f"{_numbers(colour)} 1")
    for link in description.links:
        _write_link(robot, link)
    for joint in description.joints:
        element = ET.SubElement(robot, "joint", name=joint.name, type="revolute")
        _connect(element, joint.parent, joint.child, joint.origin)
        ET.SubElement(element, "axis", xyz=_numbers(joint.axis))
        ET.SubElement(
            element,
            "limit",
            lower=repr(joint.lower),
            upper=repr(joint.upper),
            effort=repr(joint.effort),
            velocity=repr(joint.velocity),
        )
    for frame in description.frames:
        ET.SubElement(robot, "link", name=frame.name)
        fixed = ET.SubElement(robot, "joint", name=f"{frame.name}_joint", type="fixed")
        _connect(fixed, frame.link, frame.name, frame.position)
    if control:
        add_control_tag(robot, description, control)
    ET.indent(robot)
    return '<?xml version="1.0"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"


def _write_link(robot: ET.Element, link: Link) -> None:
    element = ET.SubElement(robot, "link", name=link.name)
    if link.inertial is not None and link.inertial.mass > 0:
        inertial = ET.SubElement(element, "inertial")
        ET.SubElement(inertial, "origin", xyz=_numbers(link.inertial.com))
        ET.SubElement(inertial, "mass", value=repr(float(link.inertial.mass)))
        values = link.inertial.inertia
        moments = {
            f"i{a}{b}": repr(float(values[i, j]))
            for i, a in enumerate("xyz")
            for j, b in enumerate("xyz")
            if i <= j
        }
        ET.SubElement(inertial, "inertia", moments)
    for shape in link.shapes:
        visual = _write_shape(element, "visual", shape)
        ET.SubElement(visual, "material", name=shape.material)
    for shape in link.shapes:
        if shape.collides:
            _write_shape(element, "collision", shape)


def _write_shape(link: ET.Element, tag: str, shape: Shape) -> ET.Element:
    element = ET.SubElement(link, tag)
    origin = {"xyz": _numbers(shape.origin), "rpy": _numbers(_rpy(shape.rotation))}
    ET.SubElement(element, "origin", origin)
    geometry = ET.SubElement(element, "geometry")
    size = shape.size
    if shape.kind in MESHES:
        uri = MESH_URI.format(kind=shape.kind)
        ET.SubElement(geometry, "mesh", filename=uri, scale=_numbers(size))
    elif shape.kind == "box":
        ET.SubElement(geometry, "box", size=_numbers(size))
    elif shape.kind == "sphere":
        ET.SubElement(geometry, "sphere", radius=repr(float(size[0])))
    else:
        ET.SubElement(
            geometry,
            "cylinder",
            radius=repr(float(size[0])),
            length=repr(float(size[2])),
        )
    return element


def _connect(element: ET.Element, parent: str, child: str, origin: np.ndarray) -> None:
    ET.SubElement(element, "parent", link=parent)
    ET.SubElement(element, "child", link=child)
    ET.SubElement(element, "origin", xyz=_numbers(origin), rpy="0 0 0")


def _numbers(values: np.ndarray | tuple[float, ...]) -> str:
    return " ".join(repr(float(value) + 0.0) for value in values)


def _rpy(rotation: np.ndarray) -> np.ndarray:
    """Fixed-axis roll, pitch, yaw of a rotation matrix."""
    pitch = np.arctan2(-rotation[2, 0], np.hypot(rotation[0, 0], rotation[1, 0]))
    if abs(abs(pitch) - np.pi / 2) < 1e-9:
        yaw = 0.0
        roll = np.sign(pitch) * np.arctan2(rotation[0, 1], rotation[1, 1])
    else:
        yaw = np.arctan2(rotation[1, 0], rotation[0, 0])
        roll = np.arctan2(rotation[2, 1], rotation[2, 2])
    return np.array([roll, pitch, yaw])
