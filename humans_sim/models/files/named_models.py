# SPDX-License-Identifier: Apache-2.0
"""Models by name: those of the package, and files of the user.

A :class:`ModelDescription` becomes a pinocchio model and URDF text.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pinocchio as pin

from humans_sim.core.bounded_text import parse_xml
from humans_sim.core.errors import ParameterError
from humans_sim.core.resources import resource
from humans_sim.models.description import (
    BASE_LINK,
    MESHES,
    Link,
    ModelDescription,
    ModelParts,
    Shape,
)
from humans_sim.models.files.tree_file import TreeFile
from humans_sim.models.files.urdf_compare import compare_with_urdf, dynamic_parameters
from humans_sim.models.files.urdf_file import (
    INTERFACES,
    TAG,
    add_control_tag,
    check_mass_matrix,
    drive_and_links,
)


def build(description: ModelDescription) -> pin.Model:
    """Pinocchio model with a free-flyer base, joints in the order of a URDF parser."""
    model = pin.Model()
    model.name = description.name
    base = model.addJoint(
        0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint"
    )
    model.addJointFrame(base)
    joint_of = {BASE_LINK: base}
    _add_link(model, description, BASE_LINK, base)
    for joint in description.tree():
        identifier = model.addJoint(
            joint_of[joint.parent],
            pin.JointModelRevoluteUnaligned(joint.axis),
            pin.SE3(np.eye(3), joint.origin),
            joint.name,
            np.array([joint.effort]),
            np.array([joint.velocity]),
            np.array([joint.lower]),
            np.array([joint.upper]),
        )
        model.addJointFrame(identifier)
        joint_of[joint.child] = identifier
        _add_link(model, description, joint.child, identifier)
    return model


def _add_link(
    model: pin.Model, description: ModelDescription, name: str, joint: int
) -> None:
    link = description.link(name)
    if link.inertial is not None and link.inertial.mass > 0:
        mass, com = link.inertial.mass, link.inertial.com
        moments = link.inertial.inertia + mass * (
            com @ com * np.eye(3) - np.outer(com, com)
        )
        # Unlike pinocchio's constructor, this takes matrices that are not positive.
        inertia = pin.Inertia.FromDynamicParameters(
            dynamic_parameters(mass, mass * com, moments)
        )
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    body = model.addBodyFrame(name, joint, pin.SE3.Identity(), -1)
    for frame in description.frames:
        if frame.link == name:
            placement = pin.SE3(np.eye(3), frame.position)
            model.addFrame(
                pin.Frame(frame.name, joint, body, placement, pin.FrameType.BODY)
            )


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


NAMES = ("human36", "bip", "khr1", "human")
"""Models that come with the package."""


def model_file(name: str) -> Path:
    """YAML file of a model that comes with the package."""
    return resource("config", "models", f"{name}.yaml")


def is_packaged(parts: ModelParts) -> bool:
    """Whether a model is one of :data:`NAMES`, not a file of the same name."""
    return parts.name in NAMES and parts.source == model_file(parts.name)


def table_parts(
    path: Path,
    *,
    height: float | None = None,
    mass: float | None = None,
    lengths: Mapping[str, float] | np.ndarray | None = None,
    tags: Mapping[str, np.ndarray] | np.ndarray | None = None,
    rotors: bool = True,
) -> ModelParts:
    """Parts of the model in a table; the arguments are those of ``load_model``."""
    parameters: dict[str, float] = {}
    for key, word, value in (("h", "height", height), ("m", "mass", mass)):
        if value is not None:
            parameters[key] = _positive(word, value)
    default = TreeFile(path)
    name = default.sections["name"].text()
    for key, word in (("h", "height"), ("m", "mass")):
        if key in parameters and key not in default.parameters:
            raise ParameterError(f"the {word} of {name} cannot be set")
    given = named_lengths(default.lengths, lengths, name)
    file = TreeFile(path, parameters, given) if parameters or given else default
    given_tags = named_tags(file.tag_names, tags, name)
    description = file.describe(given_tags)
    pin_model = build(description)
    check_mass_matrix(pin_model, path)
    control = ""
    if TAG in file.sections:
        control = file.sections[TAG].choice(INTERFACES)
    urdf = write_urdf(description, control)
    compare_with_urdf(parse_xml(urdf, path.with_suffix(".urdf")), pin_model)
    drive, own_links = drive_and_links(
        file.sections, pin_model, description.humans.joints, rotors
    )
    return ModelParts(
        name=name,
        title=description.title,
        pin_model=pin_model,
        tags=description.tags,
        contacts=description.contacts,
        soles=description.soles,
        humans=description.humans,
        urdf=urdf,
        rotors=drive,
        parameters=file.parameters,
        lengths=file.lengths,
        given_lengths=given,
        given_tags=given_tags,
        source=path,
        self_collision=own_links,
    )


def named_lengths(
    known: Mapping[str, float],
    given: Mapping[str, float] | np.ndarray | None,
    model: str,
) -> dict[str, float]:
    """Lengths by name, checked; a vector is taken in the order of ``known``."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        values = np.asarray(given, dtype=float).ravel()
        if len(values) != len(known):
            raise ParameterError(f"{model} has {len(known)} lengths, not {len(values)}")
        given = dict(zip(known, values.tolist(), strict=True))
    lengths = {}
    for name, value in given.items():
        if name not in known:
            raise ParameterError(
                f"{model} has no length '{name}' (it has: {', '.join(known) or 'none'})"
            )
        lengths[name] = _positive(f"length '{name}'", value)
    return lengths


def named_tags(
    known: tuple[str, ...],
    given: Mapping[str, np.ndarray] | np.ndarray | None,
    model: str,
) -> dict[str, np.ndarray]:
    """Tag positions by name, checked; an array is taken in the order of ``known``."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        values = np.asarray(given, dtype=float)
        if values.size != 3 * len(known):
            raise ParameterError(
                f"{model} has {len(known)} tags: must be {3 * len(known)} numbers, "
                f"not {values.size}"
            )
        given = dict(zip(known, values.reshape(-1, 3), strict=True))
    tags = {}
    for name, position in given.items():
        if name not in known:
            raise ParameterError(f"{model} has no tag '{name}'")
        point = np.asarray(position, dtype=float)
        if point.shape != (3,) or not np.isfinite(point).all():
            raise ParameterError(
                f"the position of '{name}' is not three finite numbers"
            )
        tags[name] = point
    return tags


def _positive(word: str, value: float) -> float:
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise ParameterError(f"{word} must be a finite number above zero, not {value}")
    return number
