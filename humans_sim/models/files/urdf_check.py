# SPDX-License-Identifier: Apache-2.0
"""Whether a URDF can be the description of a body: names, numbers, masses, limits."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ModelFileError
from humans_sim.core.expressions import shortened

MOST_LINKS = 1000
"""Links of a robot; pinocchio calls itself for each link of a chain."""
_LARGEST = 1e9
"""Lengths, masses and moments beyond it are mistakes [m, kg, kg m^2]."""
_LARGEST_LIMIT = 1e30
"""Limits beyond it overflow; large ones stand for none [rad, N m, rad/s]."""
_UNPHYSICAL = 0.05
"""Moments may miss what a solid can have by this share of the robot's largest: small
parts in published data do."""
_INDEFINITE = 1e-9
"""How far below zero the mass matrix may go, in shares of its largest eigenvalue."""
_NUMBERS = ("xyz", "rpy", "value", "ixx", "iyy", "izz", "ixy", "ixz", "iyz") + (
    "size",
    "radius",
    "length",
    "scale",
    "damping",
    "friction",
    "multiplier",
    "offset",
)
_LIMITS = ("lower", "upper", "effort", "velocity")
_ANYTHING = ("param", "texture", "plugin", "gazebo")
"""Elements whose attributes are not those of a body."""
_FOREIGN = ("ros2_control", "gazebo", "transmission")
"""Parts of a robot that are for others, with all that is in them."""


def check_urdf(robot: ET.Element, path: Path) -> None:
    """Check the elements of a URDF before pinocchio reads it.

    Raises:
        ModelFileError: the robot has no links, or too many; a joint hangs on a link
            that is not there, on one that has another joint, or on itself; it has no
            limits, or they are exchanged; a number is none or absurd;
            a mass is negative; moments of inertia are those of no solid.
    """
    if robot.tag != "robot":
        raise ModelFileError(
            "the root element is not <robot>", path, key=shortened(robot.tag)
        )
    links = {link.get("name") for link in robot.iter("link")}
    if not links:
        raise ModelFileError("the robot has no link", path, key="robot")
    if len(links) > MOST_LINKS:
        raise ModelFileError(
            f"the robot has {len(links)} links, more than {MOST_LINKS}", path
        )
    for joint in robot.findall("joint"):
        where = f"joint {joint.get('name')}"
        for end in ("parent", "child"):
            element = joint.find(end)
            name = None if element is None else element.get("link")
            if name not in links:
                raise ModelFileError(
                    f"its {end} link is '{shortened(name)}'", path, key=where
                )
    _check_tree(robot, path)
    for part in robot:
        for element in part.iter() if part.tag not in _FOREIGN else ():
            if element.tag not in _ANYTHING:
                _check_numbers(element, path)
    _check_limits(robot, path)
    _check_inertias(robot, path)


def _check_tree(robot: ET.Element, path: Path) -> None:
    """One link without a parent, all others on one joint each below it."""
    for kind in ("link", "joint"):
        names = Counter(item.get("name") for item in robot.findall(kind))
        common, count = names.most_common(1)[0] if names else ("", 0)
        if count > 1:
            text = f"{count} {kind}s have this name"
            raise ModelFileError(text, path, key=f"{kind} {shortened(common)}")
    parents: dict[str, str] = {}
    for joint in robot.findall("joint"):
        where, motion = f"joint {joint.get('name')}", joint.get("type")
        child, parent = (_linked(joint, end) for end in ("child", "parent"))
        if child in parents:
            text = f"its child link '{shortened(child)}' is that of another joint, too"
            raise ModelFileError(text, path, key=where)
        parents[child] = parent
        if motion in ("revolute", "prismatic") and joint.find("limit") is None:
            raise ModelFileError(f"a {motion} joint needs a <limit>", path, key=where)
    links = [str(link.get("name")) for link in robot.findall("link")]
    roots = [link for link in links if link not in parents]
    if len(roots) > 1:
        first, second = (shortened(name) for name in roots[:2])
        text = f"'{first}' and '{second}' are both on no joint: a robot is one tree"
        raise ModelFileError(text, path)
    below = set(roots)
    for link in links:
        above: list[str] = []
        while link in parents and link not in below:
            if link in above:
                text = "it is above itself: joints form a circle"
                raise ModelFileError(text, path, key=f"link {shortened(link)}")
            above.append(link)
            link = parents[link]
        below.update(above)


def _linked(joint: ET.Element, end: str) -> str:
    element = joint.find(end)
    return "" if element is None else str(element.get("link"))


def _check_numbers(element: ET.Element, path: Path) -> None:
    for names, largest in ((_NUMBERS, _LARGEST), (_LIMITS, _LARGEST_LIMIT)):
        for name in names:
            text = element.get(name)
            if text is None:
                continue
            where = f"<{element.tag} {name}>"
            try:
                numbers = [float(word) for word in text.split()]
            except ValueError:
                numbers = [math.nan]
            if not all(map(math.isfinite, numbers)) or "_" in text:
                message = f"'{shortened(text)}' is not made of finite numbers"
                raise ModelFileError(message, path, key=where)
            if any(abs(number) > largest for number in numbers):
                message = f"'{shortened(text)}' is too large a number"
                raise ModelFileError(message, path, key=where)


def _number(element: ET.Element | None, name: str) -> float:
    text = "" if element is None else element.get(name, "")
    words = text.split()
    return float(words[0]) if words else 0.0


def _check_limits(robot: ET.Element, path: Path) -> None:
    for joint in robot.findall("joint"):
        for name in ("damping", "friction"):
            value = _number(joint.find("dynamics"), name)
            if value < 0:
                raise ModelFileError(
                    f"the {name} {value:g} is negative",
                    path,
                    key=f"joint {joint.get('name')}",
                )
        limit = joint.find("limit")
        if limit is None:
            continue
        where = f"joint {joint.get('name')}"
        lower, upper = _number(limit, "lower"), _number(limit, "upper")
        if lower > upper:
            raise ModelFileError(
                f"the lower limit {lower:g} is above the upper {upper:g}",
                path,
                key=where,
            )
        for name in ("effort", "velocity"):
            if _number(limit, name) < 0:
                raise ModelFileError(
                    f"the {name} {_number(limit, name):g} is negative", path, key=where
                )


def _check_inertias(robot: ET.Element, path: Path) -> None:
    inertias: dict[str, np.ndarray] = {}
    for link in robot.iter("link"):
        where = f"link {link.get('name')}"
        mass = _number(link.find("inertial/mass"), "value")
        if mass < 0:
            raise ModelFileError(f"the mass {mass:g} is negative", path, key=where)
        element = link.find("inertial/inertia")
        xx, yy, zz, xy, xz, yz = (
            _number(element, name)
            for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        )
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        inertias[where] = np.linalg.eigvalsh(matrix)
    largest = max((float(moments[2]) for moments in inertias.values()), default=0.0)
    for where, (least, middle, most) in inertias.items():
        # Each moment is above zero, and none is above the sum of the others.
        missing = max(-least, most - least - middle)
        if missing > _UNPHYSICAL * max(largest, 0.0) and missing > 0:
            raise ModelFileError(
                f"no solid has the principal moments of inertia {least:g}, {middle:g}, "
                f"{most:g} kg m^2",
                path,
                key=where,
            )


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
