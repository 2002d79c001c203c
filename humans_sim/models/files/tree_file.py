# SPDX-License-Identifier: Apache-2.0
"""Model files: a tree of bodies in YAML, read into a :class:`ModelDescription`.

``docs/models.md`` explains the format. A file lists its bodies either as a tree of
joint centres and rotations (Human36, KHR-1) or as a Denavit-Hartenberg table (Bip).
Vectors are on HuMAnS axes (x forward, y up, z right), in the body's own frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from humans_sim.core.errors import ModelFileError, ParameterError
from humans_sim.core.yaml_file import YamlValue, read_yaml
from humans_sim.models.description import (
    BASE_LINK,
    SLENDER,
    Frame,
    Inertial,
    Joint,
    Link,
    ModelDescription,
    Shape,
    Sole,
    Tag,
    known_names,
    read_layout,
    read_shape,
)
from humans_sim.models.files.denavit_hartenberg import (
    TableBody,
    dh_bodies,
    dh_layout,
    tree_layout,
    zero_position,
)
from humans_sim.models.files.urdf_file import MOST_LINKS, TAG
from humans_sim.models.points import ROS_FROM_HUMANS, signed_axis, to_humans, to_ros

_AXES = ("x", "y", "z", "-x", "-y", "-z")
_MIRROR = np.array([1.0, 1.0, -1.0])
_POINT = ("name", "body", "at")
_REQUIRED = ("name",)
_OPTIONAL = (
    "title",
    "parameters",
    "lengths",
    "derived",
    "bodies",
    "denavit_hartenberg",
    "tags",
    "contacts",
    "soles",
    "frames",
    "humans",
    "materials",
    "joint_defaults",
    "joints",
    "rotors",
    "self_collision",
    TAG,
)
NO_LIMIT = (-math.pi, math.pi)
"""Limits of joints in a file without the section ``joints`` [rad]."""
EFFORT, VELOCITY = 1e3, 1e2
"""Those of joints in a file without ``joint_defaults`` [N m, rad/s]."""


class TreeFile:
    """A model file with its named lengths worked out."""

    def __init__(
        self,
        path: Path,
        parameters: Mapping[str, float] | None = None,
        lengths: Mapping[str, float] | None = None,
    ) -> None:
        """Read a file; ``parameters`` and ``lengths`` replace the file's values."""
        self.path = path
        self.root = read_yaml(path)
        self.sections = self.root.fields(_REQUIRED, _OPTIONAL)
        self.parameters = self._named("parameters", parameters or {}, {})
        self.lengths = self._named("lengths", lengths or {}, self.parameters)
        known = {**self.parameters, **self.lengths}
        self.names = {**known, **self._named("derived", {}, known)}

    def _named(
        self, section: str, given: Mapping[str, float], names: Mapping[str, float]
    ) -> dict[str, float]:
        values: dict[str, float] = {}
        if section in self.sections:
            for key, value in self.sections[section].mapping().items():
                values[key] = value.number({**names, **values})
        for key, number in given.items():
            if key not in values:
                raise ParameterError(
                    f"{self.path.name} has no entry '{key}' under {section} "
                    f"(it has: {', '.join(values) or 'none'})"
                )
            values[key] = number
        return values

    def names_for(self, body: str) -> dict[str, float]:
        """Names an expression on a body may use: ``yfemur`` is its own side's."""
        side = body[:2]
        own = {k[2:]: v for k, v in self.names.items() if k.startswith(side)}
        return {**self.names, **own} if side in ("r_", "l_") else self.names

    def describe(
        self, tag_positions: Mapping[str, np.ndarray] | None = None
    ) -> ModelDescription:
        """The model; ``tag_positions`` replaces tags by name (HuMAnS axes) [m]."""
        if "denavit_hartenberg" in self.sections:
            table = self.sections["denavit_hartenberg"]
            rows = zero_position(table, self.names)
            bodies = self._checked(table, dh_bodies(rows, self.names))
            usual = dh_layout(table, rows, bodies)
        elif "bodies" in self.sections:
            bodies = self._checked(self.sections["bodies"], self._tree_bodies())
            usual = tree_layout(bodies)
        else:
            raise self.root.error("the key 'bodies' or 'denavit_hartenberg' is missing")
        rotation = {body.name: body.frame_rotation for body in bodies}
        links, joints = self._links_and_joints(bodies)
        tags = self._tags(rotation, tag_positions or {})
        contacts: tuple[str, ...] = ()
        if "contacts" in self.sections:
            tag_names = {tag.name for tag in tags}
            contacts = known_names(self.sections["contacts"], tag_names, "tag")
        if "humans" in self.sections:
            joint_names = {joint.name for joint in joints}
            section = self.sections["humans"]
            usual = read_layout(section, joint_names, set(rotation), self.names)
        elif "bodies" in self.sections:
            usual = tree_layout(bodies, _lowest(bodies, tags, contacts))
        frames = self._frames(rotation)
        self._check_names(links, joints, frames)
        return ModelDescription(
            name=self.sections["name"].text(),
            title=self.title,
            links=links,
            joints=joints,
            frames=frames,
            tags=tags,
            contacts=contacts,
            soles=self._soles(set(contacts), {frame.name for frame in frames}),
            humans=usual,
            materials=self._materials(links),
        )

    @property
    def tag_names(self) -> tuple[str, ...]:
        """Names of the tags, in the order of the file."""
        return tuple(
            entry.fields(_POINT)["name"].text() for entry in self._items("tags")
        )

    @property
    def title(self) -> str:
        """One line for people."""
        if "title" in self.sections:
            return self.sections["title"].text()
        return f"{self.sections['name'].text()} ({self.path.name})"

    def _items(self, section: str) -> Iterable[YamlValue]:
        return self.sections.get(section, ())

    def _materials(
        self, links: tuple[Link, ...]
    ) -> dict[str, tuple[float, float, float]]:
        materials: dict[str, tuple[float, float, float]] = {}
        line = self.root.line
        if "materials" in self.sections:
            line = self.sections["materials"].line
            for key, value in self.sections["materials"].mapping().items():
                red, green, blue = value.vector(3)
                materials[key] = float(red), float(green), float(blue)
        for link in links:
            for shape in link.shapes:
                if shape.material not in materials:
                    raise ModelFileError(
                        f"no material is called '{shape.material}'",
                        self.path,
                        line,
                        f"materials (used by {link.name})",
                    )
        return materials

    @staticmethod
    def _checked(section: YamlValue, bodies: list[TableBody]) -> list[TableBody]:
        """The bodies, if there is a base with mass and not too much above it."""
        names = [body.name for body in bodies]
        if BASE_LINK not in names:
            raise section.error(f"no body is called '{BASE_LINK}': the base is")
        if len(names) > MOST_LINKS:
            raise section.error(f"{len(names)} bodies are more than {MOST_LINKS}")
        for name in names:
            if names.count(name) > 1:
                raise section.error(f"the body '{name}' stands twice")
        if not any(body.inertial and body.inertial.mass > 0 for body in bodies):
            raise section.error("no body has a mass")
        return bodies

    def _check_names(
        self,
        links: tuple[Link, ...],
        joints: tuple[Joint, ...],
        frames: tuple[Frame, ...],
    ) -> None:
        """No two links or frames, and no two joints, have one name."""
        for what, names in (
            ("body or frame", [link.name for link in links] + [f.name for f in frames]),
            ("joint", [joint.name for joint in joints]),
        ):
            for name in names:
                if names.count(name) > 1:
                    raise self.root.error(f"the {what} '{name}' stands twice")

    def _tree_bodies(self) -> list[TableBody]:
        bodies: list[TableBody] = []
        for entry in self.sections["bodies"]:
            fields = entry.fields(
                ("name",),
                ("parent", "sides", "at", "rotations", "visuals")
                + ("mass", "com", "gyration", "left_gyration", "box"),
            )
            sided = "sides" in fields and (
                fields["sides"].choice(("true", "false")) == "true"
            )
            prefixes = ("r_", "l_") if sided else ("",)
            for prefix in prefixes:
                bodies.append(self._tree_body(fields, prefix, {b.name for b in bodies}))
        return bodies

    def _tree_body(
        self, fields: dict[str, YamlValue], prefix: str, known: set[str]
    ) -> TableBody:
        name = prefix + fields["name"].text()
        names = self.names_for(name)
        mirror = _MIRROR if prefix == "l_" else np.ones(3)
        if name in known:
            raise fields["name"].error(f"the body '{name}' stands twice")
        parent, origin = "", np.zeros(3)
        rotations: list[tuple[str, np.ndarray]] = []
        if name != BASE_LINK:
            for key in ("parent", "at", "rotations"):
                if key not in fields:
                    raise fields["name"].error(f"the key '{key}' is missing")
            parent = fields["parent"].text()
            parent = prefix + parent if prefix + parent in known else parent
            if parent not in known:
                raise fields["parent"].error(f"no body above is called '{parent}'")
            origin = mirror * fields["at"].vector(3, names)
            for joint, word in fields["rotations"].mapping().items():
                axis = signed_axis(word.choice(_AXES))
                # A mirror in the sagittal plane turns rotations about x and y round.
                rotations.append((prefix + joint, axis * mirror[2] * mirror))
        shapes = tuple(
            _mirrored(read_shape(v, names), mirror)
            for v in (fields["visuals"] if "visuals" in fields else ())
        )
        inertial = self._inertial(fields, names, mirror, prefix)
        return TableBody(
            name, parent, origin, tuple(rotations), np.eye(3), inertial, shapes
        )

    def _inertial(
        self,
        fields: dict[str, YamlValue],
        names: Mapping[str, float],
        mirror: np.ndarray,
        prefix: str,
    ) -> Inertial | None:
        if "mass" not in fields:
            return None
        mass = fields["mass"].number(names)
        if mass < 0:
            raise fields["mass"].error(f"the mass {mass:g} is negative")
        if "com" not in fields:
            raise fields["mass"].error("a mass needs the key 'com'")
        com = mirror * fields["com"].vector(3, names)
        if "gyration" in fields:
            left = prefix == "l_" and "left_gyration" in fields
            value = fields["left_gyration" if left else "gyration"]
            moments = mass * value.vector(3, names) ** 2
        elif "box" in fields:
            a, b, c = fields["box"].vector(3, names)
            moments = (
                mass / 12 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
            )
        else:
            raise fields["mass"].error("a mass needs the key 'gyration' or 'box'")
        return Inertial(mass, com, np.diag(moments))

    def _links_and_joints(
        self, bodies: list[TableBody]
    ) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
        limits = _JointLimits(self.sections)
        links: list[Link] = []
        joints: list[Joint] = []
        for body in bodies:
            parent, origin = body.parent, body.origin
            for i, (joint, axis) in enumerate(body.rotations):
                last = i == len(body.rotations) - 1
                child = body.name if last else f"{joint}_link"
                if not last:
                    links.append(Link(child))
                joints.append(
                    limits.joint(joint, parent, child, to_ros(origin), to_ros(axis))
                )
                parent, origin = child, np.zeros(3)
            inertial = body.inertial
            if inertial is not None:
                turned = ROS_FROM_HUMANS @ inertial.inertia @ ROS_FROM_HUMANS.T
                inertial = Inertial(inertial.mass, to_ros(inertial.com), turned)
            shapes = tuple(
                replace(s, origin=to_ros(s.origin), rotation=to_ros(s.rotation.T).T)
                for s in body.shapes
            )
            links.append(Link(body.name, inertial, shapes))
        limits.check_all_used()
        return tuple(links), tuple(joints)

    def _tags(
        self, rotation: Mapping[str, np.ndarray], given: Mapping[str, np.ndarray]
    ) -> tuple[Tag, ...]:
        tags: dict[str, Tag] = {}
        for entry in self._items("tags"):
            tag = Tag(*self._point(entry, rotation))
            if tag.name in tags:
                raise entry.error(f"the tag '{tag.name}' stands twice")
            if tag.name in given:
                local = rotation[tag.link] @ np.asarray(given[tag.name], float)
                tag = Tag(tag.name, tag.link, to_ros(local))
            tags[tag.name] = tag
        for name in given:
            if name not in tags:
                raise ParameterError(f"no tag is called '{name}'")
        return tuple(tags.values())

    def _frames(self, rotation: Mapping[str, np.ndarray]) -> tuple[Frame, ...]:
        return tuple(
            Frame(*self._point(entry, rotation)) for entry in self._items("frames")
        )

    def _point(
        self, entry: YamlValue, rotation: Mapping[str, np.ndarray]
    ) -> tuple[str, str, np.ndarray]:
        fields = entry.fields(_POINT)
        body = fields["body"].text()
        if body not in rotation:
            raise fields["body"].error(f"no body is called '{body}'")
        local = fields["at"].vector(3, self.names_for(body))
        return fields["name"].text(), body, to_ros(rotation[body] @ local)

    def _soles(self, contacts: set[str], frames: set[str]) -> tuple[Sole, ...]:
        soles = []
        section = self.sections.get("soles")
        for name, value in section.mapping().items() if section else ():
            if name not in frames:
                raise value.error(f"no frame is called '{name}': add it to 'frames'")
            soles.append(Sole(name, known_names(value, contacts, "contact")))
        return tuple(soles)


