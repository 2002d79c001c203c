# SPDX-License-Identifier: Apache-2.0
"""MJCF, the model files of MuJoCo, as the URDF that says the same.

What a robot is is read: bodies, frames, hinge and slide joints with their ranges,
damping, dry friction and armature, inertias (given, or of the geoms), geoms that
collide and that are drawn, limits of forces, included files, classes of defaults.
Numbers arrive to the last bit, rotations to rounding. What belongs to a simulation or
to pictures (options, contact parameters, materials, sites, sensors, keyframes, static
bodies of the world) is left out. What would make another robot if it were left out is
refused with its line: loops (``connect``, ``weld``), ball joints, springs, plugins.

Where MJCF and URDF differ:

- A body with several joints becomes as many links, all but the last without mass.
- A joint that is not at its body's origin becomes the origin of the link; what is on
  the body is moved the other way.
- Coupled joints (``<equality><joint>``) become ``<mimic>``; where the law is not
  linear, its tangent counts where the joint that leads is at zero.
- Geoms that collide with nothing (``contype`` and ``conaffinity`` zero, and in no
  ``<pair>``) are drawn alone; a body that has only such touches nothing.
- The torque limit of a joint is the sum of its actuators', or its own where that is
  less; with limits of two sizes, forwards and backwards, the smaller counts.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Container, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pinocchio as pin

from humans_sim.core.bounded_text import element_at, element_error
from humans_sim.core.expressions import shortened
from humans_sim.models.files.mjcf_elements import (
    BODY_PARTS,
    LEFT_OUT,
    MjcfElement,
    MjcfFile,
    base_body,
    element_name,
    geom_size,
    is_free,
    mjcf_error,
    solid_inertia,
    unread,
)
from humans_sim.models.files.urdf_elements import (
    NO_LIMIT,
    add_part,
    element_key,
    listed,
    suggestion,
    written,
)
from humans_sim.models.files.urdf_joints import (
    add_inertial,
    displaced,
    lock,
    set_origin,
)

ROOT = "mujoco"
"""The root element of such a file."""
_COLLISION_GROUP = 3
"""Where files, by convention, have geoms that other files let collide by pairs."""
_DENSITY = 1000.0
"""Of geoms without one [kg/m^3]."""
_ELLIPSOID = "package://humans_sim/urdf/meshes/ellipsoid.stl"
_FORCES = ("general", "motor")
"""Actuators whose control is a force, times their gain."""
_TYPES = {"hinge": "revolute", "slide": "prismatic"}
"""Types of joints, and of those of a URDF."""
_GEOMS = ("sphere", "capsule", "cylinder", "box", "ellipsoid", "mesh")


@dataclass(frozen=True)
class MjcfRobot:
    """A robot of an MJCF file.

    Attributes:
        robot: as the URDF that says the same; elements know their lines in the MJCF.
        notes: what was left out or taken otherwise.
        exclude: pairs of links that go through each other.
    """

    robot: ET.Element
    notes: tuple[str, ...]
    exclude: tuple[tuple[str, str], ...]


def read_mjcf(root: ET.Element, path: Path) -> MjcfRobot:
    """The robot of a file whose root element was read.

    Raises:
        ModelFileError: the file is malformed, its robot is none here (above), or it
            has several.
    """
    file = MjcfFile(root, path)
    plain = _Robot(file, by_group=False).read()
    if _touching(plain.robot):
        return plain
    grouped = _Robot(file, by_group=True).read()
    if not _touching(grouped.robot):
        return plain
    note = f"no geom collides in the file: those of group {_COLLISION_GROUP} do here"
    return replace(grouped, notes=(*grouped.notes, note))


@dataclass
class _Link:
    """A link of the URDF.

    Attributes:
        element: of the URDF.
        local: pose of its body's frame on it [m].
        inertial: element of the body.
        solids: mass [kg], centre (3,) [m] and moments about it (3, 3) [kg m^2] of
            geoms, in the link.
        collides: whether a geom collides.
        draws: whether a geom is drawn alone.
    """

    element: ET.Element
    local: pin.SE3
    inertial: ET.Element | None = None
    solids: list[tuple[float, np.ndarray, np.ndarray]] = field(default_factory=list)
    collides: bool = False
    draws: bool = False


class _Robot:
    """Builds the URDF of a file.

    Args:
        file: with its settings and defaults.
        by_group: whether geoms collide that are in the group for it.
    """

    def __init__(self, file: MjcfFile, by_group: bool) -> None:
        self._file = file
        self._root = file.root
        self._ref: dict[str, float] = {}
        self._notes: list[str] = []
        self._by_group = by_group
        self._paired = {
            pair.get(end)
            for pair in self._root.findall("contact/pair")
            for end in ("geom1", "geom2")
        } - {None}
        self._names: set[str] = set()
        self._joints: dict[str, ET.Element] = {}
        name = self._root.get("model", "robot")
        self._robot = element_at(self._root, "robot", {"name": name})

    def read(self) -> MjcfRobot:
        for tag in ("extension", "deformable"):
            for element in self._root.findall(tag):
                if len(element):
                    raise mjcf_error(element, f"<{tag}> is not read")
        base, childclass, notes = base_body(self._root)
        self._notes += notes
        self._names.update(b.get("name", "") for b in base.iter("body"))
        self._body(base, None, pin.SE3.Identity(), childclass)
        self._forces()
        self._couple()
        self._check_tendons()
        excluded = tuple(self._excluded())
        return MjcfRobot(self._robot, tuple(self._notes), excluded)

    # Bodies and joints.

    def _body(
        self, element: ET.Element, parent: _Link | None, outer: pin.SE3, childclass: str
    ) -> None:
        """Make a body's links and joints, and those below it.

        Args:
            element: of the body.
            parent: the link that it hangs on; None for the base.
            outer: frame that the body's pose is given in, on the link of the parent.
            childclass: class of what names none.
        """
        body = self._file.read(element, childclass)
        childclass = element.get("childclass", childclass)
        if body.number("gravcomp") != 0.0:
            text = "weight that is taken off is not simulated: set it to 0"
            raise body.error(text, "gravcomp")
        name = element.get("name") or self._free_name("body")
        link = _Link(element_at(element, "link", {"name": name}), pin.SE3.Identity())
        link.inertial = element.find("inertial")
        self._robot.append(link.element)
        if parent is not None:
            if is_free(element):
                text = "a free joint inside a robot cannot be used: leave it out"
                raise body.error(text)
            above = str(parent.element.get("name"))
            link.local = self._hang(body, above, name, outer * body.pose(), childclass)
        elif any(joint.get("type") != "free" for joint in element.findall("joint")):
            text = "it moves along joints in the world: give it a <freejoint/> alone"
            raise body.error(text)
        self._contents(element, link, link.local, childclass)
        self._finish(element, link)

    def _free_name(self, wish: str) -> str:
        """A name that no body has."""
        name = _unused(wish, self._names)
        self._names.add(name)
        return name

    def _hang(
        self, body: MjcfElement, above: str, name: str, pose: pin.SE3, childclass: str
    ) -> pin.SE3:
        """Hang a link by the joints of its body.

        Args:
            body: of the link.
            above: name of the parent link.
            name: of the link.
            pose: of the body on the parent link, joints at their references [m].
            childclass: class of joints that name none.

        Returns:
            The pose of the body on its link [m].
        """
        sources = body.element.findall("joint")
        if not sources:
            own = _unused(f"{name}_fixed", self._joints)
            self._joint(body.element, own, "fixed", (above, name), pose)
            return pin.SE3.Identity()
        for source in sources:
            item = self._file.read(source, childclass)
            kind = item.get("type", "hinge")
            if kind not in _TYPES:
                text = f"a {shortened(kind)} joint inside a robot is not read"
                text += ": make it hinges" if kind == "ball" else ""
                raise item.error(text, "type")
            own = source.get("name") or _unused(f"{name}_joint", self._joints)
            below = name
            if source is not sources[-1]:
                below = self._free_name(f"{own}_link")
                add_part(self._robot, "link", source, name=below)
            axis, anchor = item.direction("axis", 0.0, 0.0, 1.0), item.position()
            unit = item.compiler.angle if kind == "hinge" else 1.0
            self._ref[own] = ref = item.number("ref") * unit
            start = pin.SE3(np.eye(3), anchor) * displaced(_TYPES[kind], -ref * axis)
            joint = self._joint(source, own, _TYPES[kind], (above, below), pose * start)
            add_part(joint, "axis", xyz=written(axis))
            self._limit(joint, item, unit)
            above, pose = below, pin.SE3(np.eye(3), -anchor)
        return pose

    def _joint(
        self,
        source: ET.Element,
        name: str,
        kind: str,
        links: tuple[str, str],
        pose: pin.SE3,
    ) -> ET.Element:
        """Add a joint between two links, at a pose on the first [m]."""
        if name in self._joints:
            raise element_error(source, "two joints have this name", f"joint {name}")
        joint = add_part(self._robot, "joint", source, name=name, type=kind)
        self._joints[name] = joint
        add_part(joint, "parent", link=links[0])
        add_part(joint, "child", link=links[1])
        set_origin(joint, pose)
        return joint

    def _limit(self, joint: ET.Element, source: MjcfElement, unit: float) -> None:
        """Range, largest force and what brakes a joint; ``unit`` of its range."""
        for name, counts in (("stiffness", (1, 2, 3)), ("springdamper", (2,))):
            if any(source.numbers(name, counts)):
                text = f"springs in joints are not simulated: leave the {name} out"
                raise source.error(text, name)
        low, high = source.bounds("range", "limited")
        effort = self._largest(source, "actuatorfrcrange", "actuatorfrclimited")
        limit = add_part(joint, "limit")
        if math.isfinite(low):
            limit.attrib.update(lower=repr(low * unit), upper=repr(high * unit))
        elif joint.get("type") == "revolute":
            joint.set("type", "continuous")
        else:
            limit.attrib.update(lower=repr(-NO_LIMIT), upper=repr(NO_LIMIT))
        limit.set("effort", repr(min(effort, NO_LIMIT)))
        limit.set("velocity", repr(NO_LIMIT))
        damping = source.numbers("damping", (1, 2, 3), 0.0)
        if any(damping[1:]):
            text = "damping that is not linear is not simulated"
            raise source.error(text, "damping")
        values = {
            "damping": damping[0],
            "friction": source.number("frictionloss"),
            "armature": source.number("armature"),
        }
        if any(values.values()):
            attributes = {name: repr(value) for name, value in values.items()}
            add_part(joint, "dynamics", None, **attributes)

    def _largest(self, source: MjcfElement, name: str, switch: str) -> float:
        """What a range allows both ways."""
        low, high = source.bounds(name, switch)
        if low > 0.0 or high < 0.0:
            raise source.error(f"zero is not between {low:g} and {high:g}", name)
        if -low != high:
            self._notes.append(
                f"{element_name(source.element)}: of the limits {low:g} and {high:g} "
                "of its force the smaller counts both ways"
            )
        return min(-low, high)

    def _contents(
        self, element: ET.Element, link: _Link, pose: pin.SE3, childclass: str
    ) -> None:
        """Geoms and bodies of a body, or of a frame in it at a pose on the link."""
        for child in element:
            if child.tag == "geom":
                self._geom(self._file.read(child, childclass), link, pose)
            elif child.tag == "body":
                self._body(child, link, pose, childclass)
            elif child.tag == "frame":
                frame = self._file.read(child, childclass)
                inner = child.get("childclass", childclass)
                self._contents(child, link, pose * frame.pose(), inner)
            elif child.tag == "inertial":
                if child is not link.inertial:
                    raise mjcf_error(child, "leave one, in the body")
            elif child.tag in ("joint", "freejoint"):
                if element.tag != "body":
                    text = "a joint in a <frame> is not read: put it into the body"
                    raise mjcf_error(child, text)
            elif child.tag not in LEFT_OUT:
                raise unread(element, child, BODY_PARTS)

    # Inertias and shapes.

    def _finish(self, element: ET.Element, link: _Link) -> None:
        """Give a link its inertia; what is drawn alone shall not touch."""
        from_geoms = self._file.compiler.from_geoms
        if link.inertial is not None and from_geoms != "true":
            self._inertial(element, link.inertial, link)
        elif from_geoms != "false" and link.solids:
            mass = sum(solid[0] for solid in link.solids)
            centre = sum((m * c for m, c, _ in link.solids), np.zeros(3)) / mass
            moments = np.zeros((3, 3))
            for part, place, about in link.solids:
                arm = place - centre
                moments += about + part * (arm @ arm * np.eye(3) - np.outer(arm, arm))
            pose = pin.SE3(np.eye(3), centre)
            add_inertial(link.element, element, mass, pose, moments)
        if link.draws and not link.collides:
            nothing = add_part(link.element, "collision")
            add_part(add_part(nothing, "geometry"), "sphere", radius="0")
        if link.collides and not link.draws:
            for shape in link.element.findall("collision"):
                add_part(link.element, "visual").extend(shape)

    def _inertial(self, body: ET.Element, element: ET.Element, link: _Link) -> None:
        """Give a link the inertia that the file has for its body."""
        inertial = self._file.read(element)
        for name in ("pos", "mass"):
            if name not in inertial.attributes:
                text, key = f"the attribute '{name}' is missing", "inertial"
                raise element_error(element, text, element_key(body, key))
        if "fullinertia" in inertial.attributes:
            xx, yy, zz, xy, xz, yz = inertial.numbers("fullinertia", 6)
            moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            moments = np.diag(inertial.numbers("diaginertia", 3, 0.0, 0.0, 0.0))
        mass, pose = inertial.number("mass"), link.local * inertial.pose()
        add_inertial(link.element, element, mass, pose, moments)

    def _geom(self, geom: MjcfElement, link: _Link, pose: pin.SE3) -> None:
        """Add a shape to a link, and its mass.

        Args:
            geom: in the file.
            link: that it is on.
            pose: of the frame around the geom, on the link [m].
        """
        kind = geom.get("type", "sphere")
        if kind not in _GEOMS:
            text = f"a geom of type '{shortened(kind)}' on a robot is not read"
            raise geom.error(text, "type")
        if geom.get("shellinertia", "false") != "false":
            raise geom.error("shells are not read", "shellinertia")
        if ("mesh" in geom.attributes) != (kind == "mesh"):
            text = "a geom of type mesh needs one, others that fit one are not read"
            raise geom.error(text, "mesh")
        size, local = geom_size(geom, kind)
        group, (low, high) = geom.number("group"), self._file.compiler.groups
        if low <= group <= high:
            self._add_mass(geom, kind, size, pose * local, link)
        collides = any([geom.number("contype", 1.0), geom.number("conaffinity", 1.0)])
        collides |= geom.element.get("name") in self._paired
        collides |= self._by_group and group == _COLLISION_GROUP
        link.collides |= collides
        link.draws |= not collides
        tag = "collision" if collides else "visual"
        shape = add_part(link.element, tag, geom.element)
        set_origin(shape, pose * local)
        geometry = add_part(shape, "geometry")
        if kind in ("mesh", "ellipsoid"):
            name, scale = _ELLIPSOID, size
            if kind == "mesh":
                name, scale = self._file.mesh(geom)
            add_part(geometry, "mesh", filename=name, scale=written(scale))
        elif kind == "box":
            add_part(geometry, "box", size=written(2.0 * size))
        elif kind == "sphere":
            add_part(geometry, "sphere", radius=written(size))
        else:
            radius, length = written(size[:1]), written(2.0 * size[1:])
            add_part(geometry, kind, radius=radius, length=length)

    def _add_mass(
        self, geom: MjcfElement, kind: str, size: np.ndarray, pose: pin.SE3, link: _Link
    ) -> None:
        """Add a geom's inertia to its link, for bodies that give none."""
        density, mass = geom.number("density", _DENSITY), geom.number("mass", math.nan)
        needed = {"auto": link.inertial is None, "true": True}
        if not needed.get(self._file.compiler.from_geoms, False) or mass == 0.0:
            return
        if math.isnan(mass) and density == 0.0:
            return
        if kind == "mesh":
            text = "its body has the inertia of a mesh: give the body an <inertial>"
            raise geom.error(text)
        volume, moments = solid_inertia(kind, size)
        if math.isnan(mass):
            mass = density * volume
        turned = pose.rotation @ np.diag(mass * moments) @ pose.rotation.T
        link.solids.append((mass, np.array(pose.translation), turned))

    # Forces, couplings, contacts.

    def _forces(self) -> None:
        """Limits of joints' forces from their actuators."""
        most: dict[str, float] = {}
        sources, elsewhere = self._root.findall("actuator/*"), []
        for source in sources:
            item = self._file.read(source, tag="actuator")
            name = item.get("joint") or item.get("jointinparent")
            if not name:
                elsewhere.append(element_name(source))
                continue
            self._check_joint(source, name, "joint")
            gear = abs(item.numbers("gear", (1, 2, 3, 4, 5, 6), 1.0)[0])
            force = self._largest(item, "forcerange", "forcelimited")
            gain = item.numbers("gainprm", tuple(range(1, 11)), 1.0)
            plain = item.get("gaintype", "fixed") == "fixed"
            if source.tag in _FORCES and plain and "biastype" not in item.attributes:
                control = self._largest(item, "ctrlrange", "ctrllimited")
                force = min(force, control * abs(gain[0]) if gain[0] else 0.0)
            most[name] = most.get(name, 0.0) + (force * gear if gear else 0.0)
        if elsewhere:
            self._notes.append(f"actuators not of joints: {listed(elsewhere)}")
        without = []
        for name, joint in self._joints.items():
            limit = joint.find("limit")
            if limit is None:
                continue
            own = min(float(limit.get("effort", NO_LIMIT)), most.get(name, math.inf))
            limit.set("effort", repr(min(own, NO_LIMIT)))
            if sources and name not in most:
                without.append(name)
        if without:
            self._notes.append(f"joints without an actuator: {listed(without)}")

    def _check_joint(self, source: ET.Element, name: str, attribute: str) -> None:
        """Check that the joint is there that an attribute names."""
        if name not in self._joints:
            text = f"there is no joint '{shortened(name)}'"
            raise mjcf_error(source, text + suggestion(name, self._joints), attribute)

    def _couple(self) -> None:
        """Joints that others lead, and loops."""
        held, curved = [], []
        for source in self._root.findall("equality/*"):
            item = self._file.read(source, tag="equality")
            if item.get("active", "true") == "false":
                continue
            if source.tag != "joint":
                text = f"<{shortened(source.tag)}> closes a loop: a robot is one tree"
                raise item.error(f"{text} here")
            follower, leader = source.get("joint1", ""), source.get("joint2")
            for attribute in ("joint1", "joint2"):
                if attribute in source.attrib:
                    self._check_joint(source, source.attrib[attribute], attribute)
            joint = self._joints.get(follower)
            if joint is None or joint.find("limit") is None:
                raise item.error("it names no joint1 that moves")
            poly = item.numbers("polycoef", (1, 2, 3, 4, 5), 0.0, 1.0)
            if leader is None:
                lock(joint, poly[0] + self._ref[follower])
                held.append(follower)
                continue
            if joint.find("mimic") is not None:
                raise item.error("the joint follows two others")
            law = np.polynomial.Polynomial(poly)
            if any(poly[2:]):
                curved.append(follower)
            offset = float(law(-self._ref[leader])) + self._ref[follower]
            factor = float(law.deriv()(-self._ref[leader]))
            mimic = add_part(joint, "mimic", source, joint=leader)
            mimic.set("multiplier", written(factor))
            mimic.set("offset", written(offset))
        if curved:
            self._notes.append(f"couplings are taken as linear: {listed(curved)}")
        if held:
            self._notes.append(f"locked: {listed(held)} (the file holds them)")

    def _check_tendons(self) -> None:
        tendons = self._root.findall("tendon/*")
        for tendon in tendons:
            for name in ("stiffness", "damping", "frictionloss", "armature", "range"):
                if name in tendon.attrib:
                    text = "tendons that pull or hold are not simulated: leave them out"
                    raise mjcf_error(tendon, text, name)
        if tendons:
            names = [element_name(tendon) for tendon in tendons]
            self._notes.append(f"tendons are left out: {listed(names)}")

    def _excluded(self) -> Iterator[tuple[str, str]]:
        """Pairs of bodies that do not touch."""
        links = _touching(self._robot)
        for pair in self._root.findall("contact/exclude"):
            first, second = pair.get("body1", ""), pair.get("body2", "")
            if first != second and {first, second} <= links:
                yield first, second


def _unused(wish: str, names: Container[str]) -> str:
    """A name that is none of some others."""
    name, count = wish, 2
    while name in names:
        name, count = f"{wish}_{count}", count + 1
    return name


def _touching(robot: ET.Element) -> set[str]:
    """Links with shapes to touch with: balls without a radius stand for none."""
    return {
        link.get("name", "")
        for link in robot.findall("link")
        for shape in link.findall("collision/geometry/*")
        if shape.get("radius") != "0"
    }
