# SPDX-License-Identifier: Apache-2.0
"""The skin of a human: one closed mesh that bends with the joints.

It is made from the implicit surface of a body, once for a subject. In other poses than
the one it was made in, each vertex follows up to four joints (linear blend skinning).

The surface is polygonised in a pose with spread arms, cut where cloth ends, and bound
to the joints; the result is kept in the user's cache.

Meshes are cut where their material changes; the grid is finer around head and hands.
For a URDF, a skin is cut into rigid pieces, one for each link and material.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pinocchio as pin
import trimesh

from humans_sim.core.bounded_text import parse_xml
from humans_sim.core.errors import FileWriteError
from humans_sim.core.files import atomic_stream
from humans_sim.core.surface_nets import neighbour_means
from humans_sim.models import Model
from humans_sim.soft.errors import SoftError
from humans_sim.soft.skin.body_shape import (
    BodyShape,
    body_shape,
    making_pose,
    skin_file,
)
from humans_sim.soft.skin.implicit_surfaces import net_of


@dataclass(frozen=True, eq=False)
class Skin:
    """A closed mesh on the joints of a model.

    Attributes:
        vertices: in the pose it was made in (n, 3) [m].
        faces: triangles, facing out (m, 3).
        labels: of the faces, numbers of materials (m,).
        materials: their names.
        colours: red, green, blue of the materials, 0 to 255 (k, 3).
        bones: names of the joints that carry it.
        poses: of the joints in the pose it was made in (b, 3, 4).
        weights: how much each vertex follows each joint (n, b).
        lengths: of what the joints carry (b,) [m].
    """

    vertices: np.ndarray
    faces: np.ndarray
    labels: np.ndarray
    materials: tuple[str, ...]
    colours: np.ndarray
    bones: tuple[str, ...]
    poses: np.ndarray
    weights: np.ndarray
    lengths: np.ndarray

    def mesh(self) -> trimesh.Trimesh:
        """The closed surface in the pose it was made in."""
        return trimesh.Trimesh(self.vertices, self.faces, process=False)

    def posed(self, model: Model, q: np.ndarray) -> np.ndarray:
        """Vertices in a configuration of its model (n, 3) [m]."""
        return self._carried(joint_poses(model, q, self.bones))

    def fitted(self, model: Model) -> Skin:
        """The skin on a model with other lengths: what each joint carries is scaled.

        It is quick, and near to the skin that is made for these lengths.
        """
        poses = joint_poses(model, making_pose(model), self.bones)
        lengths = bone_lengths(model, self.bones)
        vertices = self._carried(poses, lengths / self.lengths)
        return replace(self, vertices=vertices, poses=poses, lengths=lengths)

    def _carried(
        self, poses: np.ndarray, scales: np.ndarray | None = None
    ) -> np.ndarray:
        """Vertices where the joints have other poses (b, 3, 4)."""
        turn, shift = self.poses[:, :, :3], self.poses[:, :, 3]
        moved = poses[:, :, :3] @ turn.transpose(0, 2, 1)
        if scales is not None:
            moved = moved * scales[:, None, None]
        offset = poses[:, :, 3] - np.einsum("bij,bj->bi", moved, shift)
        flat = np.concatenate([moved.reshape(-1, 9), offset], axis=1)
        blend = self.weights @ flat
        turned = np.einsum("nij,nj->ni", blend[:, :9].reshape(-1, 3, 3), self.vertices)
        return np.asarray(turned + blend[:, 9:])


def joint_poses(model: Model, q: np.ndarray, bones: tuple[str, ...]) -> np.ndarray:
    """Rotations and places of joints in a configuration (b, 3, 4)."""
    data = model.buffers
    pin.forwardKinematics(model.pin, data, model.check_configuration(q))
    poses = [data.oMi[model.pin.getJointId(bone)] for bone in bones]
    return np.array([np.column_stack([p.rotation, p.translation]) for p in poses])


def bone_lengths(model: Model, bones: tuple[str, ...]) -> np.ndarray:
    """Lengths from joints to the next ones that lie elsewhere (b,) [m].

    Of the last joints of the limbs: the stature.
    """
    tree, lengths = model.pin, []
    offsets = [np.array(pose.translation) for pose in tree.jointPlacements]
    for bone in bones:
        below, length = [tree.getJointId(bone)], 0.0
        while below and length == 0.0:
            below = [k for k in range(tree.njoints) if int(tree.parents[k]) in below]
            length = max([float(np.linalg.norm(offsets[k])) for k in below] or [0.0])
        lengths.append(length or model.height)
    return np.array(lengths)


_HALVINGS = 8
_ENDS = 0.04
"""A cut is at least so far from the ends of an edge, as a share of it."""

Labels = Callable[[np.ndarray], np.ndarray]
"""Of points (n, 3): what they are made of, as numbers (n,)."""


def cut_mesh(
    vertices: np.ndarray, faces: np.ndarray, labels: Labels
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A mesh whose triangles have one label each: vertices, faces, labels of the faces.

    Edges whose ends differ are cut where the label changes, once each, so that a closed
    mesh stays closed.
    """
    own = labels(vertices)
    ends = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    edges, of_face = np.unique(ends, axis=0, return_inverse=True)
    of_face = of_face.reshape(-1, 3)
    crossed = np.flatnonzero(own[edges[:, 0]] != own[edges[:, 1]])
    start, end = vertices[edges[crossed, 0]], vertices[edges[crossed, 1]]
    low, high = np.zeros(len(crossed)), np.ones(len(crossed))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        at = labels(start + middle[:, None] * (end - start))
        same = at == own[edges[crossed, 0]]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    share = np.clip((low + high) / 2, _ENDS, 1 - _ENDS)
    number = np.full(len(edges), -1)
    number[crossed] = len(vertices) + np.arange(len(crossed))
    added = start + share[:, None] * (end - start)
    vertices = np.vstack([vertices, added])
    own = np.concatenate([own, np.full(len(added), -1)])
    faces = _split(faces, number[of_face])
    inner = own[faces]
    label = inner.max(axis=1)
    none = label < 0
    if none.any():
        label[none] = labels(vertices[faces[none]].mean(axis=1))
    return vertices, faces, label


