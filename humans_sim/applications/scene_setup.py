# SPDX-License-Identifier: Apache-2.0
"""A scene as a file describes it: ground, free bodies, contacts of a robot.

The keys are those of a scenario; scenarios and the node ``dynamics`` read them here.

A free body may be a URDF of one link: a box or a ball with a mass.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.applications.scene_files import (
    geometry_of,
    ground_of,
    self_collision_of,
    truth_of,
)
from humans_sim.bodies.loads import Load, PointForce, Spring, Wind
from humans_sim.bodies.mass_properties import BodyError
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.bounded_text import element_error, parse_xml
from humans_sim.core.budget import BODIES
from humans_sim.core.errors import ModelFileError
from humans_sim.core.resources import named_file
from humans_sim.core.yaml_file import YamlValue, located_errors, read_yaml
from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.dynamics.scenes.flying_scene import FlyingScene
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.models import Model
from humans_sim.models.files.urdf_elements import SMALLEST_SIZE, check_numbers, numbers

KEYS = (
    *("ground", "bodies", "loads", "contacts", "radii", "contact_geometry"),
    *("whole_body", "self_collision", "gravity", "flight"),
)
"""Keys of a scenario that describe its scene."""
_SHAPES = ("box", "ball")
_MOTION = ("at", "turn", "velocity", "spin")
_EARLY = 1e-9
"""Steps begin at multiples of their length to rounding errors [s]."""


@dataclass(frozen=True)
class SceneSetup:
    """The scene of a file.

    Attributes:
        loads: wind, springs and forces on them.
        added: where bodies start that are not in the file, by name.
    """

    bodies: tuple[SceneBody, ...]
    loads: tuple[Load, ...]
    _fields: Mapping[str, YamlValue] = field(repr=False, default_factory=dict)
    _motion: Mapping[str, Mapping[str, YamlValue]] = field(
        repr=False, default_factory=dict
    )
    added: Mapping[str, pin.SE3] = field(repr=False, default_factory=dict)

    @classmethod
    def of(cls, fields: Mapping[str, YamlValue]) -> SceneSetup:
        """The setup from the keys of a file; others than :data:`KEYS` are left out."""
        entries = fields["bodies"].mapping() if "bodies" in fields else {}
        if "bodies" in fields:
            BODIES.check("a scene", len(entries), error=fields["bodies"].error)
        given = {name: _fields(entry) for name, entry in entries.items()}
        bodies = [_body(name, entries[name], given[name]) for name in entries]
        loads = _loads(fields.get("loads"), list(entries))
        own = {key: fields[key] for key in KEYS if key in fields}
        return cls(tuple(bodies), tuple(loads), own, given)

    def with_body(self, body: SceneBody, pose: pin.SE3) -> SceneSetup:
        """The scene with one body more, which starts at a pose."""
        added = {**self.added, body.name: pose}
        return replace(self, bodies=(*self.bodies, body), added=added)

    def without_body(self, name: str) -> SceneSetup:
        """The scene without a body; refused where loads act on those of the file."""
        if self.loads and name not in self.added:
            raise BodyError(f"loads act on the bodies of the scene: {name} stays")
        return replace(
            self,
            bodies=tuple(body for body in self.bodies if body.name != name),
            added={key: pose for key, pose in self.added.items() if key != name},
            _motion={key: own for key, own in self._motion.items() if key != name},
        )

    def ground(self, friction: float) -> Ground:
        """The part that does not move; the friction is for files that have none."""
        return ground_of(self._fields.get("ground"), friction)

    def touching(
        self, model: Model, whole_body: bool | None = None
    ) -> tuple[Model, dict[str, Any]]:
        """A robot with what of it touches: the model, and options of its system.

        Args:
            model: of the robot.
            whole_body: whether all links touch where the file does not say it; by
                default unless it has ``contacts``.
        """
        fields = self._fields
        contacts: Any = None
        if "contacts" in fields:
            contacts = [item.text() for item in fields["contacts"]]
            whole_body = bool(whole_body)
        if "whole_body" in fields:
            whole_body = truth_of(fields["whole_body"])
        given = fields["radii"].mapping() if "radii" in fields else {}
        radii = {name: value.positive() for name, value in given.items()}
        if "contact_geometry" in fields:
            feet = geometry_of(fields["contact_geometry"], model, contacts)
            model, contacts = feet.model, feet.contacts
            radii = {**feet.radii, **radii}
        options: dict[str, Any] = {"contacts": contacts, "radii": radii}
        options["whole_body"] = whole_body is None or whole_body
        if "self_collision" in fields:
            options["self_collision"] = self_collision_of(fields["self_collision"])
        if "gravity" in fields:
            options["gravity"] = fields["gravity"].vector(3).tolist()
        return model, options

    def system(
        self,
        ground: Ground,
        model: Model | None = None,
        armature: np.ndarray | None = None,
        **more: Any,
    ) -> SceneSystem:
        """The free bodies, with a robot and the inertia of its drives, or without one.

        Further options go over those of the file, as :meth:`touching` has them.
        """
        options: dict[str, Any] = {}
        if model is not None:
            model, options = self.touching(model, more.pop("whole_body", None))
        elif "gravity" in self._fields:
            options["gravity"] = self._fields["gravity"].vector(3).tolist()
        scene: type[SceneSystem] = SceneSystem
        if "flight" in self._fields:
            scene, options["flight"] = FlyingScene, self._fields["flight"].text()
        place = self._fields.get("flight", self._fields.get("bodies"))
        with nullcontext() if place is None else located_errors(place):
            return scene(
                self.bodies,
                ground,
                robot=model,
                armature=armature,
                **{**options, **more},
            )

    def start(
        self,
        scene: SceneSystem,
        robot: np.ndarray | None = None,
        speeds: np.ndarray | None = None,
        others: Mapping[str, tuple[np.ndarray, np.ndarray]] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Configuration and velocity at the start; a robot is at rest unless given.

        Further robots have theirs by name.
        """
        given = self._motion
        places = {name: own["at"].vector(3).tolist() for name, own in given.items()}
        turns = {
            name: pin.rpy.rpyToMatrix(*np.radians(own["turn"].vector(3)))
            for name, own in given.items()
            if "turn" in own
        }
        for name, pose in self.added.items():
            places[name], turns[name] = pose.translation.tolist(), pose.rotation
        further = others or {}
        away = {name: state[0] for name, state in further.items()}
        q = scene.configuration(places, robot, turns, away)
        v = np.zeros(scene.nv)
        for part in scene.others:
            v[part.v] = further[part.robot.name][1]
        if speeds is not None:
            v[: scene.robot_nv] = speeds
        for k, (name, own) in enumerate(given.items()):
            first = scene.robot_nv + 6 * k
            if "velocity" in own:
                v[first : first + 3] = own["velocity"].vector(3)
            if "spin" in own:  # given in the world's frame
                turn = turns.get(name, np.eye(3))
                v[first + 3 : first + 6] = turn.T @ own["spin"].vector(3)
        return q, v


