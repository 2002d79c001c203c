# SPDX-License-Identifier: Apache-2.0
"""The description of a model, before pinocchio: links, joints, tags, contacts.

Everything here is on ROS axes (x forward, y left, z up). In the zero position all
link frames are parallel to the world's, so a joint needs an origin and an axis only.

Also its parts as read from YAML or a URDF: shapes on the bodies, links that touch each
other, lists of names, the HuMAnS layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import YamlValue, located_errors

if TYPE_CHECKING:
    from humans_sim.models.rotors import Rotors


BASE_LINK = "base_link"
"""Name of the root link of every model (REP-120)."""

QUATERNION_TOLERANCE = 1e-6
"""How far the squared length of a base quaternion may be from one."""


@dataclass(frozen=True)
class Inertial:
    """Mass properties of a link.

    Attributes:
        mass: [kg].
        com: centre of mass in the link frame [m].
        inertia: 3x3, about the centre of mass, on the link's axes [kg m^2]. It need
            not be positive: the tables of Bip list bodies with mass and no inertia
            about their frame's origin.
    """

    mass: float
    com: np.ndarray
    inertia: np.ndarray


@dataclass(frozen=True)
class Shape:
    """A solid drawn on a link.

    Attributes:
        kind: ``box``, ``cylinder``, ``sphere``, or the name of a unit mesh.
        size: box: full sizes; cylinder: (radius, radius, length); sphere: radius
            three times; mesh: scale factors [m].
        origin: centre of the shape in the link frame [m].
        rotation: 3x3, from the shape's axes to the link's.
        material: name of a colour of the description.
        collides: whether it is collision geometry as well.
    """

    kind: str
    size: np.ndarray
    origin: np.ndarray
    rotation: np.ndarray
    material: str
    collides: bool = True


@dataclass(frozen=True)
class Link:
    """A body, or a massless frame between two elementary rotations."""

    name: str
    inertial: Inertial | None = None
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class Joint:
    """A revolute joint between two links.

    Attributes:
        origin: joint centre in the parent's frame [m].
        axis: unit vector, in both frames.
        lower: lower limit [rad].
        upper: upper limit [rad].
        effort: largest torque [N m].
        velocity: largest speed [rad/s].
    """

    name: str
    parent: str
    child: str
    origin: np.ndarray
    axis: np.ndarray
    lower: float
    upper: float
    effort: float
    velocity: float


@dataclass(frozen=True)
class Frame:
    """A frame fixed on a link, parallel to it: a sole, the gaze, the torso."""

    name: str
    link: str
    position: np.ndarray


@dataclass(frozen=True)
class Tag:
    """A point fixed on a link: a landmark, a marker, a contact point."""

    name: str
    link: str
    position: np.ndarray


@dataclass(frozen=True)
class Sole:
    """The contact points of one foot and the frame under it.

    Attributes:
        name: of the frame: x forward, z up.
        contacts: tags at its corners.
        spheres: tags at the centres of the balls it stands on, where it has any.
    """

    name: str
    contacts: tuple[str, ...]
    spheres: tuple[str, ...] = ()


@dataclass(frozen=True)
class HumansLayout:
    """How the HuMAnS coordinate vector of a model is laid out.

    Attributes:
        base_rotation: axes of the base rotation, first rotation first, e.g. "zyx".
        base_height: height of the base at zero coordinates [m].
        segments: links in the order of the HuMAnS segment numbers.
    """

    joints: tuple[str, ...]
    base_rotation: str
    base_height: float
    segments: tuple[str, ...]


@dataclass(frozen=True)
class ModelDescription:
    """A whole model, ready to become a pinocchio model or a URDF."""

    name: str
    title: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    frames: tuple[Frame, ...]
    tags: tuple[Tag, ...]
    contacts: tuple[str, ...]
    soles: tuple[Sole, ...]
    humans: HumansLayout
    materials: dict[str, tuple[float, float, float]] = field(default_factory=dict)

    def children(self, link: str) -> list[Joint]:
        """Joints below a link, sorted by name: the order of a URDF parser."""
        return sorted(
            (j for j in self.joints if j.parent == link), key=lambda j: j.name
        )

    def tree(self) -> list[Joint]:
        """All joints, depth first from the base, as a URDF parser visits them."""
        ordered: list[Joint] = []
        waiting = self.children(BASE_LINK)[::-1]
        while waiting:
            joint = waiting.pop()
            ordered.append(joint)
            waiting += self.children(joint.child)[::-1]
        return ordered

    def link(self, name: str) -> Link:
        """The link of that name."""
        return next(link for link in self.links if link.name == name)


Pair = tuple[str, str]
KEYS = ("exclude", "include", "friction")


@dataclass(frozen=True)
class SelfCollision:
    """Which links of a model touch each other, and how.

    Attributes:
        enabled: whether any do.
        exclude: pairs that go through each other.
        include: pairs that touch although they are neighbours or overlap in the zero
            position.
        friction: Coulomb's coefficient; None: that of the scene.
    """

    enabled: bool = True
    exclude: tuple[Pair, ...] = ()
    include: tuple[Pair, ...] = ()
    friction: float | None = None

    def __post_init__(self) -> None:
        if self.friction is not None and not self.friction >= 0.0:
            raise ParameterError(
                f"friction of links must be 0 or more, not {self.friction}"
            )
        both = {frozenset(p) for p in self.exclude} & {
            frozenset(p) for p in self.include
        }
        if both:
            names = " and ".join(sorted(min(both, key=sorted)))
            raise ParameterError(f"{names} are both included and excluded")

    def with_changes(self, given: bool | Mapping[str, Any]) -> SelfCollision:
        """The same, switched on or off, or with more pairs and another friction.

        Args:
            given: whether links touch; or the keys ``exclude``, ``include`` and
                ``friction``, of which lists of pairs add to those of the model; more
                links than two are all pairs of them.
        """
        if isinstance(given, bool):
            return replace(self, enabled=given)
        unknown = sorted(set(given) - set(KEYS))
        if unknown:
            raise ParameterError(
                f"self_collision has no key '{unknown[0]}', only {', '.join(KEYS)}"
            )
        exclude, include = (_pairs(given.get(key, ())) for key in KEYS[:2])
        added = {frozenset(pair) for pair in (*exclude, *include)}
        friction = given.get("friction", self.friction)
        return replace(
            self,
            enabled=True,
            exclude=(*_without(self.exclude, added), *exclude),
            include=(*_without(self.include, added), *include),
            friction=None if friction is None else float(friction),
        )

    def has(self, pair: Pair) -> bool:
        """Whether a pair is listed, in whatever order."""
        return frozenset(pair) in map(frozenset, (*self.exclude, *self.include))

    def plain(self) -> bool | dict[str, Any]:
        """As a file has it."""
        if not self.enabled:
            return False
        given = {
            "exclude": [list(pair) for pair in self.exclude],
            "include": [list(pair) for pair in self.include],
            "friction": self.friction,
        }
        return {key: value for key, value in given.items() if value not in ([], None)}


def read_self_collision(value: YamlValue) -> SelfCollision:
    """Self-collision of a section of a file: ``true``, ``false`` or its keys."""
    if not value.is_mapping():
        return SelfCollision(enabled=value.choice(("true", "false")) == "true")
    given = value.fields((), KEYS)
    pairs = {
        key: [tuple(name.text() for name in item) for item in given[key]]
        for key in KEYS[:2]
        if key in given
    }
    friction = {"friction": given["friction"].number()} if "friction" in given else {}
    with located_errors(value):
        return SelfCollision().with_changes({**pairs, **friction})


def _without(pairs: Iterable[Pair], left_out: set[frozenset[str]]) -> list[Pair]:
    return [pair for pair in pairs if frozenset(pair) not in left_out]


def _pairs(given: Iterable[Any]) -> tuple[Pair, ...]:
    pairs: list[Pair] = []
    for item in given:
        names = () if isinstance(item, str) else tuple(map(str, item))
        if len(names) < 2 or len(set(names)) < len(names):
            raise ParameterError(f"{item!r} is no pair of links: write [one, other]")
        pairs += combinations(names, 2)
    return tuple(pairs)


TABLES = (".yaml", ".yml")
"""Endings of the names of model files with bodies or a Denavit-Hartenberg table."""


@dataclass(frozen=True)
class ModelParts:
    """The parts of a :class:`Model`.

    Attributes:
        name: short name, e.g. ``khr1``.
        humans: layout of the HuMAnS vector.
        rotors: drive rotors that add to the dynamics, or None.
        parameters: values the model was made with (``height``, ``mass``).
        lengths: named lengths the model was made with [m].
        given_lengths: lengths set one by one [m].
        given_tags: tag positions set one by one, HuMAnS axes [m].
        notes: what the model leaves out of its file or takes otherwise.
        grounded: whether its files say how high it stands, by contacts or a height.
    """

    name: str
    title: str
    pin_model: pin.Model
    tags: tuple[Tag, ...]
    contacts: tuple[str, ...]
    soles: tuple[Sole, ...]
    humans: HumansLayout
    urdf: str
    rotors: Rotors | None
    source: Path
    parameters: Mapping[str, float] = field(default_factory=dict)
    lengths: Mapping[str, float] = field(default_factory=dict)
    given_lengths: Mapping[str, float] = field(default_factory=dict)
    given_tags: Mapping[str, np.ndarray] = field(default_factory=dict)
    self_collision: SelfCollision = field(default_factory=SelfCollision)
    notes: tuple[str, ...] = ()
    grounded: bool = True

    @property
    def from_table(self) -> bool:
        """Whether it comes from a table, with parameters and lengths, not a URDF."""
        return self.source.suffix.lower() in TABLES


PRIMITIVES = ("box", "cylinder", "sphere")
MESHES = ("ellipsoid", "limb", "rounded_box", "sole")
"""Unit meshes under ``urdf/meshes``, drawn by ``tools/unit_meshes.py``."""

SLENDER = ("cylinder", "limb")
"""Shapes laid from one point to another."""


def read_shape(value: YamlValue, names: Mapping[str, float]) -> Shape:
    """Read one entry of a ``visuals`` list, on the axes of the file.

    Slender shapes (cylinder, limb) go ``from`` one point ``to`` another with a
    ``radius``, or two: along the body's forward axis and across. The others stand
    ``at`` a point with ``size`` (boxes, sole), ``radius`` (sphere) or ``radii``.
    """
    fields = value.fields(
        ("shape", "material"), ("at", "from", "to", "size", "radius", "radii", "solid")
    )
    kind = fields["shape"].choice((*PRIMITIVES, *MESHES))
    solid = True
    if "solid" in fields:
        solid = fields["solid"].choice(("true", "false")) == "true"

    def get(key: str) -> YamlValue:
        if key not in fields:
            raise value.error(f"a {kind} needs the key '{key}'")
        return fields[key]

    rotation = np.eye(3)
    if kind in SLENDER:
        start, end = get("from").vector(3, names), get("to").vector(3, names)
        length = float(np.linalg.norm(end - start))
        if length == 0.0:
            raise fields["to"].error("the two ends are the same point")
        rotation = _along((end - start) / length)
        origin = (start + end) / 2
        size = np.array([*_radii(get("radius"), names), length])
    else:
        origin = get("at").vector(3, names)
        if kind == "sphere":
            size = np.full(3, get("radius").positive(names))
        else:
            sizes = get("radii" if kind == "ellipsoid" else "size")
            size = sizes.vector(3, names)
            if (size <= 0).any():
                raise sizes.error("must be sizes above zero")
    return Shape(kind, size, origin, rotation, fields["material"].text(), solid)


def _radii(value: YamlValue, names: Mapping[str, float]) -> tuple[float, float]:
    try:
        items = value.items()
    except ValueError:
        radius = value.positive(names)
        return radius, radius
    if len(items) != 2:
        raise value.error("must be one radius or two")
    return items[0].positive(names), items[1].positive(names)


def _along(direction: np.ndarray) -> np.ndarray:
    """Rotation with z along ``direction`` and x as near the forward axis as can be."""
    forward = np.array([1.0, 0.0, 0.0])
    if abs(forward @ direction) > 0.9:
        forward = np.array([0.0, 1.0, 0.0])
    x = forward - (forward @ direction) * direction
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(direction, x), direction])


def known_names(value: YamlValue, known: set[str], what: str) -> tuple[str, ...]:
    """A list of names, each of them known and standing once."""
    names: list[str] = []
    for item in value:
        if item.text() not in known:
            raise item.error(f"no {what} is called '{item.text()}'")
        if item.text() in names:
            raise item.error(f"'{item.text()}' stands twice")
        names.append(item.text())
    return tuple(names)


def read_layout(
    section: YamlValue, joints: set[str], links: set[str], names: Mapping[str, float]
) -> HumansLayout:
    """Read a ``humans`` section: the order of the HuMAnS vector of a model."""
    fields = section.fields(("joints", "base_rotation", "base_height", "segments"))
    order = known_names(fields["joints"], joints, "joint")
    if len(order) != len(joints):
        missing = ", ".join(sorted(joints - set(order)))
        raise fields["joints"].error(f"joints missing from the list: {missing}")
    rotation = fields["base_rotation"].text()
    if sorted(rotation) != ["x", "y", "z"]:
        raise fields["base_rotation"].error("must be an order such as 'zyx'")
    return HumansLayout(
        order,
        rotation,
        fields["base_height"].number(names),
        known_names(fields["segments"], links, "body"),
    )
