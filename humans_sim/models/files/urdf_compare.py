# SPDX-License-Identifier: Apache-2.0
"""Whether pinocchio built what a URDF says, number by number.

urdfdom and pinocchio drop or replace what they do not understand without an error. This
reading of the file shares no code with them: it goes through the tree link by link,
puts links behind fixed joints into the body of the joint above them, as pinocchio does,
and compares masses, centres of mass, moments of inertia, places, axes, kinds and limits
of all joints with those of the model.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from humans_sim.core.bounded_text import element_error
from humans_sim.core.expressions import shortened
from humans_sim.models.files.urdf_elements import (
    NO_LIMIT,
    element_key,
    inertia_matrix,
    linked,
    number,
    numbers,
)

_ROUNDING = 1e-10
"""Sums and products may differ by this share of the largest term."""
_LEAST = 1e-15
"""And by this share of the robot's: pinocchio does not divide by masses below it."""
_TURN = 1e-9
"""Entries of rotation matrices and of unit vectors may differ by this."""
_BASE = 1
"""Pinocchio's joint between the world and the root link."""
_LIMITS = {
    "lower": "lowerPositionLimit",
    "upper": "upperPositionLimit",
    "effort": "upperEffortLimit",
    "velocity": "upperVelocityLimit",
}
_DYNAMICS = {
    "damping": "damping",
    "friction": "upperDryFrictionLimit",
    "armature": "armature",
}


@dataclass
class _Body:
    """A moving joint, and all links that move with it.

    Attributes:
        links: their elements.
        joint: element of the joint; None for the base.
        parent: number of pinocchio's joint above it.
        rotation: of the joint in the frame of the joint above (3, 3).
        position: of the joint in that frame [m].
        reach: sum of the distances that the position is made of [m].
        moments: mass, first moments, second moments about the joint's origin (10,).
        sizes: the largest terms of these sums.
    """

    links: list[ET.Element] = field(default_factory=list)
    joint: ET.Element | None = None
    parent: int = 0
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    reach: float = 0.0
    moments: np.ndarray = field(default_factory=lambda: np.zeros(10))
    sizes: np.ndarray = field(default_factory=lambda: np.zeros(3))


def compare_with_urdf(robot: ET.Element, model: pin.Model) -> None:
    """Check that a model is that of a URDF; an error has the line and the attribute."""
    joints: dict[str, list[ET.Element]] = defaultdict(list)
    children = set()
    for joint in robot.findall("joint"):
        joints[linked(joint, "parent")].append(joint)
        children.add(linked(joint, "child"))
    links = {str(link.get("name")): link for link in robot.findall("link")}
    root = next(name for name in links if name not in children)
    bodies = {_BASE: _Body()}
    places = [(root, _BASE, np.eye(3), np.zeros(3), 0.0)]
    while places:
        name, index, rotation, position, reach = places.pop()
        _add_link(bodies[index], links[name], rotation, position, reach)
        _compare_frame(model, links[name], index, rotation, position, reach)
        for joint in joints[name]:
            local_rotation, local_position = _origin(joint)
            turned = rotation @ local_rotation
            moved = position + rotation @ local_position
            far = reach + float(np.abs(local_position).sum())
            child = linked(joint, "child")
            if joint.get("type") == "fixed":
                places.append((child, index, turned, moved, far))
                continue
            if not model.existJointName(str(joint.get("name"))):
                text = "pinocchio left the joint out"
                raise element_error(joint, text, element_key(joint, "joint"))
            number_of_joint = int(model.getJointId(str(joint.get("name"))))
            bodies[number_of_joint] = _Body([], joint, index, turned, moved, far)
            places.append((child, number_of_joint, np.eye(3), np.zeros(3), 0.0))
    if model.njoints != len(bodies) + 1:
        text = f"it has {len(bodies) - 1} moving joints, pinocchio built "
        raise element_error(robot, f"{text}{model.njoints - 2}", "robot")
    _compare_inertias(model, bodies)
    data = model.createData()
    pin.computeJointJacobians(model, data, pin.neutral(model))
    for index, body in bodies.items():
        if body.joint is not None:
            _compare_joint(model, data, index, body, body.joint)