def _split(faces: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Triangles split at the cuts of their edges; -1 where an edge is whole."""
    count = (cuts >= 0).sum(axis=1)
    pieces = [faces[count == 0]]
    for first in range(3):
        a, b, c = (np.roll(faces, -first, axis=1)[:, k] for k in range(3))
        ab, bc, ca = (np.roll(cuts, -first, axis=1)[:, k] for k in range(3))
        one = (count == 1) & (ab >= 0)
        pieces += [np.column_stack([a, ab, c])[one], np.column_stack([ab, b, c])[one]]
        two = (count == 2) & (bc < 0)
        pieces += [
            np.column_stack([a, ab, ca])[two],
            np.column_stack([ab, b, ca])[two],
            np.column_stack([b, c, ca])[two],
        ]
    three = count == 3
    (a, b, c), (ab, bc, ca) = faces[three].T, cuts[three].T
    pieces += [
        np.column_stack(corner)
        for corner in ((a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca))
    ]
    return np.concatenate(pieces)


HEAD, HAND = 2.8, 3.2
"""How many times finer the grid is there."""
_RAMP = 0.08
"""Length over which it becomes finer [m]."""


@dataclass(frozen=True)
class HeadAndHands:
    """Shrinks what is above the neck [m], and farther out than the left wrist (3,) [m].

    Hands are lower by a slope for each metre further out.
    """

    neck: float
    wrist: np.ndarray
    slope: float

    def to_world(self, places: np.ndarray) -> np.ndarray:
        """Points of the world (n, 3) [m]."""
        x, y, z = places.T
        reach = self.wrist[1]
        out, hand = _shrunk(np.abs(y) - reach, HAND)
        up, head = _shrunk(z - self.neck, HEAD)
        middle = self.wrist[2] - self.slope * np.maximum(out, 0.0)
        far = np.abs(y) > reach
        low = middle + (z - self.wrist[2] + self.slope * np.maximum(out, 0)) / hand
        side = np.where(far, np.sign(y) * (reach + out), y / head)
        height = np.where(far, low, self.neck + up)
        return np.column_stack([x / (hand * head), side, height])

    def magnification(self, places: np.ndarray) -> np.ndarray:
        """How many times larger the grid's space is there (n,)."""
        _, hand = _shrunk(np.abs(places[:, 1]) - self.wrist[1], HAND)
        _, head = _shrunk(places[:, 2] - self.neck, HEAD)
        return np.asarray(np.where(np.abs(places[:, 1]) > self.wrist[1], hand, head))

    def box(self, height: float) -> np.ndarray:
        """A box of the grid's space around a body of a height (2, 3) [m]."""
        out = self.wrist[1] + HAND * 0.16 * height / 1.741
        top = self.neck + HEAD * (height - self.neck) + 0.06
        depth = 0.25 * height
        return np.array([[-depth, -out, -0.06], [depth, out, top]])


def _shrunk(beyond: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """How far it is in the world, and the magnification, along one axis."""
    fine = np.linspace(0.0, 1.0, 401)
    scale = 1.0 + (factor - 1.0) * np.clip(fine / _RAMP, 0.0, 1.0)
    steps = np.diff(fine) * (scale[1:] + scale[:-1]) / 2
    grid = np.concatenate([[0.0], np.cumsum(steps)])
    world = np.where(beyond > 0, np.interp(beyond, grid, fine), beyond)
    return world, np.interp(np.maximum(world, 0.0), fine, scale)


VERSION = 1
"""Of how skins are made; another one makes them anew."""
_UNREADABLE = (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError)


def cache_folder() -> Path:
    """Where skins are kept: below ``XDG_CACHE_HOME``, else ``~/.cache``."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "humans_sim" / "skins"


def skin_key(model: Model, spacing: float) -> str:
    """The name of a skin by its sources: the file, the subject's sizes, the grid."""
    placements = [pose.translation for pose in model.pin.jointPlacements]
    lengths = [model.mass, model.height, spacing]
    tags = model.tags(model.neutral())[:-1]
    sizes = np.concatenate([np.ravel(placements), tags.ravel(), lengths])
    digest = hashlib.sha256(skin_file(model.name).read_bytes())
    digest.update(f"{VERSION} {model.name}".encode())
    digest.update(np.round(sizes, 9).tobytes())
    return digest.hexdigest()[:32]


def cached(model: Model, spacing: float, make: Callable[[Model, float], Skin]) -> Skin:
    """The skin of a model: read where it is kept, else made and kept.

    A cache that cannot be read or written is passed over.
    """
    path = cache_folder() / f"{model.name}-{skin_key(model, spacing)}.npz"
    with contextlib.suppress(*_UNREADABLE):
        return _read(path)
    skin = make(model, spacing)
    with contextlib.suppress(FileWriteError, OSError), atomic_stream(path) as stream:
        arrays = {item.name: getattr(skin, item.name) for item in fields(skin)}
        arrays["weights"] = skin.weights.astype(np.float32)
        np.savez_compressed(stream, **arrays)
    return skin


def _read(path: Path) -> Skin:
    with np.load(path, allow_pickle=False) as file:
        arrays = {field.name: file[field.name] for field in fields(Skin)}
    words = {key: tuple(map(str, arrays[key])) for key in ("materials", "bones")}
    weights = arrays["weights"].astype(float)
    arrays["weights"] = weights / weights.sum(axis=1)[:, None]
    if not np.isfinite(arrays["vertices"]).all():
        raise ValueError("damaged")
    return Skin(**{**arrays, **words})


SPACING = 0.0125
"""Of the grid for a person of 1.741 m [m]."""
SKINNED = ("human36",)
"""Models that have a skin."""
_REFINEMENTS = 6
_SMOOTHINGS = 10
_BONES = 4
"""Joints that a vertex follows at most."""
_SOLE = "soles"


@lru_cache(maxsize=8)
def skin_of(model: Model, spacing: float = SPACING) -> Skin:
    """The skin of Human36 with any lengths, from the cache where it is there.

    The spacing is of the grid for a person of 1.741 m; of head and hands it is a half
    and a third of it [m].
    """
    if not has_skin(model):
        raise SoftError(f"{model.name} has no skin; there is one for: {SKINNED[0]}")
    return cached(model, spacing, make_skin)


def has_skin(model: Model) -> bool:
    """Whether a model is one of the package's that have a skin."""
    return model.parts.from_table and model.name in SKINNED


def make_skin(model: Model, spacing: float = SPACING) -> Skin:
    """Make a skin, without the cache; see :func:`skin_of`."""
    shape = body_shape(model)
    net = _closed_net(model, shape, spacing * model.height / 1.741)
    names = tuple(shape.colours)
    numbers = {name: k for k, name in enumerate(names)}

    def labels(points: np.ndarray) -> np.ndarray:
        words, inverse = np.unique(shape.materials(points), return_inverse=True)
        return np.array([numbers[str(word)] for word in words])[inverse]

    faces = np.asarray(net.faces)
    vertices, faces, own = cut_mesh(np.asarray(net.vertices), faces, labels)
    bones, weights = _weights(shape, vertices, faces)
    soles = np.unique(faces[own == numbers[_SOLE]])
    left = vertices[soles, 1] > 0
    for side, near in (("l", soles[left]), ("r", soles[~left])):
        weights[near] = np.array(bones) == f"{side}_ankle_roll"
    vertices = _flat_soles(model, shape.pose, vertices, soles)
    return Skin(
        vertices,
        faces,
        own,
        names,
        np.array([shape.colours[name] for name in names], dtype=np.uint8),
        bones,
        joint_poses(model, shape.pose, bones),
        weights,
        bone_lengths(model, bones),
    )


def _closed_net(model: Model, shape: BodyShape, spacing: float) -> trimesh.Trimesh:
    """The mesh of a body, on a finer grid where fingers grow together on it."""
    pose = shape.pose
    elbow, wrist = model.frame_pose(pose, "l_forearm"), model.frame_pose(pose, "l_hand")
    along = wrist.translation - elbow.translation
    neck = float(model.frame_pose(pose, "head").translation[2] + 0.012 * model.height)
    slope = -along[2] / along[1]
    magnifier = HeadAndHands(neck, np.array(wrist.translation), slope)
    for _ in range(_REFINEMENTS):
        net = net_of(shape.distance, magnifier.box(model.height), spacing, magnifier)
        if net.euler_number == 2:
            return net
        spacing *= 0.85
    raise SoftError(f"the skin of {model.name} is no sphere: its parts touch")


def _weights(
    shape: BodyShape, vertices: np.ndarray, faces: np.ndarray
) -> tuple[tuple[str, ...], np.ndarray]:
    """How much vertices follow joints: by their place along a part, then smoothed."""
    bones = sorted({bone for part in shape.parts for _, bone in part.bones})
    weights = np.zeros((len(vertices), len(bones)))
    parts = shape.part_of(vertices)
    for k, part in enumerate(shape.parts):
        own = np.flatnonzero(parts == k)
        if not len(own):
            continue
        at = shape.along(k, vertices[own])
        ends = np.array([end for end, _ in part.bones])
        for column, bone in enumerate(bones):
            share = np.array([float(name == bone) for _, name in part.bones])
            if share.any():
                weights[own, column] = np.interp(at, ends, share)
    for _ in range(_SMOOTHINGS):
        weights = 0.5 * (weights + neighbour_means(faces, weights))
    least = np.sort(weights, axis=1)[:, -_BONES][:, None]
    weights = np.where(weights < least, 0.0, weights)
    return tuple(bones), weights / weights.sum(axis=1)[:, None]


def _flat_soles(
    model: Model, pose: np.ndarray, vertices: np.ndarray, soles: np.ndarray
) -> np.ndarray:
    """Vertices of the soles moved up to where the feet touch the ground."""
    vertices = vertices.copy()
    for side, sign in (("l_", 1.0), ("r_", -1.0)):
        foot = model.frame_pose(pose, f"{side}sole")
        own = soles[sign * vertices[soles, 1] > 0]
        height = (vertices[own] - foot.translation) @ foot.rotation[:, 2]
        up = np.where(height < 1e-3, -height, 0.0)
        vertices[own] += up[:, None] * foot.rotation[:, 2]
    return vertices


OVERLAP = 0.3
"""A link has the triangles that follow it by this share: both sides of a joint do."""


def link_meshes(model: Model, skin: Skin) -> dict[tuple[str, str], trimesh.Trimesh]:
    """Pieces of a skin in their links' frames, by link and material.

    Pieces of neighbours overlap at their joint, so that it stays covered when bent.
    """
    pieces: dict[tuple[str, str], trimesh.Trimesh] = {}
    for link, bones in _bones_of_links(model, skin).items():
        follows = skin.weights[:, bones].sum(axis=1)
        own = follows[skin.faces].max(axis=1) >= OVERLAP
        pose = skin.poses[bones[-1]]
        local = (skin.vertices - pose[:, 3]) @ pose[:, :3]
        for k, material in enumerate(skin.materials):
            faces = skin.faces[own & (skin.labels == k)]
            if len(faces):
                used, inverse = np.unique(faces, return_inverse=True)
                local_faces = inverse.reshape(-1, 3)
                mesh = trimesh.Trimesh(local[used], local_faces, process=False)
                pieces[link, material] = mesh
    return pieces


def save_skinned(model: Model, path: Path | str) -> Path:
    """Write a URDF whose links are drawn by pieces of the skin.

    Meshes go into a folder beside it, ``<name>_meshes``. Masses and collision elements
    stay what they are. SoftError: the model has no skin.
    """
    skin = skin_of(model)
    path = model.save(path)
    robot = parse_xml(model.urdf(), path)
    for material in robot.findall("material"):
        robot.remove(material)
    for k, word in enumerate(skin.materials):
        element = ET.Element("material", name=word)
        rgba = " ".join(f"{value / 255:.3f}" for value in skin.colours[k])
        ET.SubElement(element, "color", rgba=f"{rgba} 1")
        robot.insert(k, element)
    links = {link.get("name", ""): link for link in robot.findall("link")}
    for link in links.values():
        bare = link.find("collision") is None
        for visual in link.findall("visual"):
            link.remove(visual)
            if bare:  # such a link touches with what was drawn of it
                collision = ET.SubElement(link, "collision")
                collision.extend(part for part in visual if part.tag != "material")
    folder = f"{path.stem}_meshes"
    for (name, word), mesh in link_meshes(model, skin).items():
        file = path.parent / folder / f"{name}_{word}.stl"
        with atomic_stream(file) as stream:
            mesh.export(stream, file_type="stl")
        visual = ET.SubElement(links[name], "visual")
        geometry = ET.SubElement(visual, "geometry")
        ET.SubElement(geometry, "mesh", filename=f"{folder}/{file.name}")
        ET.SubElement(visual, "material", name=word)
    ET.indent(robot)
    text = '<?xml version="1.0"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"
    with atomic_stream(path) as stream:
        stream.write(text.encode())
    return path


def _bones_of_links(model: Model, skin: Skin) -> dict[str, list[int]]:
    """Links with the numbers of the bones above them, their own joint last."""
    tree = model.pin
    found: dict[str, list[int]] = {}
    for frame in tree.frames:
        if frame.type != pin.FrameType.BODY or frame.name not in model.segment_names:
            continue
        joint = int(frame.parentJoint)
        bones: list[int] = []
        if tree.names[joint] not in skin.bones:
            continue
        while joint and tree.names[joint] in skin.bones:
            bones.insert(0, skin.bones.index(tree.names[joint]))
            moved = np.any(tree.jointPlacements[joint].translation)
            joint = 0 if moved else int(tree.parents[joint])
        found[frame.name] = bones
    return found