def read_scene(name: str) -> SceneSetup:
    """The scene of a scenario of the package, or of a file of one's own."""
    return SceneSetup.of(read_yaml(named_file("scenarios", name, "scenario")).mapping())


def _fields(entry: YamlValue) -> dict[str, YamlValue]:
    fields = entry.fields(("mass", "at"), (*_SHAPES, "friction", *_MOTION[1:]))
    if sum(shape in fields for shape in _SHAPES) != 1:
        raise entry.error(f"exactly one of {', '.join(_SHAPES)} must be given")
    return fields


def _body(name: str, entry: YamlValue, given: dict[str, YamlValue]) -> SceneBody:
    mass = given["mass"].positive()
    friction = given["friction"].number() if "friction" in given else None
    with located_errors(entry):
        if "ball" in given:
            return SceneBody.ball(name, mass, given["ball"].positive(), friction)
        x, y, z = given["box"].vector(3).tolist()
        return SceneBody.box(name, mass, (x, y, z), friction)


def _loads(value: YamlValue | None, names: list[str]) -> list[Load]:
    """Wind, springs and forces at points."""
    if value is None:
        return []
    loads: list[Load] = []
    parts = value.fields((), ("wind", "springs", "forces"))
    if "wind" in parts:
        wind = parts["wind"].fields(("velocity", "areas"), ("density",))
        areas = {k: v.number() for k, v in wind["areas"].mapping().items()}
        density = wind["density"].positive() if "density" in wind else 1.2
        x, y, z = wind["velocity"].vector(3).tolist()
        with located_errors(parts["wind"]):
            loads.append(Wind([areas.get(n, 0.0) for n in names], (x, y, z), density))
    for item in parts["springs"] if "springs" in parts else ():
        spring = item.fields(
            ("body", "point", "anchor", "stiffness"), ("other", "damping", "length")
        )
        numbers = {k: spring[k].number() for k in ("damping", "length") if k in spring}
        other = None
        if "other" in spring:
            other = names.index(spring["other"].choice(tuple(names)))
        with located_errors(item):
            loads.append(
                Spring(
                    names.index(spring["body"].choice(tuple(names))),
                    spring["point"].vector(3).tolist(),
                    spring["anchor"].vector(3).tolist(),
                    spring["stiffness"].number(),
                    other=other,
                    **numbers,
                )
            )
    for item in parts["forces"] if "forces" in parts else ():
        loads.append(_point_force(item, names))
    return loads