def _origin(element: ET.Element) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (turned about fixed axes x, y, z in this order) and position [m]."""
    origin = element.find("origin")
    roll, pitch, yaw = numbers(origin, "rpy", 0.0, 0.0, 0.0)
    position = np.array(numbers(origin, "xyz", 0.0, 0.0, 0.0))
    if roll == pitch == yaw == 0.0:
        return np.eye(3), position
    (cr, sr), (cp, sp), (cy, sy) = (
        (math.cos(angle), math.sin(angle)) for angle in (roll, pitch, yaw)
    )
    rotation = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
    return rotation, position


def _add_link(
    body: _Body,
    link: ET.Element,
    rotation: np.ndarray,
    position: np.ndarray,
    reach: float,
) -> None:
    """Add the moments of a link that lies so in the frame of its body."""
    body.links.append(link)
    inertial = link.find("inertial")
    if inertial is None:
        return
    mass = number(inertial.find("mass"), "value")
    inertia = inertial.find("inertia")
    own, centre = _origin(inertial)
    turned, com = rotation @ own, position + rotation @ centre
    second = np.zeros((3, 3))
    if inertia is not None:
        second = turned @ inertia_matrix(inertia) @ turned.T
    size = float(np.abs(second).max())
    second += mass * (com @ com * np.eye(3) - np.outer(com, com))
    body.moments += dynamic_parameters(mass, mass * com, second)
    far = reach + float(np.abs(centre).sum())
    body.sizes += (mass, mass * far, size + mass * far**2)


def dynamic_parameters(
    mass: float, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """In pinocchio's order: mass, first moments, xx, xy, yy, xz, yz, zz."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = second
    return np.array([mass, *first, xx, xy, yy, xz, yz, zz])


def _compare_inertias(model: pin.Model, bodies: dict[int, _Body]) -> None:
    words = (
        ("mass", "kg", slice(0, 1), "mass value"),
        ("first moments of mass", "kg m", slice(1, 4), "inertial"),
        ("moments of inertia", "kg m^2", slice(4, 10), "inertia"),
    )
    least = _LEAST * np.sum([body.sizes for body in bodies.values()], axis=0)
    for index, body in bodies.items():
        built = model.inertias[index].toDynamicParameters()
        for k, (quantity, unit, part, attribute) in enumerate(words):
            expected, computed = body.moments[part], built[part]
            allowed = _ROUNDING * body.sizes[k] + least[k]
            if not (np.abs(expected - computed) <= allowed).all():
                link = _culprit(model, body)
                more = f" with {len(body.links) - 1} fixed on it" * (
                    len(body.links) > 1
                )
                text = (
                    f"the file gives the link {shortened(body.links[0].get('name'))}"
                    f"{more} {quantity} of {_shown(expected)} {unit}, pinocchio built "
                    f"{_shown(computed)}"
                )
                raise element_error(link, text, element_key(link, attribute))


def _culprit(model: pin.Model, body: _Body) -> ET.Element:
    """The link whose mass is not the file's; pinocchio keeps those of fixed ones."""
    for link in body.links[1:]:
        expected = number(link.find("inertial/mass"), "value")
        frame = model.getFrameId(str(link.get("name")), pin.FrameType.BODY)
        built = model.frames[model.frames[frame].parentFrame].inertia.mass
        if abs(built - expected) > _ROUNDING * expected:
            return link
    return body.links[0]


