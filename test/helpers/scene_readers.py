# SPDX-License-Identifier: Apache-2.0
"""Readers of glTF, X3D and VRML97 that share nothing with what writes them."""

from __future__ import annotations

import json
import re
import struct
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

COMPONENTS = {5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}
Y_UP = Rotation.from_euler("x", -90.0, degrees=True).as_matrix()
"""From z up to y up."""


class Glb:
    """A .glb file: its JSON, and numbers by accessor."""

    def __init__(self, content: bytes) -> None:
        """Split it into its chunks."""
        magic, version, length = struct.unpack_from("<4sII", content)
        assert (magic, version, length) == (b"glTF", 2, len(content))
        size, kind = struct.unpack_from("<I4s", content, 12)
        assert kind == b"JSON" and size % 4 == 0
        self.json: dict[str, Any] = json.loads(content[20 : 20 + size])
        rest = 20 + size
        size, kind = struct.unpack_from("<I4s", content, rest)
        assert kind == b"BIN\0" and size % 4 == 0 and rest + 8 + size == length
        self.binary = content[rest + 8 :]

    def numbers(self, accessor: int) -> np.ndarray:
        """Values of an accessor (n, columns)."""
        entry = self.json["accessors"][accessor]
        view = self.json["bufferViews"][entry["bufferView"]]
        first = view.get("byteOffset", 0) + entry.get("byteOffset", 0)
        width = WIDTHS[entry["type"]]
        kind = np.dtype(COMPONENTS[entry["componentType"]])
        count = entry["count"] * width
        assert count * kind.itemsize <= view["byteLength"]
        return np.frombuffer(self.binary, kind, count, first).reshape(-1, width)

    def times(self) -> np.ndarray:
        """Of the animation [s]."""
        samplers = self.json["animations"][0]["samplers"]
        (only,) = {sampler["input"] for sampler in samplers}
        return self.numbers(only)[:, 0]

    def poses(self, k: int) -> dict[str, np.ndarray]:
        """World poses of all nodes at key k, by name (4, 4)."""
        nodes = [dict(node) for node in self.json["nodes"]]
        for animation in self.json.get("animations", []):
            for channel in animation["channels"]:
                target = channel["target"]
                sampler = animation["samplers"][channel["sampler"]]
                value = self.numbers(sampler["output"])[k]
                nodes[target["node"]][target["path"]] = value
        poses: dict[str, np.ndarray] = {}

        def walk(number: int, above: np.ndarray) -> None:
            node = nodes[number]
            scale = np.array(node.get("scale", (1.0, 1.0, 1.0)), float)
            turn = Rotation.from_quat(node.get("rotation", (0, 0, 0, 1))).as_matrix()
            own = above @ pose(node.get("translation", (0, 0, 0)), turn * scale)
            assert node["name"] not in poses
            poses[node["name"]] = own
            for child in node.get("children", ()):
                walk(child, own)

        for root in self.json["scenes"][self.json["scene"]]["nodes"]:
            walk(root, np.eye(4))
        return poses


