# SPDX-License-Identifier: Apache-2.0
"""Models by name: those of the package, and files of the user.

A :class:`ModelDescription` becomes a pinocchio model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pinocchio as pin

from humans_sim.core.bounded_text import parse_xml
from humans_sim.core.errors import ParameterError
from humans_sim.core.resources import resource
from humans_sim.models.description import (
    BASE_LINK,
    ModelDescription,
    ModelParts,
)
from humans_sim.models.files.tree_file import TreeFile
from humans_sim.models.files.urdf_compare import compare_with_urdf, dynamic_parameters
from humans_sim.models.files.urdf_file import (
    INTERFACES,
    TAG,
    check_mass_matrix,
    drive_and_links,
)
from humans_sim.models.files.urdf_writer import write_urdf


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