def _compare_frame(
    model: pin.Model,
    link: ET.Element,
    index: int,
    rotation: np.ndarray,
    position: np.ndarray,
    reach: float,
) -> None:
    """Compare the place of a link in the body that it moves with."""
    name = str(link.get("name"))
    if not model.existFrame(name, pin.FrameType.BODY):
        raise element_error(
            link, "pinocchio left the link out", element_key(link, "link")
        )
    frame = model.frames[model.getFrameId(name, pin.FrameType.BODY)]
    if frame.parentJoint != index:
        text = f"it moves with the joint {model.names[frame.parentJoint]} in the model"
        raise element_error(link, text, element_key(link, "link"))
    fault = _place_fault(frame.placement, rotation, position, reach)
    if fault:
        raise element_error(link, fault, element_key(link, "origin"))


def _place_fault(
    placement: pin.SE3, rotation: np.ndarray, position: np.ndarray, reach: float
) -> str:
    # Asked this way round, a difference that is no number is one, too.
    if not np.abs(placement.translation - position).max() <= _ROUNDING * reach:
        return (
            f"its origin lies at {_shown(position)} m in the file, at "
            f"{_shown(placement.translation)} m in the model"
        )
    if not np.abs(placement.rotation - rotation).max() <= _TURN:
        return "its origin is turned otherwise in the model than in the file"
    return ""


def _compare_joint(
    model: pin.Model, data: pin.Data, index: int, body: _Body, element: ET.Element
) -> None:
    joint, kind = model.joints[index], element.get("type")
    if model.parents[index] != body.parent:
        above = model.names[model.parents[index]]
        text = f"its parent moves with the joint {above} in the model"
        raise element_error(element, text, element_key(element, "parent"))
    placement = model.jointPlacements[index]
    fault = _place_fault(placement, body.rotation, body.position, body.reach)
    if fault:
        raise element_error(element, fault, element_key(element, "origin"))
    expected = np.zeros(6)
    axis = np.array(numbers(element.find("axis"), "xyz", 1.0, 0.0, 0.0))
    part = slice(0, 3) if kind == "prismatic" else slice(3, 6)
    expected[part] = axis / np.linalg.norm(axis)
    motion = pin.getJointJacobian(model, data, index, pin.ReferenceFrame.LOCAL)
    motion = motion[:, joint.idx_v : joint.idx_v + joint.nv]
    if motion.shape != (6, 1) or not np.abs(motion[:, 0] - expected).max() <= _TURN:
        text = (
            f"a {kind} joint about or along {_shown(axis)} moves by {_shown(motion.T)} "
            "in the model"
        )
        raise element_error(element, text, element_key(element, "axis xyz"))
    endless = joint.nq == 2 or (
        np.isneginf(model.lowerPositionLimit[joint.idx_q])
        and np.isposinf(model.upperPositionLimit[joint.idx_q])
    )
    if joint.nq == 2 if kind != "continuous" else not endless:
        text = f"a {kind} joint is a {joint.shortname()} in the model"
        raise element_error(element, text, element_key(element, "joint type"))
    _compare_limits(model, joint, element)


def _compare_limits(
    model: pin.Model, joint: pin.JointModel, element: ET.Element
) -> None:
    for part, names in (("limit", _LIMITS), ("dynamics", _DYNAMICS)):
        given = element.find(part)
        if given is None:
            continue
        for name, attribute in names.items():
            if element.get("type") == "continuous" and name in ("lower", "upper"):
                continue
            place = joint.idx_q if name in ("lower", "upper") else joint.idx_v
            expected = number(given, name)
            built = float(getattr(model, attribute)[place])
            endless = abs(built) >= NO_LIMIT and built * expected > 0.0
            if not math.isclose(expected, built, rel_tol=1e-14) and not (
                endless and abs(expected) >= NO_LIMIT
            ):
                text = f"{expected!r} in the file, {built!r} in the model"
                raise element_error(
                    given, text, element_key(element, f"{part} {name}"), name
                )


def _shown(values: np.ndarray) -> str:
    return " ".join(f"{value:g}" for value in np.ravel(values))