def _point_force(item: YamlValue, names: list[str]) -> PointForce:
    """A constant force at a point of a body, from one time to another."""
    given = item.fields(("body", "point", "force"), ("start", "end"))
    force, none = given["force"].vector(3).tolist(), [0.0, 0.0, 0.0]
    start = given["start"].number() if "start" in given else 0.0
    end = given["end"].number() if "end" in given else math.inf
    if not start < end:
        raise item.error(f"the force ends at {end:g} s, before it starts")
    return PointForce(
        names.index(given["body"].choice(tuple(names))),
        given["point"].vector(3).tolist(),
        lambda t: force if start - _EARLY <= t < end - _EARLY else none,
    )


_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_SHIFTED = 1e-9
"""What is nearer to the link's frame than this lies in it [m, rad]."""


class UnsupportedShapeError(ModelFileError):
    """A shape that a free body cannot have."""


def read_body(text: str, path: Path, name: str = "") -> SceneBody:
    """The body of a URDF of one link with a mass and a shape.

    Args:
        text: of the file.
        path: of the file, for messages.
        name: of the body; empty: that of the URDF.

    Raises:
        UnsupportedShapeError: the shape is neither box nor ball, or lies off the frame.
    """
    root = parse_xml(text, path)
    links = root.findall("link")
    if root.tag != "robot" or len(links) != 1 or root.find("joint") is not None:
        raise ModelFileError("a free body is a URDF of one link without joints", path)
    link = links[0]
    mass = _number(_child(_child(link, "inertial", path), "mass", path), "value", path)
    geometry = _child(_only_collision(link, path), "geometry", path)
    name = name or root.get("name", "")
    try:
        body = _shaped(name, mass, geometry, path)
        given = _child(link, "inertial", path).find("inertia")
        if given is None:  # an even body
            return body
        xx, xy, xz, yy, yz, zz = (_number(given, key, path) for key in _MOMENTS)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return replace(body, properties=replace(body.properties, inertia=inertia))
    except BodyError as error:
        raise ModelFileError(str(error), path) from error


def _child(element: ET.Element, tag: str, path: Path) -> ET.Element:
    found = element.find(tag)
    if found is None:
        raise ModelFileError(f"<{element.tag}> has no <{tag}>", path)
    return found


def _number(element: ET.Element, key: str, path: Path) -> float:
    return float(_numbers(element, key, 1, path)[0])


def _numbers(element: ET.Element, key: str, count: int, path: Path) -> np.ndarray:
    if key not in element.attrib:
        raise ModelFileError(f"<{element.tag}> needs {key}", path)
    check_numbers(element, key, count)
    return np.array(numbers(element, key))


def _sizes(element: ET.Element, key: str, count: int, path: Path) -> list[float]:
    sizes: list[float] = _numbers(element, key, count, path).tolist()
    if min(sizes) < SMALLEST_SIZE:
        text = f"a size below {SMALLEST_SIZE:g} m is no extent"
        raise element_error(element, text, f"<{element.tag} {key}>", key)
    return sizes


def _only_collision(link: ET.Element, path: Path) -> ET.Element:
    shapes = link.findall("collision")
    if len(shapes) != 1:
        raise UnsupportedShapeError(
            f"a free body has one <collision>, not {len(shapes)}", path
        )
    for element in (shapes[0], _child(link, "inertial", path)):
        origin = element.find("origin")
        for key in ("xyz", "rpy"):
            if origin is not None and origin.get(key) is not None:
                if np.abs(_numbers(origin, key, 3, path)).max() > _SHIFTED:
                    raise UnsupportedShapeError(
                        f"<{element.tag}> of a free body lies in the link's frame", path
                    )
    return shapes[0]


def _shaped(name: str, mass: float, geometry: ET.Element, path: Path) -> SceneBody:
    box, ball = geometry.find("box"), geometry.find("sphere")
    if box is not None:
        x, y, z = _sizes(box, "size", 3, path)
        return SceneBody.box(name, mass, (x, y, z))
    if ball is not None:
        return SceneBody.ball(name, mass, *_sizes(ball, "radius", 1, path))
    kinds = ", ".join(sorted({item.tag for item in geometry})) or "nothing"
    raise UnsupportedShapeError(f"a free body is a box or a sphere, not {kinds}", path)
