# SPDX-License-Identifier: Apache-2.0
"""Scenes as glTF 2.0 in one binary file (.glb).

Sections of the specification are named where they ask for something that is not seen at
once. glTF has y up: a root node turns our z up into it, so that everything below keeps
its own coordinates.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from humans_sim.core.version import __version__
from humans_sim.view.scene_files.moving_scene import (
    WORLD,
    Colour,
    MovingScene,
    SceneNode,
)

_MAGIC, _VERSION, _JSON, _BIN = 0x46546C67, 2, 0x4E4F534A, 0x004E4942
_FLOAT, _SHORT, _LONG = 5126, 5123, 5125
_VERTICES, _INDICES = 34962, 34963
_COLUMNS = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}
_Y_UP = (-(0.5**0.5), 0.0, 0.0, 0.5**0.5)
"""Turns z up into y up: quaternion x, y, z, w."""
HIDDEN = 1e-6
"""Scale of what is not there in a sample."""


def glb(scene: MovingScene) -> bytes:
    """The content of a .glb file."""
    return _Document(scene).content()


class _Document:
    """Collects the parts of a file."""

    def __init__(self, scene: MovingScene) -> None:
        self._scene = scene
        self._binary = bytearray()
        self._views: list[dict[str, Any]] = []
        self._accessors: list[dict[str, Any]] = []
        self._meshes: list[dict[str, Any]] = []
        self._materials: list[dict[str, Any]] = []
        self._known_colours: dict[Colour, int] = {}
        self._known_meshes: dict[tuple[int, ...], int] = {}
        self._samplers: list[dict[str, Any]] = []
        self._channels: list[dict[str, Any]] = []
        tops = [k for k, n in enumerate(scene.nodes, 1) if n.parent == WORLD]
        root = {"name": "y_up", "rotation": list(_Y_UP), "children": tops}
        self._nodes: list[dict[str, Any]] = [root]
        for number, node in enumerate(scene.nodes, 1):
            self._nodes.append(self._node(node, number))
        if len(scene.times) < 2:
            return
        # Channels of what moves, all of them on one row of times (3.11).
        times = self._accessor(scene.times, bounds=True)
        for number, node in enumerate(scene.nodes, 1):
            if len(node.places) > 1:
                self._channel(number, "translation", times, node.places)
            if len(node.turns) > 1:
                self._channel(number, "rotation", times, node.turns)
            if node.shown is not None:
                sizes = np.where(node.shown[:, None], np.ones(3), HIDDEN)
                self._channel(number, "scale", times, sizes, "STEP")

    def content(self) -> bytes:
        """Header, JSON and binary chunk, each a multiple of four bytes (4.4)."""
        document: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": f"humans_sim {__version__}"},
            "scene": 0,
            "scenes": [{"name": self._scene.title, "nodes": [0]}],
            "nodes": self._nodes,
            "meshes": self._meshes,
            "materials": self._materials,
            "accessors": self._accessors,
            "bufferViews": self._views,
            "buffers": [{"byteLength": len(self._binary)}],
        }
        if self._channels:
            motion = {"samplers": self._samplers, "channels": self._channels}
            document["animations"] = [{"name": "motion", **motion}]
        filled = {key: value for key, value in document.items() if value != []}
        text = json.dumps(filled, separators=(",", ":"), allow_nan=False).encode()
        chunks = _chunk(_JSON, text, b" ") + _chunk(_BIN, bytes(self._binary), b"\0")
        return struct.pack("<III", _MAGIC, _VERSION, 12 + len(chunks)) + chunks

    def _node(self, node: SceneNode, number: int) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "name": node.name,
            "translation": _numbers(node.places[0]),
            "rotation": _numbers(node.turns[0]),
        }
        if node.shown is not None and not node.shown[0]:
            entry["scale"] = [HIDDEN] * 3
        nodes = enumerate(self._scene.nodes, 1)
        below = [k for k, other in nodes if other.parent == number - 1]
        if below:
            entry["children"] = below
        if node.shapes:
            entry["mesh"] = self._mesh(node)
        return entry

    def _mesh(self, node: SceneNode) -> int:
        """A mesh of a node; shapes that several nodes have are written once."""
        key = tuple(id(shape) for shape in node.shapes)
        if key not in self._known_meshes:
            self._known_meshes[key] = len(self._meshes)
            parts = []
            for shape in node.shapes:
                # The largest number of a type is kept for other uses (3.7.2.1).
                small = len(shape.vertices) < np.iinfo(np.uint16).max
                faces = shape.faces.ravel().astype(np.uint16 if small else np.uint32)
                attributes = {
                    "POSITION": self._accessor(shape.vertices, _VERTICES, bounds=True),
                    "NORMAL": self._accessor(shape.normals, _VERTICES),
                }
                indices = self._accessor(faces, _INDICES)
                part = {"attributes": attributes, "indices": indices}
                parts.append(part | {"material": self._material(shape.colour)})
            self._meshes.append({"name": node.name, "primitives": parts})
        return self._known_meshes[key]

    def _material(self, colour: Colour) -> int:
        if colour not in self._known_colours:
            self._known_colours[colour] = len(self._materials)
            surface = {
                "baseColorFactor": [*_linear(colour), 1.0],
                "metallicFactor": 0.0,
                "roughnessFactor": 0.7,
            }
            red, green, blue = colour
            self._materials.append(
                {
                    "name": f"#{red:02x}{green:02x}{blue:02x}",
                    "pbrMetallicRoughness": surface,
                    "doubleSided": True,
                }
            )
        return self._known_colours[colour]

    def _channel(
        self,
        node: int,
        path: str,
        times: int,
        values: np.ndarray,
        between: str = "LINEAR",
    ) -> None:
        sampler = {"input": times, "output": self._accessor(values)}
        target = {"node": node, "path": path}
        self._channels.append({"sampler": len(self._samplers), "target": target})
        self._samplers.append(sampler | {"interpolation": between})

    def _accessor(
        self, values: np.ndarray, target: int | None = None, bounds: bool = False
    ) -> int:
        """Numbers in the binary part; floats in single precision."""
        if values.dtype.kind == "f":
            values = values.astype("<f4")
        view = {"buffer": 0, "byteOffset": len(self._binary)}
        view["byteLength"] = values.nbytes
        if target is not None:
            view["target"] = target
        self._binary += values.tobytes() + b"\0" * (-values.nbytes % 4)
        kinds = {"f": _FLOAT, "u": _SHORT if values.itemsize == 2 else _LONG}
        table = values.reshape(len(values), -1)
        accessor: dict[str, Any] = {
            "bufferView": len(self._views),
            "componentType": kinds[values.dtype.kind],
            "count": len(table),
            "type": _COLUMNS[table.shape[1]],
        }
        if bounds:
            accessor["min"] = table.min(axis=0).tolist()
            accessor["max"] = table.max(axis=0).tolist()
        self._views.append(view)
        self._accessors.append(accessor)
        return len(self._accessors) - 1


def _chunk(kind: int, content: bytes, filling: bytes) -> bytes:
    content += filling * (-len(content) % 4)
    return struct.pack("<II", len(content), kind) + content


def _numbers(values: np.ndarray) -> list[float]:
    return [float(value) for value in values.astype(np.float32)]


def _linear(colour: Colour) -> list[float]:
    """Factors of a colour as glTF has them: linear in light, not as screens are."""
    share = np.array(colour) / 255.0
    dark, bright = share / 12.92, ((share + 0.055) / 1.055) ** 2.4
    return [round(float(x), 6) for x in np.where(share <= 0.04045, dark, bright)]
