# SPDX-License-Identifier: Apache-2.0
"""A free body from a URDF of one link: a box or a ball with a mass."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np

from humans_sim.bodies.mass_properties import BodyError, MassProperties
from humans_sim.core.errors import ModelFileError
from humans_sim.core.xml_file import element_error, parse_xml
from humans_sim.dynamics.scenes.scene_bodies import SceneBody
from humans_sim.models.files.urdf_elements import SMALLEST_SIZE, check_numbers, numbers

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_SHIFTED = 1e-9
"""What is nearer to the link's frame than this lies in it [m, rad]."""


class UnsupportedShapeError(ModelFileError):
    """A shape that a free body cannot have."""


def read_body(text: str, path: Path, name: str = "") -> SceneBody:
    """The body of a URDF.

    Args:
        text: of the file.
        path: of the file, for messages.
        name: of the body; empty: that of the URDF.

    Raises:
        ModelFileError: it is no URDF of one link with a mass and a shape.
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
        return replace(body, properties=_properties(link, body.properties, path))
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


def _properties(link: ET.Element, even: MassProperties, path: Path) -> MassProperties:
    """Those of the URDF; of an even body where it gives no moments of inertia."""
    given = _child(link, "inertial", path).find("inertia")
    if given is None:
        return even
    xx, xy, xz, yy, yz, zz = (_number(given, key, path) for key in _MOMENTS)
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return replace(even, inertia=inertia)
