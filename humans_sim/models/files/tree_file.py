# SPDX-License-Identifier: Apache-2.0
"""Model files: a tree of bodies in YAML, read into a :class:`ModelDescription`.

``docs/models.md`` explains the format. A file lists its bodies either as a tree of
joint centres and rotations (Human36, KHR-1) or as a Denavit-Hartenberg table (Bip).
Vectors are on HuMAnS axes (x forward, y up, z right), in the body's own frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from humans_sim.core.errors import ModelFileError, ParameterError
from humans_sim.core.yaml_file import YamlValue, read_yaml
from humans_sim.models.axes import matrix_to_ros, signed_axis, to_ros
from humans_sim.models.description import (
    BASE_LINK,
    Frame,
    Inertial,
    Joint,
    Link,
    ModelDescription,
    Shape,
    Sole,
    Tag,
)
from humans_sim.models.files import denavit_hartenberg
from humans_sim.models.files.layout import known_names, read_layout
from humans_sim.models.files.shapes import SLENDER, read_shape

_AXES = ("x", "y", "z", "-x", "-y", "-z")
_MIRROR = np.array([1.0, 1.0, -1.0])
_REQUIRED = (
    "name",
    "title",
    "tags",
    "contacts",
    "soles",
    "frames",
    "humans",
    "materials",
    "joint_defaults",
    "joints",
)
_OPTIONAL = (
    "parameters",
    "lengths",
    "derived",
    "bodies",
    "denavit_hartenberg",
    "rotors",
    "self_collision",
)


@dataclass(frozen=True)
class _Body:
    """A body of the file, on HuMAnS axes, its frame parallel to the reference."""

    name: str
    parent: str
    origin: np.ndarray
    rotations: tuple[tuple[str, np.ndarray], ...]
    frame_rotation: np.ndarray
    inertial: Inertial | None
    shapes: tuple[Shape, ...]


class TreeFile:
    """A model file with its named lengths worked out.

    Attributes:
        path: the file.
        parameters: free parameters (stature, mass) with the values in force.
        lengths: named lengths in the order of the file [m].
    """

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
            bodies = self._dh_bodies(self.sections["denavit_hartenberg"])
        else:
            bodies = self._tree_bodies()
        rotation = {body.name: body.frame_rotation for body in bodies}
        links, joints = self._links_and_joints(bodies)
        tags = self._tags(rotation, tag_positions or {})
        tag_names = {tag.name for tag in tags}
        contacts = known_names(self.sections["contacts"], tag_names, "tag")
        frames = self._frames(rotation)
        materials = {
            key: tuple(float(c) for c in value.vector(3))
            for key, value in self.sections["materials"].mapping().items()
        }
        for link in links:
            for shape in link.shapes:
                if shape.material not in materials:
                    raise ModelFileError(
                        f"no material is called '{shape.material}'",
                        self.path,
                        self.sections["materials"].line,
                        f"materials (used by {link.name})",
                    )
        return ModelDescription(
            name=self.sections["name"].text(),
            title=self.sections["title"].text(),
            links=links,
            joints=joints,
            frames=frames,
            tags=tags,
            contacts=contacts,
            soles=self._soles(set(contacts), {frame.name for frame in frames}),
            humans=read_layout(
                self.sections["humans"],
                {joint.name for joint in joints},
                set(rotation),
                self.names,
            ),
            materials=materials,  # type: ignore[arg-type]
        )

    def _tree_bodies(self) -> list[_Body]:
        if "bodies" not in self.sections:
            raise self.root.error("the key 'bodies' or 'denavit_hartenberg' is missing")
        bodies: list[_Body] = []
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
    ) -> _Body:
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
        return _Body(
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

    def _dh_bodies(self, table: YamlValue) -> list[_Body]:
        frames = denavit_hartenberg.zero_position(table)
        bodies: list[_Body] = []
        for frame in frames.values():
            if frame.body is None:
                continue
            fields = frame.row.mapping()
            keys: tuple[str, ...] = ("mass", "com", "inertia")
            if frame.body != BASE_LINK:
                keys += ("joint", "sense")
            for key in keys:
                if key not in fields:
                    raise frame.row.error(f"a body needs the key '{key}'")
            rotations: tuple[tuple[str, np.ndarray], ...] = ()
            parent, origin = "", np.zeros(3)
            if frame.body != BASE_LINK:
                above = frames.get(frame.ref)
                if above is None or above.body is None:
                    raise frame.row.error("a body needs a parent frame with a body")
                parent, origin = above.body, frame.position - above.position
                axis = fields["sense"].number() * frame.rotation[:, 2]
                rotations = ((fields["joint"].text(), axis),)
            xx, yy, zz, xy, xz, yz = fields["inertia"].vector(6)
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            inertial = Inertial.about_origin(
                fields["mass"].number(),
                frame.rotation @ fields["com"].vector(3),
                frame.rotation @ inertia @ frame.rotation.T,
            )
            shapes = tuple(
                _turned(read_shape(v, self.names), frame.rotation)
                for v in (fields["visuals"] if "visuals" in fields else ())
            )
            bodies.append(
                _Body(
                    frame.body,
                    parent,
                    origin,
                    rotations,
                    frame.rotation,
                    inertial,
                    shapes,
                )
            )
        return bodies

    def _links_and_joints(
        self, bodies: list[_Body]
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
                inertial = Inertial(
                    inertial.mass, to_ros(inertial.com), matrix_to_ros(inertial.inertia)
                )
            shapes = tuple(_shape_to_ros(shape) for shape in body.shapes)
            links.append(Link(body.name, inertial, shapes))
        limits.check_all_used()
        return tuple(links), tuple(joints)

    def _tags(
        self, rotation: Mapping[str, np.ndarray], given: Mapping[str, np.ndarray]
    ) -> tuple[Tag, ...]:
        tags: dict[str, Tag] = {}
        for entry in self.sections["tags"]:
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
            Frame(*self._point(entry, rotation)) for entry in self.sections["frames"]
        )

    def _point(
        self, entry: YamlValue, rotation: Mapping[str, np.ndarray]
    ) -> tuple[str, str, np.ndarray]:
        fields = entry.fields(("name", "body", "at"))
        body = fields["body"].text()
        if body not in rotation:
            raise fields["body"].error(f"no body is called '{body}'")
        local = fields["at"].vector(3, self.names_for(body))
        return fields["name"].text(), body, to_ros(rotation[body] @ local)

    def _soles(self, contacts: set[str], frames: set[str]) -> tuple[Sole, ...]:
        soles = []
        for name, value in self.sections["soles"].mapping().items():
            if name not in frames:
                raise value.error(f"no frame is called '{name}': add it to 'frames'")
            soles.append(Sole(name, known_names(value, contacts, "contact")))
        return tuple(soles)


class _JointLimits:
    """Limits of the joints; an entry without side serves both sides."""

    def __init__(self, sections: Mapping[str, YamlValue]) -> None:
        defaults = sections["joint_defaults"].fields(("effort", "velocity"))
        self._effort = defaults["effort"].positive()
        self._velocity = defaults["velocity"].positive()
        self._entries = sections["joints"].mapping()
        self._section = sections["joints"]
        self._used: set[str] = set()

    def joint(
        self, name: str, parent: str, child: str, origin: np.ndarray, axis: np.ndarray
    ) -> Joint:
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


def _mirrored(shape: Shape, mirror: np.ndarray) -> Shape:
    """The shape on the other side, by one of its own planes of symmetry."""
    slender = shape.kind in SLENDER
    own = np.array([1.0, mirror[2], 1.0]) if slender else mirror
    rotation = np.diag(mirror) @ shape.rotation @ np.diag(own)
    return _replaced(shape, mirror * shape.origin, rotation)


def _turned(shape: Shape, rotation: np.ndarray) -> Shape:
    return _replaced(shape, rotation @ shape.origin, rotation @ shape.rotation)


def _shape_to_ros(shape: Shape) -> Shape:
    return _replaced(shape, to_ros(shape.origin), to_ros(shape.rotation.T).T)


def _replaced(shape: Shape, origin: np.ndarray, rotation: np.ndarray) -> Shape:
    return Shape(
        shape.kind, shape.size, origin, rotation, shape.material, shape.collides
    )
