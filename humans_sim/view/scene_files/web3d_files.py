# SPDX-License-Identifier: Apache-2.0
"""Scenes as text: X3D 3.3 (XML, profile Interchange) and VRML97, which is ISO 14772.

Both have the same nodes in two spellings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.view.scene_files.gltf_file import HIDDEN
from humans_sim.view.scene_files.moving_scene import (
    WORLD,
    MovingScene,
    SceneNode,
    Shape,
)

CLOCK = "Clock"
"""Name of the node that runs an animation."""
_SIGHT = np.array([1.05, 0.45, -0.62])
"""From where a scene is seen at first, y up."""
_SKY = np.array([[0.93, 0.94, 0.96]])
_FIELD = 0.785398
"""Angle of the view [rad]."""
_WORD = re.compile(r"[^A-Za-z0-9_]")

Value = str | bool | float | np.ndarray
"""Of a field: text, a truth, a number, a vector (1 axis) or a list of them (2)."""
_LIGHT: tuple[tuple[str, Value], ...] = (
    ("ambientIntensity", 0.5),
    ("direction", np.array([-0.4, -1.0, 0.3])),
    ("intensity", 0.7),
)
"""From above, beside the light that viewers have on the head."""


@dataclass(frozen=True, eq=False)
class Web3dNode:
    """A node of a file.

    Attributes:
        name: by which others refer to it; empty: none does.
        fields: values by name.
        nodes: nodes inside it, each with the field that holds it.
    """

    kind: str
    name: str = ""
    fields: tuple[tuple[str, Value], ...] = ()
    nodes: tuple[tuple[str, Web3dNode], ...] = ()


@dataclass(frozen=True)
class Route:
    """An event that goes from a field of a node to a field of another."""

    source: str
    output: str
    target: str
    entry: str


@dataclass(frozen=True, eq=False)
class Web3dScene:
    """All of a file: nodes, then routes between them."""

    title: str
    nodes: tuple[Web3dNode, ...]
    routes: tuple[Route, ...]


def web3d_scene(scene: MovingScene) -> Web3dScene:
    """The nodes of a scene; y is up, as in these formats."""
    names = _names(scene)
    tops = [k for k, node in enumerate(scene.nodes) if node.parent == WORLD]
    parts = [_transform(scene, names, k) for k in tops]
    upright = np.array([1.0, 0.0, 0.0, -np.pi / 2])
    nodes = [
        Web3dNode("WorldInfo", fields=(("title", scene.title),)),
        Web3dNode("Background", fields=(("skyColor", _SKY),)),
        Web3dNode("DirectionalLight", fields=_LIGHT),
        _viewpoint(scene.bounds),
        Web3dNode("Transform", "World", (("rotation", upright),), _children(parts)),
    ]
    routes: list[Route] = []
    if len(scene.times) > 1:
        more, routes = _animation(scene, names)
        nodes += more
    return Web3dScene(scene.title, tuple(nodes), tuple(routes))


def _names(scene: MovingScene) -> list[str]:
    """Names of the nodes as identifiers, those of H-Anim where there are some."""
    names: list[str] = []
    for node in scene.nodes:
        word = _WORD.sub("_", scene.joint_names.get(node.name, node.name))
        word = word if word[:1].isalpha() else f"n_{word}"
        base, count = word, 1
        while word in (CLOCK, "World", *names):
            count += 1
            word = f"{base}_{count}"
        names.append(word)
    return names


def _children(nodes: Iterable[Web3dNode]) -> tuple[tuple[str, Web3dNode], ...]:
    return tuple(("children", node) for node in nodes)


def _transform(scene: MovingScene, names: Sequence[str], number: int) -> Web3dNode:
    """A node with its shapes and what moves with it."""
    node = scene.nodes[number]
    fields: list[tuple[str, Value]] = [
        ("translation", node.places[0]),
        ("rotation", _axis_angles(node.turns[:1])[0]),
    ]
    if node.shown is not None and not node.shown[0]:
        fields.append(("scale", np.full(3, HIDDEN)))
    below = [_shape(shape) for shape in node.shapes]
    below += [
        _transform(scene, names, k)
        for k, other in enumerate(scene.nodes)
        if other.parent == number
    ]
    return Web3dNode("Transform", names[number], tuple(fields), _children(below))


def _shape(shape: Shape) -> Web3dNode:
    colour = np.array(shape.colour) / 255.0
    material = Web3dNode("Material", fields=(("diffuseColor", colour),))
    points = Web3dNode("Coordinate", fields=(("point", shape.vertices),))
    ends = np.full((len(shape.faces), 1), -1)
    faces: tuple[tuple[str, Value], ...] = (
        ("solid", False),
        ("creaseAngle", np.pi),  # sharp edges have vertices of their own
        ("coordIndex", np.hstack([shape.faces, ends]).astype(int)),
    )
    return Web3dNode(
        "Shape",
        nodes=(
            ("appearance", Web3dNode("Appearance", nodes=(("material", material),))),
            ("geometry", Web3dNode("IndexedFaceSet", "", faces, (("coord", points),))),
        ),
    )


def _viewpoint(bounds: np.ndarray) -> Web3dNode:
    """Looks at all that moves."""
    x, y, z = bounds.mean(axis=0)
    size = float(np.linalg.norm(bounds[1] - bounds[0]))
    away = _SIGHT / np.linalg.norm(_SIGHT)
    right = np.cross([0.0, 1.0, 0.0], away)
    right /= np.linalg.norm(right)
    axes = np.column_stack([right, np.cross(away, right), away])
    turn = Rotation.from_matrix(axes).as_quat()[None]
    far = 0.55 * size / np.tan(_FIELD / 2)
    return Web3dNode(
        "Viewpoint",
        fields=(
            ("description", "Start"),
            ("fieldOfView", _FIELD),
            ("orientation", _axis_angles(turn)[0]),
            ("position", np.array([x, z, -y]) + far * away),
        ),
    )


def _animation(
    scene: MovingScene, names: Sequence[str]
) -> tuple[list[Web3dNode], list[Route]]:
    """A clock, interpolators of all that moves, and who tells whom."""
    span = float(scene.times[-1])
    clock: tuple[tuple[str, Value], ...] = (("cycleInterval", span), ("loop", True))
    nodes, routes = [Web3dNode("TimeSensor", CLOCK, clock)], []
    for node, name in zip(scene.nodes, names, strict=True):
        for kind, field, values in _motions(node):
            own = f"{name}_{field}"
            keys: tuple[tuple[str, Value], ...] = (
                ("key", scene.times[:, None] / span),
                ("keyValue", values),
            )
            nodes.append(Web3dNode(kind, own, keys))
            routes.append(Route(CLOCK, "fraction_changed", own, "set_fraction"))
            routes.append(Route(own, "value_changed", name, f"set_{field}"))
    return nodes, routes


def _motions(node: SceneNode) -> list[tuple[str, str, np.ndarray]]:
    """Interpolator, field and values of all that changes of a node."""
    motions = []
    if len(node.places) > 1:
        motions.append(("PositionInterpolator", "translation", node.places))
    if len(node.turns) > 1:
        turns = _axis_angles(node.turns)
        motions.append(("OrientationInterpolator", "rotation", turns))
    if node.shown is not None:
        sizes = np.where(node.shown[:, None], np.ones(3), HIDDEN)
        motions.append(("PositionInterpolator", "scale", sizes))
    return motions


def _axis_angles(turns: np.ndarray) -> np.ndarray:
    """Quaternions as unit axes and angles from 0 to pi (n, 4)."""
    vectors = Rotation.from_quat(turns).as_rotvec()
    angles = np.linalg.norm(vectors, axis=1, keepdims=True)
    none = angles[:, 0] == 0.0
    axes = vectors / np.where(none[:, None], 1.0, angles)
    axes[none] = (0.0, 0.0, 1.0)
    return np.hstack([axes, angles])


_DIGITS = 9
"""Significant digits of numbers."""
_ROW = 8
"""Vectors of a list in one line."""
_X3D = (
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<X3D profile="Interchange" version="3.3"'
    ' xmlns:xsd="http://www.w3.org/2001/XMLSchema-instance"'
    ' xsd:noNamespaceSchemaLocation="http://www.web3d.org/specifications/x3d-3.3.xsd">',
)


def x3d(scene: MovingScene) -> bytes:
    """The content of a .x3d file."""
    content = web3d_scene(scene)
    lines = [*_X3D, "  <head>"]
    lines.append(f'    <meta name="title" content={quoteattr(_plain(content.title))}/>')
    lines += ['    <meta name="generator" content="humans_sim"/>', "  </head>"]
    lines.append("  <Scene>")
    for node in content.nodes:
        lines += _xml(node, "    ")
    for route in content.routes:
        lines.append(
            f'    <ROUTE fromNode="{route.source}" fromField="{route.output}"'
            f' toNode="{route.target}" toField="{route.entry}"/>'
        )
    lines += ["  </Scene>", "</X3D>", ""]
    return "\n".join(lines).encode("utf-8")


def vrml(scene: MovingScene) -> bytes:
    """The content of a .wrl file."""
    content = web3d_scene(scene)
    lines = ["#VRML V2.0 utf8"]
    for node in content.nodes:
        lines += _braces(node, "")
    for route in content.routes:
        source, target = (route.source, route.output), (route.target, route.entry)
        lines.append(f"ROUTE {'.'.join(source)} TO {'.'.join(target)}")
    return ("\n".join(lines) + "\n").encode("utf-8")


def _xml(node: Web3dNode, indent: str) -> Iterator[str]:
    name = f' DEF="{node.name}"' if node.name else ""
    fields = ""
    for field, value in node.fields:
        text = _plain(value) if isinstance(value, str) else _number_text(value)
        if isinstance(value, bool):
            text = "true" if value else "false"
        fields += f" {field}={quoteattr(text)}"
    if not node.nodes:
        yield f"{indent}<{node.kind}{name}{fields}/>"
        return
    yield f"{indent}<{node.kind}{name}{fields}>"
    for _, inner in node.nodes:
        yield from _xml(inner, indent + "  ")
    yield f"{indent}</{node.kind}>"


def _braces(node: Web3dNode, indent: str) -> Iterator[str]:
    name = f"DEF {node.name} " if node.name else ""
    yield f"{indent}{name}{node.kind} {{"
    for field, value in node.fields:
        if isinstance(value, bool):
            text = "TRUE" if value else "FALSE"
        elif isinstance(value, str):
            text = _plain(value).replace("\\", "\\\\").replace('"', '\\"')
            text = f'"{text}"'
        else:
            text = _number_text(value)
            text = f"[ {text} ]" if np.ndim(value) == 2 else text
        yield f"{indent}  {field} {text}"
    several = [inner for field, inner in node.nodes if field == "children"]
    for field, inner in node.nodes:
        if field != "children":
            first, *others = _braces(inner, indent + "  ")
            yield f"{indent}  {field} {first.lstrip()}"
            yield from others
    if several:
        yield f"{indent}  children ["
        for inner in several:
            yield from _braces(inner, indent + "    ")
        yield f"{indent}  ]"
    yield f"{indent}}}"


def _number_text(value: float | np.ndarray) -> str:
    """Numbers, the vectors of a list with commas between them."""
    rows = np.atleast_2d(np.asarray(value))
    if rows.dtype.kind == "i":
        words = [" ".join(map(str, row)) for row in rows.tolist()]
    else:
        words = [
            " ".join(f"{x:.{_DIGITS}g}" for x in row) for row in (rows + 0.0).tolist()
        ]
    lines = [", ".join(words[k : k + _ROW]) for k in range(0, len(words), _ROW)]
    return ",\n".join(lines)


def _plain(text: str) -> str:
    """Text without what neither format can hold: control characters."""
    return "".join(c if c.isprintable() else " " for c in text)
