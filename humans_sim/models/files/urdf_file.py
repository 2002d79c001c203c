# SPDX-License-Identifier: Apache-2.0
"""Any two-legged URDF as a model, with a YAML file beside it for what URDF lacks.

``robot.urdf`` is read with ``robot.yaml`` where that exists (``docs/models.md``):
tags, contact points, soles, frames, limits, damping and dry friction of joints, the
HuMAnS layout and drive rotors.

Tree, masses, limits and axes are checked. An MJCF file is read as the URDF that says
the same (:mod:`.mjcf_file`).

*The element* ``<ros2_control>``, for a robot driven over topics. Joints are commanded
and read by ros2_control's hardware interface for topics
(``joint_state_topic_hardware_interface``), whether a simulation or a real robot takes
the commands.
"""

from __future__ import annotations

import math
import os
import re
import warnings
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin
import yaml

from humans_sim.core.bounded_text import element_error, parse_xml
from humans_sim.core.errors import ModelFileError, ModelFileWarning
from humans_sim.core.expressions import shortened
from humans_sim.core.files import read_text, write_atomically
from humans_sim.core.yaml_file import YamlValue, parse_yaml, read_yaml
from humans_sim.models.description import (
    BASE_LINK,
    HumansLayout,
    ModelDescription,
    ModelParts,
    SelfCollision,
    Sole,
    Tag,
    known_names,
    read_layout,
    read_self_collision,
)
from humans_sim.models.files.mjcf_file import ROOT as MUJOCO
from humans_sim.models.files.mjcf_file import read_mjcf
from humans_sim.models.files.urdf_compare import compare_with_urdf
from humans_sim.models.files.urdf_elements import (
    check_elements,
    element_key,
    inertia_matrix,
    is_tiny,
    linked,
    listed,
    number,
    shape_of,
    suggestion,
)
from humans_sim.models.files.urdf_joints import (
    DYNAMICS,
    add_rotors,
    check_joints,
    lift_limits,
    lock_without_inertia,
    moving_copy,
    settle_joints,
)
from humans_sim.models.points import frame_index

if TYPE_CHECKING:
    from humans_sim.models.rotors import Rotors

MOST_LINKS = 1000
"""Links of a robot; pinocchio calls itself for each link of a chain."""
_UNPHYSICAL = 0.05
"""Moments may miss what a solid can have by this share of the robot's largest: small
parts in published data do."""
_INDEFINITE = 1e-9
"""How far below zero the mass matrix may go, in shares of its largest eigenvalue."""
_LEAST_MASS = 1e-9
"""No robot is lighter [kg]."""


def check_urdf(robot: ET.Element, path: Path) -> bool:
    """Check the elements of a URDF before pinocchio reads it.

    Returns:
        Whether numbers had blanks that other readers take amiss.

    Raises:
        ModelFileError: the robot has no links, or too many; a joint hangs on a link
            that is not there, on one that has another joint, or on itself; its axis is
            nothing, or limits are exchanged; joints follow each other in a circle; an
            element or a number is missing, doubled, misspelt or absurd; a mass is
            negative, or all are zero; moments of inertia are those of no solid.
    """
    if robot.tag != "robot":
        raise ModelFileError(
            "the root element is not <robot>", path, key=shortened(robot.tag)
        )
    links = {str(link.get("name")) for link in robot.findall("link")}
    if not links:
        raise ModelFileError("the robot has no link", path, key="robot")
    if len(links) > MOST_LINKS:
        raise ModelFileError(
            f"the robot has {len(links)} links, more than {MOST_LINKS}", path
        )
    changed = check_elements(robot)
    for joint in robot.findall("joint"):
        for end in ("parent", "child"):
            name = linked(joint, end)
            if name not in links:
                text = f"its {end} link is '{shortened(name)}'"
                raise element_error(
                    joint, text + suggestion(name, links), element_key(joint)
                )
    _check_tree(robot)
    check_joints(robot)
    _check_inertias(robot)
    return changed


