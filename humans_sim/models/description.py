# SPDX-License-Identifier: Apache-2.0
"""What a model is made of, before pinocchio: links, joints, tags, contacts.

Everything here is on ROS axes (x forward, y left, z up). In the zero position all
link frames are parallel to the world's, so a joint needs an origin and an axis only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

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

    @classmethod
    def about_origin(
        cls, mass: float, com: np.ndarray, inertia: np.ndarray
    ) -> Inertial:
        """From the inertia about the link's origin (Huygens' theorem)."""
        transfer = mass * (com @ com * np.eye(3) - np.outer(com, com))
        return cls(mass, com, inertia - transfer)


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
        name: joint name.
        parent: parent link.
        child: child link.
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
        joints: joint names in the order of the HuMAnS vector.
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
