# SPDX-License-Identifier: Apache-2.0
"""Joints of a URDF: what they may be, and what is settled before a model is built.

Files as they are in the world leave things open that a model must know. They are
settled in the elements themselves, so that all who read the model's URDF see the same,
and each change is a note for people:

- A revolute joint without ``<limit>``, and a continuous one, turns without end. A
  continuous joint with an upper limit above a lower one keeps them.
- Efforts and speeds that are missing are unlimited.
- A joint that follows another (``<mimic>``) is locked where it stands while that one is
  at zero; one that carries joints of its own, as in a leg, moves by itself.
- A joint that moves no inertia, as of fingers without mass, is locked at zero: no
  finite torque would move it finitely.
- A root link without mass on a floating joint stands for the world and is left out: the
  floating base takes its place.

Locked joints become fixed ones; their links keep their masses, shapes and names.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator, Mapping
from copy import deepcopy

import numpy as np
import pinocchio as pin

from humans_sim.core.bounded_text import element_error
from humans_sim.core.expressions import shortened
from humans_sim.models.files.urdf_elements import (
    JOINT_TYPES,
    MOMENTS,
    NO_LIMIT,
    add_part,
    element_key,
    linked,
    listed,
    number,
    numbers,
    suggestion,
    written,
)

_LEAST_AXIS = 1e-6
"""Shorter axes of joints have no direction to rely on."""
DYNAMICS = ("damping", "friction", "armature")
"""Of joints: what brakes them [N m s/rad, N m], and inertia of rotors [kg m^2]. The
last is an extension that simulators read; urdfdom does not."""
_NO_INERTIA = 1e-10
"""What a joint moves, in shares of the robot's largest moment of inertia or mass."""


def check_joints(robot: ET.Element) -> None:
    """Check types, axes and limits, and that joints follow each other in no circle."""
    for joint in robot.findall("joint"):
        motion, limit = joint.get("type", ""), joint.find("limit")
        if motion not in JOINT_TYPES:
            text = f"'{shortened(motion)}' is no type of a joint"
            text += suggestion(motion, JOINT_TYPES)
            raise element_error(joint, text, element_key(joint, "joint type"), "type")
        axis = joint.find("axis")
        if axis is not None and motion not in ("fixed", "floating"):
            if math.hypot(*numbers(axis, "xyz")) < _LEAST_AXIS:
                text = f"'{shortened(axis.get('xyz'))}' has no direction"
                raise element_error(axis, text, element_key(joint, "axis xyz"), "xyz")
        for element, name in (
            *((joint.find("dynamics"), name) for name in DYNAMICS),
            *((limit, name) for name in ("effort", "velocity")),
        ):
            value = number(element, name)
            if element is not None and value < 0:
                text = f"the {name} {value:g} is negative"
                key = element_key(joint, f"{element.tag} {name}")
                raise element_error(element, text, key, name)
        lower, upper = number(limit, "lower"), number(limit, "upper")
        if limit is not None and lower > upper:
            text = f"the lower limit {lower:g} is above the upper {upper:g}"
            raise element_error(limit, text, element_key(joint, "limit lower"), "lower")
    _check_mimics(robot)


def _check_mimics(robot: ET.Element) -> None:
    """Every joint that is followed is there, and follows nobody around to itself."""
    followed = _mimics(robot)
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


def _mimics(robot: ET.Element) -> dict[str, ET.Element]:
    """Elements ``<mimic>`` by the joint that follows."""
    return {
        str(joint.get("name")): mimic
        for joint in robot.findall("joint")
        if (mimic := joint.find("mimic")) is not None
    }