def _check_tree(robot: ET.Element) -> None:
    """One link without a parent, all others on one joint each below it."""
    for kind in ("link", "joint"):
        names = Counter(item.get("name") for item in robot.findall(kind))
        for item in robot.findall(kind):
            if (count := names[item.get("name")]) > 1:
                raise element_error(
                    item, f"{count} {kind}s have this name", element_key(item)
                )
    parents: dict[str, str] = {}
    for joint in robot.findall("joint"):
        child, parent = (linked(joint, end) for end in ("child", "parent"))
        if child in parents:
            text = f"its child link '{shortened(child)}' is that of another joint, too"
            raise element_error(joint, text, element_key(joint))
        parents[child] = parent
    links = {str(link.get("name")): link for link in robot.findall("link")}
    roots = [name for name in links if name not in parents]
    if len(roots) > 1:
        first, second = (shortened(name) for name in roots[:2])
        text = f"'{first}' and '{second}' are both on no joint: a robot is one tree"
        raise element_error(links[roots[1]], text)
    below = set(roots)
    for name, link in links.items():
        above: list[str] = []
        while name in parents and name not in below:
            if name in above:
                text = "it is above itself: joints form a circle"
                raise element_error(link, text, f"link {shortened(name)}")
            above.append(name)
            name = parents[name]
        below.update(above)


def _check_inertias(robot: ET.Element) -> None:
    inertias: list[tuple[ET.Element, str]] = []
    total = 0.0
    for link in robot.findall("link"):
        element = link.find("inertial/mass")
        mass = number(element, "value")
        if element is not None and mass < 0:
            text = f"the mass {mass:g} is negative"
            raise element_error(element, text, element_key(link, "mass value"), "value")
        total += mass
        element = link.find("inertial/inertia")
        if element is not None:
            inertias.append((element, element_key(link, "inertia")))
    if total < _LEAST_MASS:
        text = f"all links together have a mass of {total:g} kg: give them <inertial>"
        raise element_error(robot, text, "robot")
    moments = np.linalg.eigvalsh([inertia_matrix(element) for element, _ in inertias])
    largest = max(float(moments.max()), 0.0)
    for (element, key), (least, middle, most) in zip(inertias, moments, strict=True):
        # Each moment is above zero, and none is above the sum of the others.
        missing = max(-least, most - least - middle)
        if missing > _UNPHYSICAL * largest and missing > 0:
            text = (
                f"no solid has the principal moments of inertia {least:g}, "
                f"{middle:g}, {most:g} kg m^2"
            )
            raise element_error(element, text, key)


def _shapeless(robot: ET.Element) -> Iterator[str]:
    """A note on shapes that the model leaves out."""
    tiny: Counter[str] = Counter()
    for link in robot.findall("link"):
        for element in (*link.findall("visual"), *link.findall("collision")):
            shape = shape_of(element.find("geometry"))
            if shape is not None and is_tiny(shape):
                tiny[f"link {shortened(link.get('name'))}"] += 1
    if tiny:
        yield (
            f"shapes without extent are left out: {tiny.total()} of "
            f"{listed(list(tiny))}"
        )


def check_mass_matrix(model: pin.Model, path: Path) -> None:
    """Check that no motion out of the zero position has a negative kinetic energy."""
    data = model.createData()
    matrix = pin.crba(model, data, pin.neutral(model))
    matrix = np.triu(matrix) + np.triu(matrix, 1).T
    if not np.isfinite(matrix).all():
        raise ModelFileError("its mass matrix is not finite", path)
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -_INDEFINITE * values[-1]:
        column = int(np.argmax(np.abs(vectors[:, 0])))
        joint = next(
            n
            for j, n in zip(model.joints, model.names, strict=True)
            if j.idx_v <= column < j.idx_v + j.nv
        )
        raise ModelFileError(
            "its masses and moments of inertia give a motion a negative kinetic energy",
            path,
            key=f"joint {joint}",
        )


_SECTIONS = (
    "forward",
    "tags",
    "contacts",
    "soles",
    "frames",
    "limits",
    "dynamics",
    "humans",
    "rotors",
    "title",
    "self_collision",
)

FORWARD = {"x": 0.0, "y": -0.5, "-x": 1.0, "-y": 0.5}
"""Axes of a base that may point forwards: turn of the base, half turns."""

_BROKEN_VALUE = re.compile(r"""=\s*(?:"[^"<]*[\t\r\n]|'[^'<]*[\t\r\n])""")
"""An attribute over several lines: a reader of XML puts blanks in their place."""


