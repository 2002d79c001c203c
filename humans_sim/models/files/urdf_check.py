# SPDX-License-Identifier: Apache-2.0
"""Whether a URDF can be the description of a body: tree, masses, limits, axes."""

from __future__ import annotations

import math
import warnings
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ModelFileError, ModelFileWarning
from humans_sim.core.expressions import shortened
from humans_sim.core.xml_file import element_error
from humans_sim.models.files.urdf_elements import (
    JOINT_TYPES,
    check_elements,
    inertia_matrix,
    is_tiny,
    number,
    numbers,
    shape_of,
    suggestion,
)

MOST_LINKS = 1000
"""Links of a robot; pinocchio calls itself for each link of a chain."""
_UNPHYSICAL = 0.05
"""Moments may miss what a solid can have by this share of the robot's largest: small
parts in published data do."""
_INDEFINITE = 1e-9
"""How far below zero the mass matrix may go, in shares of its largest eigenvalue."""
_LEAST_MASS = 1e-9
"""No robot is lighter [kg]."""
_LEAST_AXIS = 1e-6
"""Shorter axes of joints have no direction to rely on."""


def check_urdf(robot: ET.Element, path: Path) -> bool:
    """Check the elements of a URDF before pinocchio reads it.

    What is left out of the model is reported as a :class:`ModelFileWarning`: shapes
    without extent, and that a joint follows another.

    Args:
        robot: the root element; blanks around its numbers are removed.
        path: of the file.

    Returns:
        Whether numbers had blanks that other readers may take amiss.

    Raises:
        ModelFileError: the robot has no links, or too many; a joint hangs on a link
            that is not there, on one that has another joint, or on itself; it has no
            limits or axis, or limits are exchanged; joints follow each other in a
            circle; an element or a number is missing, doubled, misspelt or absurd; a
            mass is negative, or all are zero; moments of inertia are those of no solid.
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
            name = _linked(joint, end)
            if name not in links:
                text = f"its {end} link is '{shortened(name)}'"
                raise element_error(joint, text + suggestion(name, links), _key(joint))
    _check_tree(robot)
    _check_joints(robot)
    _check_mimics(robot)
    _check_inertias(robot)
    for note in _notes(robot):
        warnings.warn(f"{path}: {note}", ModelFileWarning, stacklevel=2)
    return changed


def _key(element: ET.Element, part: str = "") -> str:
    """A link or joint, or a part of it: ``link leg <mass value>``."""
    name = f"{element.tag} {shortened(element.get('name'))}"
    return f"{name} <{part}>" if part else name


def _check_tree(robot: ET.Element) -> None:
    """One link without a parent, all others on one joint each below it."""
    for kind in ("link", "joint"):
        names = Counter(item.get("name") for item in robot.findall(kind))
        for item in robot.findall(kind):
            if (count := names[item.get("name")]) > 1:
                raise element_error(item, f"{count} {kind}s have this name", _key(item))
    parents: dict[str, str] = {}
    for joint in robot.findall("joint"):
        child, parent = (_linked(joint, end) for end in ("child", "parent"))
        if child in parents:
            text = f"its child link '{shortened(child)}' is that of another joint, too"
            raise element_error(joint, text, _key(joint))
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


def _linked(joint: ET.Element, end: str) -> str:
    element = joint.find(end)
    return "" if element is None else str(element.get("link"))


def _check_joints(robot: ET.Element) -> None:
    for joint in robot.findall("joint"):
        motion, limit = joint.get("type", ""), joint.find("limit")
        if motion not in JOINT_TYPES:
            text = f"'{shortened(motion)}' is no type of a joint"
            text += suggestion(motion, JOINT_TYPES)
            raise element_error(joint, text, _key(joint, "joint type"), "type")
        if motion in ("revolute", "prismatic") and limit is None:
            text = f"a {motion} joint needs a <limit>"
            raise element_error(joint, text, _key(joint))
        axis = joint.find("axis")
        if axis is not None and motion not in ("fixed", "floating"):
            if math.hypot(*numbers(axis, "xyz")) < _LEAST_AXIS:
                text = f"'{shortened(axis.get('xyz'))}' has no direction"
                raise element_error(axis, text, _key(joint, "axis xyz"), "xyz")
        for element, name in (
            *((joint.find("dynamics"), name) for name in ("damping", "friction")),
            *((limit, name) for name in ("effort", "velocity")),
        ):
            value = number(element, name)
            if element is not None and value < 0:
                text = f"the {name} {value:g} is negative"
                key = _key(joint, f"{element.tag} {name}")
                raise element_error(element, text, key, name)
        lower, upper = number(limit, "lower"), number(limit, "upper")
        if limit is not None and lower > upper:
            text = f"the lower limit {lower:g} is above the upper {upper:g}"
            raise element_error(limit, text, _key(joint, "limit lower"), "lower")


def _check_mimics(robot: ET.Element) -> None:
    """Every joint that is followed is there, and follows nobody around to itself."""
    followed = {
        str(joint.get("name")): mimic
        for joint in robot.findall("joint")
        if (mimic := joint.find("mimic")) is not None
    }
    names = [str(joint.get("name")) for joint in robot.findall("joint")]
    for name, mimic in followed.items():
        key = f"joint {shortened(name)} <mimic joint>"
        other, seen = str(mimic.get("joint")), {name}
        if other not in names:
            text = f"no joint is called '{shortened(other)}'"
            text += suggestion(other, names)
            raise element_error(mimic, text, key, "joint")
        while other in followed and other not in seen:
            seen.add(other)
            other = str(followed[other].get("joint"))
        if other == name:
            text = "the joint follows itself"
            if len(seen) > 1:
                text += f" by way of '{shortened(mimic.get('joint'))}'"
            raise element_error(mimic, text, key, "joint")


def _check_inertias(robot: ET.Element) -> None:
    inertias: list[tuple[ET.Element, str]] = []
    total = 0.0
    for link in robot.findall("link"):
        element = link.find("inertial/mass")
        mass = number(element, "value")
        if element is not None and mass < 0:
            text = f"the mass {mass:g} is negative"
            raise element_error(element, text, _key(link, "mass value"), "value")
        total += mass
        element = link.find("inertial/inertia")
        if element is not None:
            inertias.append((element, _key(link, "inertia")))
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


def _notes(robot: ET.Element) -> Iterator[str]:
    """What the file says and the model does not do."""
    tiny: Counter[str] = Counter()
    for link in robot.findall("link"):
        for element in (*link.findall("visual"), *link.findall("collision")):
            shape = shape_of(element.find("geometry"))
            if shape is not None and is_tiny(shape):
                tiny[f"link {shortened(link.get('name'))}"] += 1
    if tiny:
        yield (
            f"shapes without extent are left out: {tiny.total()} of "
            f"{_listed(list(tiny))}"
        )
    mimics = [_key(j) for j in robot.findall("joint") if j.find("mimic") is not None]
    if mimics:
        yield f"<mimic> is not followed, the joint moves by itself: {_listed(mimics)}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def check_mass_matrix(model: pin.Model, path: Path) -> None:
    """Check that no motion out of the zero position has a negative kinetic energy.

    Raises:
        ModelFileError: one has.
    """
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