def settle_joints(robot: ET.Element) -> Iterator[str]:
    """Settle what the file leaves open (above), in a robot that was checked.

    Yields:
        What was changed, for people; joints that move no inertia are not yet known.
    """
    yield from _without_world(robot)
    yield from _lock_followers(robot)
    endless, unlimited, limited = [], [], []
    for joint in robot.findall("joint"):
        motion, limit = joint.get("type"), joint.find("limit")
        if motion == "fixed":
            continue
        if motion in ("floating", "planar"):
            text = f"a {motion} joint inside a robot cannot be used: make it fixed"
            raise element_error(joint, text, element_key(joint, "joint type"), "type")
        name = str(joint.get("name"))
        if limit is None:
            limit = add_part(joint, "limit")
            if motion == "revolute":
                joint.set("type", "continuous")
                endless.append(name)
            elif motion == "prismatic":
                limit.set("lower", repr(-NO_LIMIT))
                limit.set("upper", repr(NO_LIMIT))
                endless.append(name)
        elif motion == "continuous" and number(limit, "lower") < number(limit, "upper"):
            joint.set("type", "revolute")
            limited.append(name)
        missing = [word for word in ("effort", "velocity") if word not in limit.attrib]
        for word in missing:
            limit.set(word, repr(NO_LIMIT))
        if missing:
            unlimited.append(name)
    if limited:
        yield f"continuous joints keep the limits they have: {listed(limited)}"
    if endless:
        yield f"no <limit>, no end of their range: {listed(endless)}"
    if unlimited:
        yield f"no limit of effort or velocity: {listed(unlimited)}"


def _without_world(robot: ET.Element) -> Iterator[str]:
    """Leave out the world below a floating joint."""
    below = {linked(joint, "child") for joint in robot.findall("joint")}
    for link in robot.findall("link"):
        name = link.get("name", "")
        hanging = [j for j in robot.findall("joint") if linked(j, "parent") == name]
        if name in below or [j.get("type") for j in hanging] != ["floating"]:
            continue
        if link.find("inertial") is None and link.find("collision") is None:
            robot.remove(link)
            robot.remove(hanging[0])
            yield (
                f"the link {shortened(name)} and the joint "
                f"{shortened(hanging[0].get('name'))} stand for the floating base"
            )


def _lock_followers(robot: ET.Element) -> Iterator[str]:
    """Lock joints that follow others, unless others hang on them."""
    mimics = _mimics(robot)
    below: dict[str, list[ET.Element]] = defaultdict(list)
    for joint in robot.findall("joint"):
        below[linked(joint, "parent")].append(joint)

    def carries(joint: ET.Element) -> bool:
        """Whether joints that move by themselves hang on it."""
        waiting = [joint]
        while waiting:
            for other in below[linked(waiting.pop(), "child")]:
                if other.get("type") != "fixed" and other.get("name") not in mimics:
                    return True
                waiting.append(other)
        return False

    locked, kept = [], []
    for joint in robot.findall("joint"):
        name = str(joint.get("name"))
        if name not in mimics or joint.get("type") == "fixed":
            continue
        if carries(joint):
            kept.append(name)
        else:
            value = _follows(mimics, name)
            lock(joint, value)
            at = "" if value == 0.0 else f" at {value:g}"
            locked.append(f"{name}{at} (follows {mimics[name].get('joint')})")
    if locked:
        yield f"locked: {listed(locked)}"
    if kept:
        yield f"<mimic> is not followed, the joint moves by itself: {listed(kept)}"


def _follows(mimics: Mapping[str, ET.Element], name: str) -> float:
    """Where a joint stands while the one that leads it is at zero [rad, m]."""
    factor, value = 1.0, 0.0
    while name in mimics:
        value += factor * number(mimics[name], "offset")
        factor *= number(mimics[name], "multiplier", 1.0)
        name = str(mimics[name].get("joint"))
    return value


def lock(joint: ET.Element, value: float = 0.0) -> None:
    """Make a joint a fixed one, at an angle or a distance [rad, m]."""
    axis = np.array(numbers(joint.find("axis"), "xyz", 1.0, 0.0, 0.0))
    kind = joint.get("type", "")
    joint.set("type", "fixed")
    for part in ("mimic", "limit", "dynamics", "safety_controller", "calibration"):
        for element in joint.findall(part):
            joint.remove(element)
    if value == 0.0:
        return
    origin = joint.find("origin")
    pose = pin.SE3(
        pin.rpy.rpyToMatrix(np.array(numbers(origin, "rpy", 0.0, 0.0, 0.0))),
        np.array(numbers(origin, "xyz", 0.0, 0.0, 0.0)),
    )
    along = axis / np.linalg.norm(axis) * value
    set_origin(joint, pose * displaced(kind, along))