def urdf_parts(
    path: Path, rotors: bool = True, xacro: bool = True, beside: YamlValue | None = None
) -> ModelParts:
    """Parts of the model in a URDF, xacro or MJCF file.

    Args:
        path: of the file.
        rotors: whether drive rotors of the YAML count.
        xacro: whether a ``.xacro`` file is expanded.
        beside: instead of its YAML file.
    """
    robot, text = _read(path, xacro)
    mjcf = read_mjcf(robot, path) if robot.tag == MUJOCO else None
    robot = robot if mjcf is None else mjcf.robot
    changed = check_urdf(robot, path) or mjcf or _BROKEN_VALUE.search(text)
    side = path.with_suffix(".yaml")
    root = beside
    if root is None:
        root = read_yaml(side) if os.path.lexists(side) else parse_yaml("{}")
    sections = root.fields((), _SECTIONS)
    if "forward" in sections:
        _turn_base(robot, FORWARD[sections["forward"].choice(tuple(FORWARD))])
        changed = True
    notes = [*(_shapeless(robot) if mjcf is None else mjcf.notes)]
    settled = [*settle_joints(robot)]
    pin_model, name = _build(robot, path, settled), robot.get("name") or path.stem
    if changed or settled:
        # Other readers of the model's URDF shall find what counts here.
        text = ET.tostring(robot, encoding="unicode")
    notes += settled
    for note in notes:
        warnings.warn(f"{path}: {note}", ModelFileWarning, stacklevel=2)
    _add_frames(pin_model, sections)
    _set_joints(pin_model, sections)
    tags = _tags(pin_model, sections)
    contacts: tuple[str, ...] = ()
    if "contacts" in sections:
        tag_names = {tag.name for tag in tags}
        contacts = known_names(sections["contacts"], tag_names, "tag")
    soles = []
    for sole, value in (
        sections["soles"].mapping().items() if "soles" in sections else ()
    ):
        if not pin_model.existFrame(sole):
            raise value.error(
                f"the URDF has no link '{sole}': give it a place under 'frames'"
            )
        soles.append(Sole(sole, known_names(value, set(contacts), "contact")))
    layout = _layout(pin_model, sections, tags, contacts)
    title = sections["title"].text() if "title" in sections else f"{name} ({path.name})"
    drive, own_links = drive_and_links(sections, pin_model, layout.joints, rotors)
    if mjcf is not None and mjcf.exclude:
        pairs = [pair for pair in mjcf.exclude if not own_links.has(pair)]
        own_links = replace(own_links, exclude=(*own_links.exclude, *pairs))
    return ModelParts(
        name=name,
        title=title,
        pin_model=pin_model,
        tags=tags,
        contacts=contacts,
        soles=tuple(soles),
        humans=layout,
        urdf=text,
        rotors=drive,
        source=path,
        self_collision=own_links,
        notes=tuple(notes),
        grounded=bool(contacts) or "humans" in sections,
    )


def _turn_base(robot: ET.Element, half_turns: float) -> None:
    """Hang a robot below a base whose x points forwards."""
    names = {str(link.get("name")) for link in robot.findall("link")}
    children = {linked(joint, "child") for joint in robot.findall("joint")}
    (root,) = names - children
    name = BASE_LINK
    while name in names:
        name = f"{name}_forward"
    ET.SubElement(robot, "link", name=name)
    joint = ET.SubElement(robot, "joint", name=f"{name}_fixed", type="fixed")
    ET.SubElement(joint, "parent", link=name)
    ET.SubElement(joint, "child", link=root)
    ET.SubElement(joint, "origin", rpy=f"0 0 {half_turns * math.pi!r}", xyz="0 0 0")


def drive_and_links(
    sections: Mapping[str, YamlValue],
    model: pin.Model,
    joints: Sequence[str],
    rotors: bool,
) -> tuple[Rotors | None, SelfCollision]:
    """Rotors (none unless wanted) and self-collision that sections of a file give."""
    drive, own_links = None, SelfCollision()
    if rotors and "rotors" in sections:
        from humans_sim.models.rotors import read_rotors

        index = {n: 6 + i for i, n in enumerate(model.names[2:])}
        drive = read_rotors(sections["rotors"], joints, index)
    if "self_collision" in sections:
        own_links = read_self_collision(sections["self_collision"])
    return drive, own_links


_EXPANDED: set[Path] = set()
"""Files ``.xacro`` that the user of this process named: its own runs name them, too."""


