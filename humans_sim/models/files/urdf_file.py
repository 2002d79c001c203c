# SPDX-License-Identifier: Apache-2.0
"""Any two-legged URDF as a model, with a YAML file beside it for what URDF lacks.

``robot.urdf`` is read with ``robot.yaml`` where that exists (``docs/models.md``):
tags, contact points, soles, frames, limits, damping and dry friction of joints, the
HuMAnS layout and drive rotors.
"""

from __future__ import annotations

import math
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import yaml

from humans_sim.core.errors import ModelFileError
from humans_sim.core.expressions import shortened
from humans_sim.core.files import read_text, write_atomically
from humans_sim.core.xml_file import element_error, parse_xml
from humans_sim.core.yaml_file import YamlValue, parse_yaml, read_yaml
from humans_sim.models.description import BASE_LINK, HumansLayout, Sole, Tag
from humans_sim.models.files.layout import known_names, read_layout
from humans_sim.models.files.urdf_check import check_mass_matrix, check_urdf
from humans_sim.models.files.urdf_compare import compare_with_urdf
from humans_sim.models.parts import ModelParts
from humans_sim.models.self_collision import SelfCollision, read_self_collision

_SECTIONS = (
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

_BROKEN_VALUE = re.compile(r"""=\s*(?:"[^"<]*[\t\r\n]|'[^'<]*[\t\r\n])""")
"""An attribute over several lines: a reader of XML puts blanks in their place."""


def urdf_parts(
    path: Path,
    rotors: bool = True,
    xacro: bool = True,
    beside: YamlValue | None = None,
) -> ModelParts:
    """Parts of the model in a URDF (or xacro) file with a floating base.

    Args:
        path: of the file.
        rotors: False leaves drive rotors out.
        xacro: whether a ``.xacro`` file is expanded.
        beside: what the URDF does not say, instead of the YAML file beside it.

    Raises:
        ModelFileError: the URDF or its YAML is missing or malformed, or the file is
            xacro where that is not allowed.
    """
    robot, text = _read(path, xacro)
    if check_urdf(robot, path) or _BROKEN_VALUE.search(text):
        # Other readers of the model's URDF shall find the numbers that count here.
        text = ET.tostring(robot, encoding="unicode")
    pin_model, name = _build(robot, path), robot.get("name") or path.stem
    side = path.with_suffix(".yaml")
    root = beside
    if root is None:
        root = read_yaml(side) if os.path.lexists(side) else parse_yaml("{}")
    sections = root.fields((), _SECTIONS)
    _add_frames(pin_model, sections)
    _set_limits(pin_model, sections)
    _set_dynamics(pin_model, sections)
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
    drive = None
    if rotors and "rotors" in sections:
        from humans_sim.models.rotors import read_rotors

        index = {n: 6 + i for i, n in enumerate(pin_model.names[2:])}
        drive = read_rotors(sections["rotors"], layout.joints, index)
    title = sections["title"].text() if "title" in sections else f"{name} ({path.name})"
    own_links = SelfCollision()
    if "self_collision" in sections:
        own_links = read_self_collision(sections["self_collision"])
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
        parameters={},
        lengths={},
        given_lengths={},
        given_tags={},
        source=path,
        self_collision=own_links,
    )


def _read(path: Path, xacro: bool) -> tuple[ET.Element, str]:
    """The robot of a file and the text of its URDF."""
    if path.suffix.lower() != ".xacro":
        text = read_text(path, ModelFileError)
        return parse_xml(text, path), text
    if not xacro:
        raise ModelFileError(
            "a file or a message cannot name a .xacro file: expand it to a URDF first",
            path,
        )
    from humans_sim.models.files.xacro_file import expand_xacro

    robot = expand_xacro(path)
    return robot, ET.tostring(robot, encoding="unicode")


def _build(robot: ET.Element, path: Path) -> pin.Model:
    """Pinocchio model of a URDF that was checked."""
    text = ET.tostring(robot, encoding="unicode")
    try:
        model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    except Exception as error:  # pinocchio raises several kinds
        raise ModelFileError(f"pinocchio cannot read it: {error}", path) from error
    elements = {element.get("name"): element for element in robot.findall("joint")}
    for joint, name in zip(model.joints, model.names, strict=True):
        if joint.id > 1 and (joint.nq, joint.nv) != (1, 1):
            text = f"a joint of type {joint.shortname()} cannot be used: make it "
            text += "revolute with limits"
            key = f"joint {shortened(name)}"
            raise element_error(elements[name], text, key, "type")
    compare_with_urdf(robot, model)
    check_mass_matrix(model, path)
    if not model.existFrame(BASE_LINK):
        model.addFrame(pin.Frame(BASE_LINK, 1, pin.SE3.Identity(), pin.FrameType.BODY))
    return model


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
    return int(model.getFrameId(link.text()))


def _set_limits(model: pin.Model, sections: dict[str, YamlValue]) -> None:
    if "limits" not in sections:
        return
    for name, value in sections["limits"].mapping().items():
        if name not in list(model.names)[2:]:
            raise value.error(f"the URDF has no moving joint '{name}'")
        joint = model.joints[model.getJointId(name)]
        lower, upper = value.degrees()
        model.lowerPositionLimit[joint.idx_q] = lower
        model.upperPositionLimit[joint.idx_q] = upper


def _set_dynamics(model: pin.Model, sections: dict[str, YamlValue]) -> None:
    """Damping and dry friction of joints, in place of those of the URDF."""
    if "dynamics" not in sections:
        return
    for name, value in sections["dynamics"].mapping().items():
        if name not in list(model.names)[2:]:
            raise value.error(f"the URDF has no moving joint '{name}'")
        k = model.joints[model.getJointId(name)].idx_v
        for key, number in value.fields((), ("damping", "friction")).items():
            if not 0.0 <= number.number() < math.inf:
                raise number.error(f"{key} must be 0 or more")
            if key == "damping":
                model.damping[k] = number.number()
            else:
                model.upperDryFrictionLimit[k] = number.number()
                model.lowerDryFrictionLimit[k] = -number.number()


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
    return HumansLayout(
        joints, "zyx", _standing_height(model, tags, contacts), segments
    )


def _standing_height(
    model: pin.Model, tags: tuple[Tag, ...], contacts: tuple[str, ...]
) -> float:
    """Base height that puts the lowest contact point (else joint) on the ground."""
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    heights = [
        data.oMf[model.getFrameId(tag.link)].act(tag.position)[2]
        for tag in tags
        if tag.name in contacts
    ]
    heights = heights or [float(pose.translation[2]) for pose in data.oMf]
    return -float(min(heights))


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
    dissipating = _dissipating_joints(parts.pin_model)
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


def _dissipating_joints(model: pin.Model) -> dict[str, dict[str, float]]:
    """Damping and dry friction of the joints that have any, by name."""
    joints = {}
    for name, k in zip(model.names[2:], model.idx_vs.tolist()[2:], strict=True):
        pair = float(model.damping[k]), float(model.upperDryFrictionLimit[k])
        if any(pair):
            joints[str(name)] = dict(zip(("damping", "friction"), pair, strict=True))
    return joints