def set_origin(element: ET.Element, pose: pin.SE3) -> None:
    """Give a joint, an inertia or a shape its pose [m]."""
    origin = element.find("origin")
    if origin is None:
        origin = add_part(element, "origin")
    origin.set("xyz", written(pose.translation))
    origin.set("rpy", written(pin.rpy.matrixToRpy(pose.rotation)))


def add_inertial(
    link: ET.Element,
    source: ET.Element,
    mass: float,
    pose: pin.SE3,
    moments: np.ndarray,
) -> None:
    """Add the inertia of a link.

    Args:
        link: of the URDF.
        source: element with its place.
        mass: [kg].
        pose: of the centre of mass and the axes of the moments, on the link [m].
        moments: of inertia about the centre (3, 3) [kg m^2].
    """
    inertial = add_part(link, "inertial", source)
    set_origin(inertial, pose)
    add_part(inertial, "mass", value=written(mass))
    values = map(written, moments[np.triu_indices(3)])
    add_part(inertial, "inertia", None, **dict(zip(MOMENTS, values, strict=True)))


def displaced(kind: str, along: np.ndarray) -> pin.SE3:
    """The pose to which a joint moves from zero.

    Args:
        kind: type of the joint: ``prismatic``, others turn.
        along: its coordinate, as a vector along its axis (3,) [rad, m].
    """
    if kind == "prismatic":
        return pin.SE3(np.eye(3), along)
    return pin.SE3(pin.exp3(along), np.zeros(3))


def lock_without_inertia(robot: ET.Element, model: pin.Model) -> list[str]:
    """Lock joints that move no inertia, the last ones first; their names.

    Args:
        robot: with the joints to lock.
        model: pinocchio's of it.
    """
    matrix = np.diag(pin.crba(model, model.createData(), pin.neutral(model)))
    largest = {"revolute": matrix[3:6].max(), "prismatic": matrix[:3].max()}
    elements = {str(joint.get("name")): joint for joint in robot.findall("joint")}
    held: set[int] = set()
    for index in range(model.njoints - 1, 1, -1):
        # Nothing moves behind the joint: what it moves does not depend on the posture.
        if not held.issuperset(model.children[index]):
            continue
        element, column = elements[model.names[index]], model.joints[index].idx_v
        kind = "prismatic" if element.get("type") == "prismatic" else "revolute"
        if not matrix[column] > _NO_INERTIA * largest[kind]:
            held.add(index)
    for index in held:
        lock(elements[model.names[index]])
    return [model.names[index] for index in sorted(held)]


def moving_copy(robot: ET.Element) -> ET.Element:
    """The robot as pinocchio shall read it: what moves, without shapes.

    Continuous joints are revolute ones without an end there: their angles are one
    coordinate then, as those of all others here.
    """
    moving = deepcopy(robot)
    for link in moving.findall("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    for joint in moving.findall("joint"):
        dynamics = joint.find("dynamics")
        if dynamics is not None:  # urdfdom wants one of the two that it knows
            dynamics.attrib.setdefault("damping", "0")
        if joint.get("type") == "continuous":
            joint.set("type", "revolute")
            limit = joint.find("limit")
            if limit is None:
                limit = add_part(joint, "limit")
                limit.attrib.update(effort=repr(NO_LIMIT), velocity=repr(NO_LIMIT))
            limit.set("lower", repr(-NO_LIMIT))
            limit.set("upper", repr(NO_LIMIT))
    return moving


def add_rotors(robot: ET.Element, model: pin.Model) -> None:
    """Give a model the inertia of rotors, which pinocchio does not read."""
    for joint in robot.findall("joint"):
        armature = number(joint.find("dynamics"), "armature")
        if armature and model.existJointName(str(joint.get("name"))):
            column = model.joints[model.getJointId(str(joint.get("name")))].idx_v
            model.armature[column] = armature


def lift_limits(model: pin.Model) -> None:
    """Make limits infinite that stand for none."""
    for name in (
        *("lowerPositionLimit", "upperPositionLimit"),
        *("lowerEffortLimit", "upperEffortLimit"),
        *("lowerVelocityLimit", "upperVelocityLimit"),
    ):
        values = np.array(getattr(model, name))
        beyond = np.abs(values) >= NO_LIMIT
        values[beyond] = np.copysign(np.inf, values[beyond])
        setattr(model, name, values)