def pose(place: Any, turn: np.ndarray) -> np.ndarray:
    """A homogeneous matrix."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turn, np.asarray(place, float)
    return matrix


@dataclass
class Node:
    """A node of X3D or VRML: its fields as lists of numbers or as text."""

    kind: str
    name: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)

    def every(self) -> list[Node]:
        """This node and all below it."""
        return [self, *(node for child in self.children for node in child.every())]


@dataclass
class World:
    """All of a file."""

    nodes: list[Node]
    routes: list[tuple[str, str, str, str]]

    def every(self) -> list[Node]:
        """All nodes."""
        return [node for top in self.nodes for node in top.every()]

    def named(self) -> dict[str, Node]:
        """Nodes with names, which are theirs alone."""
        nodes = [node for node in self.every() if node.name]
        assert len({node.name for node in nodes}) == len(nodes)
        return {node.name: node for node in nodes}

    def poses(self, fraction: float) -> dict[str, np.ndarray]:
        """World poses of all named transforms at a share of the cycle (4, 4)."""
        named, values = self.named(), {}
        for source, output, target, entry in self.routes:
            if output == "value_changed":
                node = named[source]
                field_ = entry.removeprefix("set_")
                values[target, field_] = interpolated(node, fraction)
        poses: dict[str, np.ndarray] = {}

        def walk(node: Node, above: np.ndarray) -> None:
            own = above
            if node.kind == "Transform":
                fields = {
                    word: values.get((node.name, word), node.fields.get(word, rest))
                    for word, rest in (
                        ("translation", (0.0, 0.0, 0.0)),
                        ("rotation", (0.0, 0.0, 1.0, 0.0)),
                        ("scale", (1.0, 1.0, 1.0)),
                    )
                }
                *axis, angle = fields["rotation"]
                turn = Rotation.from_rotvec(np.array(axis) * angle).as_matrix()
                turn = turn * np.array(fields["scale"])
                own = above @ pose(fields["translation"], turn)
                poses[node.name] = own
            for child in node.children:
                walk(child, own)

        for top in self.nodes:
            walk(top, np.eye(4))
        return poses


def interpolated(node: Node, fraction: float) -> np.ndarray:
    """Value of an interpolator at a fraction."""
    keys = np.array(node.fields["key"])
    values = np.array(node.fields["keyValue"]).reshape(len(keys), -1)
    if node.kind == "PositionInterpolator":
        return np.array([np.interp(fraction, keys, column) for column in values.T])
    assert node.kind == "OrientationInterpolator"
    turns = Rotation.from_rotvec(values[:, :3] * values[:, 3:])
    vector = Slerp(keys, turns)(fraction).as_rotvec()
    angle = np.linalg.norm(vector)
    return np.append(vector / angle if angle else [0.0, 0.0, 1.0], angle)


def _value(text: str) -> Any:
    """Numbers, where it is nothing else."""
    words = text.replace(",", " ").split()
    try:
        return [float(word) for word in words]
    except ValueError:
        return text


def read_x3d(content: bytes) -> World:
    """Read the XML of a .x3d file."""
    root = ET.fromstring(content)
    assert root.tag == "X3D" and root.get("profile") == "Interchange"
    scene = root.find("Scene")
    assert scene is not None

    def node(element: ET.Element) -> Node:
        fields = {name: _value(text) for name, text in element.attrib.items()}
        name = str(element.get("DEF", ""))
        fields.pop("DEF", None)
        return Node(element.tag, name, fields, [node(inner) for inner in element])

    words = ("fromNode", "fromField", "toNode", "toField")
    routes = [
        (element.attrib[words[0]], *(element.attrib[word] for word in words[1:]))
        for element in scene
        if element.tag == "ROUTE"
    ]
    return World([node(e) for e in scene if e.tag != "ROUTE"], routes)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s,{}\[\]"]+')
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def read_vrml(content: bytes) -> World:
    """Read a .wrl file by the grammar of VRML97 (annex A), without prototypes."""
    head, _, text = content.decode("utf-8").partition("\n")
    assert head == "#VRML V2.0 utf8"
    tokens = _TOKEN.findall(text)
    place = 0

    def take(expected: str | None = None) -> str:
        nonlocal place
        token = tokens[place]
        place += 1
        assert expected is None or token == expected, (token, expected)
        return token

    def node() -> Node:
        name, kind = "", take()
        if kind == "DEF":
            name, kind = take(), take()
        made = Node(kind, name)
        take("{")
        while tokens[place] != "}":
            word = take()
            if tokens[place] == "[" and not _NUMBER.fullmatch(tokens[place + 1]):
                take("[")
                while tokens[place] != "]":
                    made.children.append(node())
                take("]")
            elif tokens[place][0].isupper() and tokens[place] not in ("TRUE", "FALSE"):
                made.children.append(node())
            else:
                made.fields[word] = value()
        take("}")
        return made

    def value() -> Any:
        token = tokens[place]
        if token.startswith('"'):
            return re.sub(r"\\(.)", r"\1", take()[1:-1])
        if token in ("TRUE", "FALSE"):
            return take().lower()
        listed = token == "["
        if listed:
            take()
        numbers = []
        while _NUMBER.fullmatch(tokens[place]):
            numbers.append(float(take()))
        if listed:
            take("]")
        assert numbers
        return numbers

    nodes, routes = [], []
    while place < len(tokens):
        if tokens[place] == "ROUTE":
            take()
            source = take().split(".")
            take("TO")
            target = take().split(".")
            routes.append((source[0], source[1], target[0], target[1]))
        else:
            nodes.append(node())
    return World(nodes, routes)
