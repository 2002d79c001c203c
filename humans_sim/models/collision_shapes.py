# SPDX-License-Identifier: Apache-2.0
"""The solids of a model's links, as its URDF gives them.

``<collision>`` elements count; of a link without any, its ``<visual>`` elements. Every
shape is convex, and the set of points within ``radius`` of the convex hull of its
``vertices``: a ball has one vertex, a capsule two, a box eight and no radius. The
height of its highest point along a direction d therefore is ``(vertices @ d).max() +
radius``. Meshes give way to their convex hulls.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ModelFileError
from humans_sim.core.xml_file import parse_xml
from humans_sim.models.files.urdf_elements import is_tiny, number, numbers, shape_of
from humans_sim.models.mesh_files import find_mesh, hull_vertices
from humans_sim.models.model import Model

BOX, SPHERE, CYLINDER, CAPSULE, HULL = "box", "sphere", "cylinder", "capsule", "hull"
KINDS = (BOX, SPHERE, CYLINDER, CAPSULE, HULL)
COLLISION, VISUAL = "collision", "visual"
_ROUND = 32
"""Vertices on each rim of a cylinder: they leave out 0.5 % of its radius."""


@dataclass(frozen=True, eq=False)
class CollisionShape:
    """A convex solid that is fixed on a link.

    Attributes:
        link: name of the link.
        joint: index of pinocchio's joint that carries the link.
        pose: of the shape in the joint's frame.
        kind: ``box``, ``sphere``, ``cylinder``, ``capsule`` or ``hull``.
        size: of a box its edges; of a ball its radius; of a cylinder or a capsule
            radius and length along z, a capsule's without its caps; of a hull the
            edges of the box that holds it [m].
        vertices: in the joint's frame (n, 3) [m].
        radius: what is within it of the vertices' hull belongs to the shape [m].
        centre: of the smallest box along the joint's axes that holds the shape [m].
        reach: no point of the shape is farther from ``centre`` [m].
    """

    link: str
    joint: int
    pose: pin.SE3
    kind: str
    size: tuple[float, ...]
    vertices: np.ndarray
    radius: float
    centre: np.ndarray = field(init=False)
    reach: float = field(init=False)

    def __post_init__(self) -> None:
        """Fix the vertices and their bounding ball."""
        centre = (self.vertices.min(axis=0) + self.vertices.max(axis=0)) / 2.0
        reach = float(np.linalg.norm(self.vertices - centre, axis=1).max())
        self.vertices.setflags(write=False)
        centre.setflags(write=False)
        object.__setattr__(self, "centre", centre)
        object.__setattr__(self, "reach", reach + self.radius)

    def support(self, directions: np.ndarray) -> np.ndarray:
        """How far the shape goes along unit vectors of the joint's frame (n,) [m].

        Args:
            directions: (n, 3).
        """
        heights: np.ndarray = (directions @ self.vertices.T).max(axis=1)
        return heights + self.radius


@lru_cache(maxsize=16)
def collision_shapes(model: Model) -> tuple[CollisionShape, ...]:
    """What a model's links touch with, in the order of its URDF.

    Raises:
        ModelFileError: a mesh of the URDF is missing or unreadable.
    """
    return tuple(_shapes(model, COLLISION))


@lru_cache(maxsize=16)
def visual_shapes(model: Model) -> tuple[CollisionShape, ...]:
    """What is drawn of a model's links, each part by its convex hull.

    Raises:
        ModelFileError: a mesh of the URDF is missing or unreadable.
    """
    return tuple(_shapes(model, VISUAL))


def shape_elements(
    model: Model, kind: str
) -> Iterator[tuple[str, int, pin.SE3, ET.Element, ET.Element]]:
    """Shapes in a model's URDF, those without extent left out.

    Args:
        model: one.
        kind: ``collision`` (``visual`` of a link without any), or ``visual``.

    Yields:
        Name of the link, pinocchio's joint that carries it, pose of the shape in the
        joint's frame, the shape's element, and the one of its kind that it stands in.
    """
    for link in parse_xml(model.urdf(), model.parts.source).findall("link"):
        name = link.get("name", "")
        if not model.pin.existFrame(name, pin.FrameType.BODY):
            continue  # what hangs on the world, above the floating base
        frame = model.pin.frames[model.pin.getFrameId(name, pin.FrameType.BODY)]
        for element in link.findall(kind) or link.findall(VISUAL):
            shape = shape_of(element.find("geometry"))
            if shape is None or is_tiny(shape):
                continue
            pose = frame.placement * _origin(element.find("origin"))
            yield name, int(frame.parentJoint), pose, shape, element


def _shapes(model: Model, kind: str) -> Iterator[CollisionShape]:
    for name, joint, pose, element, _ in shape_elements(model, kind):
        word, size, local, radius = _solid(model, name, element)
        vertices = local @ pose.rotation.T + pose.translation
        yield CollisionShape(name, joint, pose, word, size, vertices, radius)


def _solid(
    model: Model, link: str, element: ET.Element
) -> tuple[str, tuple[float, ...], np.ndarray, float]:
    """Kind, size, vertices in the shape's own frame, and radius."""
    if element.tag == BOX:
        edges = np.array(numbers(element, "size"))
        signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        return BOX, tuple(edges.tolist()), signs * edges, 0.0
    if element.tag == SPHERE:
        radius = number(element, "radius")
        return SPHERE, (radius,), np.zeros((1, 3)), radius
    if element.tag in (CYLINDER, CAPSULE):
        radius, length = number(element, "radius"), number(element, "length")
        ends = np.array([[0.0, 0.0, -length / 2.0], [0.0, 0.0, length / 2.0]])
        if element.tag == CAPSULE:
            return CAPSULE, (radius, length), ends, radius
        angle = 2.0 * np.pi * np.arange(_ROUND) / _ROUND
        rim = radius * np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
        return CYLINDER, (radius, length), np.vstack([rim + end for end in ends]), 0.0
    if element.tag == "mesh":
        scale = np.array(numbers(element, "scale", 1.0, 1.0, 1.0))
        vertices = hull_vertices(find_mesh(element.get("filename", ""), model), scale)
        return HULL, tuple(np.ptp(vertices, axis=0).tolist()), vertices, 0.0
    raise ModelFileError(
        f"'{element.tag}' is no geometry: use box, sphere, cylinder, capsule or mesh",
        model.parts.source,
        key=f"link {link}",
    )


def _origin(element: ET.Element | None) -> pin.SE3:
    if element is None:
        return pin.SE3.Identity()
    xyz = np.array(numbers(element, "xyz", 0.0, 0.0, 0.0))
    rpy = np.array(numbers(element, "rpy", 0.0, 0.0, 0.0))
    return pin.SE3(pin.rpy.rpyToMatrix(rpy), xyz)
