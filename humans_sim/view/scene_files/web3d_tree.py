# SPDX-License-Identifier: Apache-2.0
"""Scenes as nodes of X3D and VRML97, which have the same ones in two spellings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
        kind: its type.
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