def _read(path: Path, xacro: bool) -> tuple[ET.Element, str]:
    """The robot of a file and the text of its URDF."""
    if path.suffix.lower() != ".xacro":
        text = read_text(path, ModelFileError)
        return parse_xml(text, path), text
    if not xacro and path.absolute() not in _EXPANDED:
        raise ModelFileError(
            "a file or a message cannot name a .xacro file: expand it to a URDF first",
            path,
        )
    from humans_sim.models.files.xacro_file import expand_xacro

    robot = expand_xacro(path)
    _EXPANDED.add(path.absolute())
    return robot, ET.tostring(robot, encoding="unicode")


def _build(robot: ET.Element, path: Path, notes: list[str]) -> pin.Model:
    """Pinocchio model of a URDF that was checked; joints may be locked, with a note."""
    model = _parsed(robot, path)
    locked = lock_without_inertia(robot, model)
    if locked:
        notes.append(f"locked: {listed(locked)} (no inertia to move)")
        model = _parsed(robot, path)
    add_rotors(robot, model)
    lift_limits(model)
    compare_with_urdf(robot, model)
    check_mass_matrix(model, path)
    if not model.existFrame(BASE_LINK):
        model.addFrame(pin.Frame(BASE_LINK, 1, pin.SE3.Identity(), pin.FrameType.BODY))
    return model


def _parsed(robot: ET.Element, path: Path) -> pin.Model:
    text = ET.tostring(moving_copy(robot), encoding="unicode")
    try:
        return pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    except Exception as error:  # pinocchio raises several kinds
        raise ModelFileError(f"pinocchio cannot read it: {error}", path) from error


def _add_frames(model: pin.Model, sections: dict[str, YamlValue]) -> None:
    for entry in sections.get("frames", ()):
        fields = entry.fields(("name", "link", "xyz"), ("rpy",))
        parent = model.frames[_frame(model, fields["link"])]
        if model.existFrame(fields["name"].text()):
            raise fields["name"].error("the URDF has a link or joint of this name")
        rpy = fields["rpy"].vector(3) if "rpy" in fields else np.zeros(3)
        local = pin.SE3(pin.rpy.rpyToMatrix(rpy), fields["xyz"].vector(3))
        placement = parent.placement * local
        model.addFrame(
            pin.Frame(
                fields["name"].text(),
                parent.parentJoint,
                placement,
                pin.FrameType.OP_FRAME,
            )
        )


def _frame(model: pin.Model, link: YamlValue) -> int:
    if not model.existFrame(link.text()):
        raise link.error(f"the URDF has no link '{link.text()}'")
    return frame_index(model, link.text())


def _moving_joints(
    model: pin.Model, sections: dict[str, YamlValue], key: str
) -> Iterator[tuple[pin.JointModel, YamlValue]]:
    """Joints of a section, with what it says of them."""
    for name, value in sections[key].mapping().items() if key in sections else ():
        if name not in list(model.names)[2:]:
            raise value.error(f"the URDF has no moving joint '{name}'")
        yield model.joints[model.getJointId(name)], value


def _set_joints(model: pin.Model, sections: dict[str, YamlValue]) -> None:
    """Limits, damping, friction and rotors of joints, in place of those of the URDF."""
    for joint, value in _moving_joints(model, sections, "limits"):
        lower, upper = value.degrees()
        model.lowerPositionLimit[joint.idx_q] = lower
        model.upperPositionLimit[joint.idx_q] = upper
    for joint, value in _moving_joints(model, sections, "dynamics"):
        k = joint.idx_v
        for key, entry in value.fields((), DYNAMICS).items():
            if not 0.0 <= entry.number() < math.inf:
                raise entry.error(f"{key} must be 0 or more")
            if key == "damping":
                model.damping[k] = entry.number()
            elif key == "armature":
                model.armature[k] = entry.number()
            else:
                model.upperDryFrictionLimit[k] = entry.number()
                model.lowerDryFrictionLimit[k] = -entry.number()


def _tags(model: pin.Model, sections: dict[str, YamlValue]) -> tuple[Tag, ...]:
    tags = {}
    for entry in sections.get("tags", ()):
        fields = entry.fields(("name", "link", "xyz"))
        _frame(model, fields["link"])
        name = fields["name"].text()
        if name in tags:
            raise entry.error(f"the tag '{name}' stands twice")
        tags[name] = Tag(name, fields["link"].text(), fields["xyz"].vector(3))
    return tuple(tags.values())


