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
from humans_sim.models.mesh_files import hull_vertices, mesh_path
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
    return tuple(
        shape
        for link in _links(model)
        for shape in _shapes(model, link, _collision_elements(link))
    )


@lru_cache(maxsize=16)
def visual_shapes(model: Model) -> tuple[CollisionShape, ...]:
    """What is drawn of a model's links, each part by its convex hull.

    Raises:
        ModelFileError: a mesh of the URDF is missing or unreadable.
    """
    return tuple(
        shape
        for link in _links(model)
        for shape in _shapes(model, link, link.findall(VISUAL))
    )


def _links(model: Model) -> list[ET.Element]:
    return parse_xml(model.urdf(), model.parts.source).findall("link")


def _collision_elements(link: ET.Element) -> list[ET.Element]:
    return link.findall(COLLISION) or link.findall(VISUAL)


def _shapes(
    model: Model, link: ET.Element, elements: list[ET.Element]
) -> Iterator[CollisionShape]:
    name = link.get("name", "")
    if not model.pin.existFrame(name, pin.FrameType.BODY):
        return  # what hangs on the world, above the floating base
    frame = model.pin.frames[model.pin.getFrameId(name, pin.FrameType.BODY)]
    for element in elements:
        geometry = element.find("geometry")
        if geometry is None or not len(geometry):
            continue
        pose = frame.placement * _origin(element.find("origin"))
        kind, size, local, radius = _solid(model, name, geometry[0])
        vertices = local @ pose.rotation.T + pose.translation
        yield CollisionShape(
            name, int(frame.parentJoint), pose, kind, size, vertices, radius
        )


def _solid(
    model: Model, link: str, element: ET.Element
) -> tuple[str, tuple[float, ...], np.ndarray, float]:
    """Kind, size, vertices in the shape's own frame, and radius."""

    def sizes(name: str, count: int, default: str = "") -> np.ndarray:
        words = element.get(name, default).split()
        values = np.array([float(word) for word in words])
        if values.shape != (count,) or not (values > 0).all():
            raise ModelFileError(
                f"a {element.tag} needs {count} size(s) above zero as '{name}'",
                model.parts.source,
                key=f"link {link}",
            )
        return values

    if element.tag == BOX:
        edges = sizes("size", 3)
        signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        return BOX, tuple(edges.tolist()), signs * edges, 0.0
    if element.tag == SPHERE:
        radius = float(sizes("radius", 1)[0])
        return SPHERE, (radius,), np.zeros((1, 3)), radius
    if element.tag in (CYLINDER, CAPSULE):
        radius, length = float(sizes("radius", 1)[0]), float(sizes("length", 1)[0])
        ends = np.array([[0.0, 0.0, -length / 2.0], [0.0, 0.0, length / 2.0]])
        if element.tag == CAPSULE:
            return CAPSULE, (radius, length), ends, radius
        angle = 2.0 * np.pi * np.arange(_ROUND) / _ROUND
        rim = radius * np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
        return CYLINDER, (radius, length), np.vstack([rim + end for end in ends]), 0.0
    if element.tag == "mesh":
        words = element.get("scale", "1 1 1").split()
        scale = np.array([float(word) for word in words])
        if scale.shape != (3,) or not scale.all():
            raise ModelFileError(
                "the scale of a mesh has three numbers, none of them zero",
                model.parts.source,
                key=f"link {link}",
            )
        vertices = hull_vertices(mesh_path(element.get("filename", ""), model), scale)
        return HULL, tuple(np.ptp(vertices, axis=0).tolist()), vertices, 0.0
    raise ModelFileError(
        f"'{element.tag}' is no geometry: use box, sphere, cylinder, capsule or mesh",
        model.parts.source,
        key=f"link {link}",
    )


def _origin(element: ET.Element | None) -> pin.SE3:
    if element is None:
        return pin.SE3.Identity()
    xyz = np.array([float(word) for word in element.get("xyz", "0 0 0").split()])
    rpy = np.array([float(word) for word in element.get("rpy", "0 0 0").split()])
    return pin.SE3(pin.rpy.rpyToMatrix(rpy), xyz)
