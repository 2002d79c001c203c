# SPDX-License-Identifier: Apache-2.0
"""A scene that moves: a tree of coloured shapes, and their poses over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

WORLD = -1
"""Parent of what stands in the world."""
_SMOOTH_FACES = 5000
"""Meshes with fewer faces are shaded smoothly, with their sharp edges kept."""
_STILL = 1e-12
"""What moves less than this does not move [m], or as parts of a quaternion."""

Colour = tuple[int, int, int]
"""Red, green, blue, 0 to 255."""


@dataclass(frozen=True, eq=False)
class Shape:
    """Triangles of one colour, in the frame of their node.

    Attributes:
        vertices: (n, 3) [m].
        normals: of the vertices (n, 3).
        faces: (m, 3), numbers of vertices.
        colour: of all of them.
    """

    vertices: np.ndarray
    normals: np.ndarray
    faces: np.ndarray
    colour: Colour


@dataclass(frozen=True, eq=False)
class SceneNode:
    """A thing that moves as one piece.

    Attributes:
        name: unique among the nodes of a scene.
        parent: number of the node that it moves with, or :data:`WORLD`.
        places: in the parent's frame (n, 3) [m]; one row where it does not move.
        turns: quaternions x, y, z, w in the parent's frame (n, 4); one row where it
            does not turn.
        shapes: what is drawn.
        shown: samples in which it is there (n,); None: all.
    """

    name: str
    parent: int
    places: np.ndarray
    turns: np.ndarray
    shapes: tuple[Shape, ...] = ()
    shown: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class MovingScene:
    """The scene of a file: z up, in metres.

    Attributes:
        times: of the samples, from 0 on, rising (n,) [s]; one of a scene at rest.
        nodes: parents before their children.
        bounds: lowest and highest corner of what is to be seen (2, 3) [m].
        joint_names: names of the joints of nodes in H-Anim, by the node's name.
    """

    title: str
    times: np.ndarray
    nodes: tuple[SceneNode, ...]
    bounds: np.ndarray
    joint_names: Mapping[str, str] = field(default_factory=dict)


def path_bounds(nodes: Sequence[SceneNode]) -> np.ndarray:
    """Lowest and highest corner of nodes, parents first, in all samples (2, 3) [m]."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    poses: list[tuple[np.ndarray, Rotation]] = []
    for node in nodes:
        place, turn = node.places, Rotation.from_quat(node.turns)
        if node.parent != WORLD:
            place = poses[node.parent][0] + poses[node.parent][1].apply(place)
            turn = poses[node.parent][1] * turn
        poses.append((place, turn))
        for shape in node.shapes:
            for corner in trimesh.bounds.corners(_box(shape.vertices)):
                path = place + turn.apply(corner)
                low = np.minimum(low, path.min(axis=0))
                high = np.maximum(high, path.max(axis=0))
    return np.array([low, high])


def _box(vertices: np.ndarray) -> np.ndarray:
    return np.array([vertices.min(axis=0), vertices.max(axis=0)])


def rising_rows(t: np.ndarray) -> np.ndarray:
    """Samples whose times rise in single precision, as files keep them.

    Of samples at one time, before and after an event, the last stays.
    """
    times = (t - t[0]).astype(np.float32)
    last = np.append(np.diff(times) > 0.0, True)
    return np.flatnonzero(last)


def pose_node(
    name: str,
    parent: int,
    places: np.ndarray,
    turns: np.ndarray,
    shapes: Iterable[Shape] = (),
    shown: np.ndarray | None = None,
) -> SceneNode:
    """A node by its poses over time; what does not move has one row.

    Quaternions become unit ones of one sign along their way, so that readers turn by
    the shorter way between two samples.
    """
    turns = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    flips = np.where(np.sum(turns[1:] * turns[:-1], axis=1) < 0.0, -1.0, 1.0)
    turns = turns * np.append(1.0, np.cumprod(flips))[:, None]
    if np.ptp(places, axis=0).max() <= _STILL:
        places = places[:1]
    if np.ptp(turns, axis=0).max() <= _STILL:
        turns = turns[:1]
    if shown is not None and shown.all():
        shown = None
    return SceneNode(name, parent, places, turns, tuple(shapes), shown)


def still_node(name: str, shapes: Iterable[Shape]) -> SceneNode:
    """A node of the world that does not move."""
    return pose_node(
        name, WORLD, np.zeros((1, 3)), np.array([[0.0, 0.0, 0.0, 1.0]]), shapes
    )


def shape_of(mesh: trimesh.Trimesh, colour: Colour) -> Shape:
    """A mesh in one colour, with its normals."""
    drawn = mesh.smooth_shaded if len(mesh.faces) < _SMOOTH_FACES else mesh
    normals = np.array(drawn.vertex_normals, dtype=float)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.where(lengths > 0.0, normals, [0.0, 0.0, 1.0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return Shape(np.array(drawn.vertices), normals, np.array(drawn.faces), colour)


def flat_shape(vertices: np.ndarray, faces: np.ndarray, colour: Colour) -> Shape:
    """Triangles in one colour, each with its own normal."""
    corners = vertices[faces].reshape(-1, 3)
    sides = corners.reshape(-1, 3, 3)
    across = np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0])
    lengths = np.linalg.norm(across, axis=1)
    corners = sides[lengths > 0.0].reshape(-1, 3)
    across = across[lengths > 0.0] / lengths[lengths > 0.0, None]
    numbers = np.arange(len(corners)).reshape(-1, 3)
    return Shape(corners, np.repeat(across, 3, axis=0), numbers, colour)


def coloured_shapes(mesh: trimesh.Trimesh) -> list[Shape]:
    """The faces of a mesh by their colours."""
    colours = np.asarray(cast(Any, mesh.visual).face_colors)[:, :3]
    kinds, member = np.unique(colours, axis=0, return_inverse=True)
    shapes = []
    for k, colour in enumerate(kinds.tolist()):
        faces = np.asarray(mesh.faces)[member.ravel() == k]
        part = trimesh.Trimesh(mesh.vertices, faces, process=False)
        part.remove_unreferenced_vertices()
        shapes.append(shape_of(part, tuple(colour)))
    return shapes


def joined_shapes(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """Shapes with those of one colour put together."""
    by_colour: dict[Colour, list[Shape]] = {}
    for shape in shapes:
        by_colour.setdefault(shape.colour, []).append(shape)
    joined = []
    for colour, own in by_colour.items():
        counts = [len(shape.vertices) for shape in own]
        first = np.cumsum([0, *counts[:-1]])
        faces = [shape.faces + n for shape, n in zip(own, first, strict=True)]
        joined.append(
            Shape(
                np.vstack([shape.vertices for shape in own]),
                np.vstack([shape.normals for shape in own]),
                np.vstack(faces),
                colour,
            )
        )
    return tuple(joined)


def placed_shape(shape: Shape, place: np.ndarray, turn: np.ndarray) -> Shape:
    """A shape in another frame, by place [m] and rotation matrix of its own."""
    return Shape(
        shape.vertices @ turn.T + place,
        shape.normals @ turn.T,
        shape.faces,
        shape.colour,
    )