def _layout(
    model: pin.Model,
    sections: dict[str, YamlValue],
    tags: tuple[Tag, ...],
    contacts: tuple[str, ...],
) -> HumansLayout:
    joints = tuple(model.names[2:])
    segments = tuple(f.name for f in model.frames if f.type == pin.FrameType.BODY)
    if "humans" in sections:
        return read_layout(sections["humans"], set(joints), set(segments), {})
    # The lowest contact point (else frame) stands on the ground.
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    heights = [
        data.oMf[frame_index(model, tag.link)].act(tag.position)[2]
        for tag in tags
        if tag.name in contacts
    ]
    heights = heights or [float(pose.translation[2]) for pose in data.oMf]
    return HumansLayout(joints, "zyx", -float(min(heights)), segments)


def save_parts(parts: ModelParts, path: Path) -> Path:
    """Write ``path`` (URDF) and the YAML beside it, each whole or not at all."""
    layout = parts.humans
    side: dict[str, Any] = {
        "title": parts.title,
        "tags": [
            {"name": t.name, "link": t.link, "xyz": [float(x) for x in t.position]}
            for t in parts.tags
        ],
        "contacts": list(parts.contacts),
        "soles": {sole.name: list(sole.contacts) for sole in parts.soles},
        "humans": {
            "joints": list(layout.joints),
            "base_rotation": layout.base_rotation,
            "base_height": float(layout.base_height),
            "segments": list(layout.segments),
        },
    }
    model, dissipating = parts.pin_model, {}
    for name, k in zip(model.names[2:], model.idx_vs.tolist()[2:], strict=True):
        values = {
            "damping": float(model.damping[k]),
            "friction": float(model.upperDryFrictionLimit[k]),
            "armature": float(model.armature[k]),
        }
        if any(values.values()):
            dissipating[str(name)] = {
                word: value
                for word, value in values.items()
                if value or word != "armature"
            }
    if dissipating:
        side["dynamics"] = dissipating
    if parts.rotors is not None:
        side["rotors"] = parts.rotors.source
    if parts.self_collision != SelfCollision():
        side["self_collision"] = parts.self_collision.plain()
    text = yaml.safe_dump(side, sort_keys=False, default_flow_style=None, width=88)
    write_atomically(path.with_suffix(".yaml"), text)
    write_atomically(path, parts.urdf)
    return path


TAG = "ros2_control"
INTERFACES = ("position",)
"""What joints can be commanded by."""
_PLUGIN = "joint_state_topic_hardware_interface/JointStateTopicSystem"
_PARAMETERS = {
    "joint_commands_topic": "joint_commands",
    "joint_states_topic": "joint_states",
    # Always: without commands for a while a real robot makes its servos limp.
    "trigger_joint_command_threshold": "-1",
}


def add_control_tag(
    robot: ET.Element, description: ModelDescription, interface: str
) -> None:
    """Add the element to a ``<robot>``; ``interface`` is one of :data:`INTERFACES`."""
    control = ET.SubElement(robot, TAG, name=description.name, type="system")
    hardware = ET.SubElement(control, "hardware")
    ET.SubElement(hardware, "plugin").text = _PLUGIN
    for name, value in _PARAMETERS.items():
        _parameter(hardware, name, value)
    for joint in description.joints:
        element = ET.SubElement(control, "joint", name=joint.name)
        command = ET.SubElement(element, "command_interface", name=interface)
        _parameter(command, "min", repr(joint.lower))
        _parameter(command, "max", repr(joint.upper))
        # No initial value: where a joint is, nobody knows before its first state, and a
        # controller that took zero for it would drive it there.
        ET.SubElement(element, "state_interface", name="position")
        # Servos that are not asked for it report no speed.
        speed = ET.SubElement(element, "state_interface", name="velocity")
        _parameter(speed, "initial_value", "0.0")
        # A simulated joint reports its torque, too, and the hardware interface fails on
        # what it finds no interface for. Nobody knows a real servo's: no number.
        ET.SubElement(element, "state_interface", name="effort")


def _parameter(element: ET.Element, name: str, value: str) -> None:
    ET.SubElement(element, "param", name=name).text = value