class _JointLimits:
    """Limits of the joints; an entry without side serves both sides."""

    def __init__(self, sections: Mapping[str, YamlValue]) -> None:
        self._effort, self._velocity = EFFORT, VELOCITY
        if "joint_defaults" in sections:
            defaults = sections["joint_defaults"].fields(("effort", "velocity"))
            self._effort = defaults["effort"].positive()
            self._velocity = defaults["velocity"].positive()
        self._section = sections.get("joints")
        self._entries = self._section.mapping() if self._section else {}
        self._used: set[str] = set()

    def joint(
        self, name: str, parent: str, child: str, origin: np.ndarray, axis: np.ndarray
    ) -> Joint:
        if self._section is None:
            bounds = *NO_LIMIT, self._effort, self._velocity
            return Joint(name, parent, child, origin, axis, *bounds)
        key = name if name in self._entries else name[2:]
        if key not in self._entries:
            raise self._section.error(f"the joint '{name}' has no entry")
        self._used.add(key)
        fields = self._entries[key].fields(("limits",), ("effort", "velocity"))
        lower, upper = fields["limits"].degrees()
        effort, velocity = (
            fields[word].positive() if word in fields else default
            for word, default in (
                ("effort", self._effort),
                ("velocity", self._velocity),
            )
        )
        return Joint(name, parent, child, origin, axis, lower, upper, effort, velocity)

    def check_all_used(self) -> None:
        for key, value in self._entries.items():
            if key not in self._used:
                raise value.error("no body has this joint")


def _lowest(
    bodies: list[TableBody], tags: tuple[Tag, ...], contacts: tuple[str, ...]
) -> float | None:
    """Height of the lowest contact over the base in the zero position [m]."""
    places: dict[str, np.ndarray] = {}
    for body in bodies:
        places[body.name] = places.get(body.parent, np.zeros(3)) + body.origin
    heights = [
        float(places[tag.link][1] + to_humans(tag.position)[1])
        for tag in tags
        if tag.name in contacts
    ]
    return min(heights, default=None)


def _mirrored(shape: Shape, mirror: np.ndarray) -> Shape:
    """The shape on the other side, by one of its own planes of symmetry."""
    slender = shape.kind in SLENDER
    own = np.array([1.0, mirror[2], 1.0]) if slender else mirror
    rotation = np.diag(mirror) @ shape.rotation @ np.diag(own)
    return replace(shape, origin=mirror * shape.origin, rotation=rotation)
