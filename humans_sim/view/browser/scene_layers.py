# SPDX-License-Identifier: Apache-2.0
"""Layers of a page: solids, ground, skin, cables and surroundings of a model."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import trimesh
import viser

from humans_sim.actuation.hoist import CABLES
from humans_sim.contact import Box, HalfSpace
from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.geometry.terrain import TriangleMesh
from humans_sim.core.bounded_text import parse_xml
from humans_sim.models import Model
from humans_sim.models.collision_shapes import (
    VISUAL,
    MissingMeshError,
    find_mesh,
    read_mesh,
    shape_elements,
)
from humans_sim.models.files.urdf_elements import number, numbers
from humans_sim.models.points import frame_index
from humans_sim.results.record import sound_record
from humans_sim.results.run import Run
from humans_sim.soft.ground.footprints import Footprints
from humans_sim.soft.skin.skin import Skin, joint_poses

SAND_COLOUR = (205, 170, 110)
"""Red, green, blue of the ground."""
_LIT_COLOUR = (170, 132, 74)
"""The same under the bright light of a page."""
_MARGIN = 3
"""Pins around what was touched that are drawn one by one."""
_MOST = 24_000
"""Pins that are drawn one by one; of more, every other one and so on."""


class GroundLayer:
    """Draws heights; what nothing touches is one flat piece.

    Args:
        name: under which it lies there.
        touched: first and last row and column of pins that move; all unless given.
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        name: str,
        touched: tuple[int, int, int, int] | None = None,
    ) -> None:
        self._scene, self._name, self._touched = scene, name, touched
        self._mesh: viser.MeshHandle | None = None
        self._known: np.ndarray | None = None

    def show(self, field: Footprints) -> None:
        """Draw a field; the same one again costs nothing."""
        rows, columns = chosen_pins(field.heights.shape, self._touched)
        heights = field.heights[np.ix_(rows, columns)]
        if self._known is not None and np.array_equal(heights, self._known):
            return
        x = field.origin[0] + field.spacing * rows
        y = field.origin[1] + field.spacing * columns
        vertices = np.stack(
            [*np.meshgrid(x, y, indexing="ij"), field.origin[2] + heights], axis=-1
        )
        vertices = vertices.reshape(-1, 3).astype(np.float32)
        if self._mesh is not None and self._known is not None:
            if self._known.shape == heights.shape:
                self._mesh.vertices = vertices
                self._known = heights
                return
            self._mesh.remove()
        self._known = heights
        self._mesh = self._add("pins", vertices, grid_cells(*heights.shape))
        # The flat piece around what is drawn pin by pin.
        far = field.origin[:2] + field.spacing * (np.array(field.heights.shape) - 1)
        xs = (field.origin[0], x[0], x[-1], far[0])
        ys = (field.origin[1], y[0], y[-1], far[1])
        corners = [(a, b, field.origin[2]) for a in xs for b in ys]
        faces = [f for k, f in enumerate(grid_cells(4, 4)) if k // 2 != 4]  # a frame
        self._add("around", np.array(corners, np.float32), np.array(faces, np.uint32))

    def _add(
        self, name: str, vertices: np.ndarray, faces: np.ndarray
    ) -> viser.MeshHandle:
        path = f"{self._name}/{name}"
        return self._scene.add_mesh_simple(
            path, vertices, faces, color=_LIT_COLOUR, flat_shading=True, side="double"
        )


def touched_pins(heights: np.ndarray) -> tuple[int, int, int, int]:
    """First and last row and column of pins that moved in a series (k, n, m)."""
    moved = (np.abs(heights) > 0.0).any(axis=0)
    if not moved.any():
        return 0, 1, 0, 1
    rows, columns = np.flatnonzero(moved.any(axis=1)), np.flatnonzero(moved.any(axis=0))
    return int(rows[0]), int(rows[-1]), int(columns[0]), int(columns[-1])


def chosen_pins(
    shape: tuple[int, ...], touched: tuple[int, int, int, int] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of pins that are drawn one by one."""
    bounds = (0, shape[0] - 1, 0, shape[1] - 1) if touched is None else touched
    sides = []
    for k in (0, 1):
        low = max(0, bounds[2 * k] - _MARGIN)
        high = min(shape[k] - 1, bounds[2 * k + 1] + _MARGIN)
        sides.append(np.arange(low, high + 1))
    step = int(np.ceil(np.sqrt(len(sides[0]) * len(sides[1]) / _MOST)))
    return sides[0][::step], sides[1][::step]


def grid_cells(rows: int, columns: int) -> np.ndarray:
    """Two triangles for each cell of a grid of vertices (n, 3)."""
    index = np.arange(rows * columns, dtype=np.uint32).reshape(rows, columns)
    a, b = index[:-1, :-1].ravel(), index[1:, :-1].ravel()
    c, d = index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    pairs = np.stack([np.stack([a, b, c], 1), np.stack([a, c, d], 1)], axis=1)
    return pairs.reshape(-1, 3)


_LEAST_WEIGHT = 1e-3
"""A joint that no vertex follows by more carries nothing of a mesh."""


class SkinLayer:
    """Draws a skin and moves it.

    Args:
        path: of what carries the skin on the page.
        skin: in the pose it was made in.
        opacity: of the meshes; None for solid ones.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        path: str,
        model: Model,
        skin: Skin,
        opacity: float | None = None,
    ) -> None:
        self.skin, self._model = skin, model
        # The meshes are near their parent: what is far from it is not drawn.
        self._root = server.scene.add_frame(path, show_axes=False)
        self._origin = np.array([*skin.vertices.mean(axis=0)[:2], 0.0])
        turns, places = _quaternions(skin.poses), skin.poses[:, :, 3] - self._origin
        self.meshes: list[viser.MeshSkinnedHandle] = []
        self._bones: list[np.ndarray] = []
        for k, material in enumerate(skin.materials):
            faces = skin.faces[skin.labels == k]
            if not len(faces):
                continue
            own, inverse = np.unique(faces, return_inverse=True)
            bones = np.flatnonzero(skin.weights[own].max(axis=0) > _LEAST_WEIGHT)
            weights = skin.weights[np.ix_(own, bones)]
            handle = server.scene.add_mesh_skinned(
                f"{path}/{material}",
                (skin.vertices[own] - self._origin).astype(np.float32),
                inverse.reshape(-1, 3),
                bone_wxyzs=turns[bones],
                bone_positions=places[bones],
                skin_weights=weights / weights.sum(axis=1)[:, None],
                color=np.asarray(skin.colours[k]),
                opacity=opacity,
            )
            self.meshes.append(handle)
            self._bones.append(bones)

    def show(self, q: np.ndarray) -> None:
        """Show a configuration."""
        poses = joint_poses(self._model, q, self.skin.bones)
        turns = _quaternions(poses)
        ground = np.array([q[0], q[1], 0.0])
        self._root.position = ground
        places = poses[:, :, 3] - ground
        for handle, bones in zip(self.meshes, self._bones, strict=True):
            for bone, k in zip(handle.bones, bones, strict=True):
                bone.wxyz, bone.position = turns[k], places[k]

    def remove(self) -> None:
        """Take the skin off the page."""
        self._root.remove()


def _quaternions(poses: np.ndarray) -> np.ndarray:
    """Unit quaternions (w, x, y, z) of poses (b, 3, 4)."""
    turns = [pin.Quaternion(np.ascontiguousarray(pose[:, :3])) for pose in poses]
    return np.array([wxyz(turn) for turn in turns])


def wxyz(quaternion: pin.Quaternion) -> np.ndarray:
    """A quaternion in the order of viser: w, x, y, z."""
    return np.array([quaternion.w, quaternion.x, quaternion.y, quaternion.z])


CABLE_COLOUR = (70, 72, 78)
"""Red, green, blue of a cable."""


class RunCables:
    """The cables of a run, from tags of its robot to the anchors that it keeps.

    Raises:
        RunFileError: what is recorded of the cables is damaged.
    """

    def __init__(self, run: Run, model: Model) -> None:
        with sound_record("its cables"):
            anchors = dict(run.info.get(CABLES, {}))
            self._rows = [model.tag_names.index(name) for name in anchors]
            self._anchors = np.array(list(anchors.values()), float).reshape(-1, 3)
            if len(self._anchors) != len(anchors):
                raise ValueError("an anchor has three coordinates")
            if not np.isfinite(self._anchors).all():
                raise ValueError("an anchor is not finite")
        self._run, self._model = run, model

    def at(self, k: int) -> np.ndarray:
        """From the tags to the anchors at a sample (n, 2, 3) [m]; empty without any."""
        if not self._rows:
            return np.zeros((0, 2, 3))
        tags = self._model.tags(self._run.q[k])[self._rows]
        return np.stack([tags, self._anchors], axis=1)


BOX_COLOUR = (190, 160, 128)
"""Red, green, blue of boxes."""
TERRAIN_COLOUR = (168, 158, 140)
"""Red, green, blue of terrain."""
_COLUMNS = 400
"""Places along x at which the profile of a mesh is taken, beside its own vertices."""
_STEEP = 1e-9
"""How far before a riser its foot is drawn, in lengths of the profile."""
_LEG = 0.035
"""Thickness of a chair's leg [m]."""
_SEAT = "chair_seat"


def drawn_boxes(ground: Ground) -> list[Box]:
    """Boxes of the scene, and legs under the seat of a chair.

    The legs are there for the eye alone: nothing can touch them.
    """
    boxes = [solid for solid in ground.solids if isinstance(solid, Box)]
    seats = [box for box in boxes if box.name == _SEAT and box.rotation is None]
    return boxes + [leg for seat in seats for leg in _legs(seat, ground)]


def terrain_of(ground: Ground) -> list[TriangleMesh]:
    """Height fields and meshes of the scene."""
    return [solid for solid in ground.solids if isinstance(solid, TriangleMesh)]


def lay_terrain(scene: viser.SceneApi, ground: Ground, name: str) -> None:
    """Put the terrain of a scene on a page."""
    for k, mesh in enumerate(terrain_of(ground)):
        scene.add_mesh_simple(
            f"{name}/terrain_{k}",
            mesh.vertices.astype(np.float32),
            mesh.faces.astype(np.uint32),
            color=TERRAIN_COLOUR,
            flat_shading=True,
        )


def side_profile(mesh: TriangleMesh) -> np.ndarray:
    """Outline of a mesh seen along y: x and z, all around (n, 2) [m].

    For each x the highest and the lowest of it: a cave is filled.
    """
    corners = mesh.vertices[mesh.faces]
    begin, end = corners[:, [0, 1, 2]], corners[:, [1, 2, 0]]
    begin, end = begin.reshape(-1, 3), end.reshape(-1, 3)
    swap = begin[:, 0] > end[:, 0]
    begin[swap], end[swap] = end[swap], begin[swap]
    left, right = float(begin[:, 0].min()), float(end[:, 0].max())
    own = np.unique(mesh.vertices[:, 0])
    own = own if len(own) <= _COLUMNS else own[:0]
    beside = _STEEP * (right - left)
    grid = [np.linspace(left, right, _COLUMNS), own, own - beside, own + beside]
    x = np.unique(np.clip(np.concatenate(grid), left, right))
    first = np.searchsorted(x, begin[:, 0])
    count = np.searchsorted(x, end[:, 0], side="right") - first
    edge = np.repeat(np.arange(len(begin)), count)
    place = (
        first[edge] + np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count)
    )
    run = end[edge, 0] - begin[edge, 0]
    part = np.where(run > 0, (x[place] - begin[edge, 0]) / np.where(run > 0, run, 1), 0)
    high, low = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    for share in (part, np.where(run > 0, part, 1.0)):
        z = begin[edge, 2] + share * (end[edge, 2] - begin[edge, 2])
        np.maximum.at(high, place, z)
        np.minimum.at(low, place, z)
    return np.column_stack([np.append(x, x[::-1]), np.append(high, low[::-1])])


def _legs(seat: Box, ground: Ground) -> list[Box]:
    """Four legs from a seat down to the floor, where there is a level one."""
    bottom = seat.centre[2] - seat.size[2] / 2
    floors = [
        solid.point[2]
        for solid in ground.solids
        if isinstance(solid, HalfSpace) and solid.normal[:2] == (0.0, 0.0)
    ]
    below = [floor for floor in floors if floor < bottom]
    if not below:
        return []
    height = bottom - max(below)
    reach = (np.array(seat.size[:2]) - _LEG) / 2
    return [
        Box(
            (_LEG, _LEG, height),
            (
                seat.centre[0] + float(i * reach[0]),
                seat.centre[1] + float(j * reach[1]),
                bottom - height / 2,
            ),
            name=f"chair_leg_{n}",
        )
        for n, (i, j) in enumerate([(-1, 1), (1, 1), (-1, -1), (1, -1)])
    ]


GREY = (140, 145, 153)
"""Colour of bodies that no file draws."""
_THICKNESS = 0.012
"""Of a body around its points, as a share of the model's size."""
BOX_CORNERS = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
"""Of a cube with edges of two."""


_PLAIN = (230, 230, 230)
"""Colour of what has no material: pinocchio's."""


@dataclass(frozen=True)
class Solid:
    """A solid drawn on a joint's body.

    Attributes:
        joint: index of the joint that carries it.
        placement: pose in the joint's frame.
        mesh: triangles, in metres.
        colour: red, green, blue, 0 to 255.
    """

    name: str
    joint: int
    placement: pin.SE3
    mesh: trimesh.Trimesh
    colour: tuple[int, int, int]


def solids(model: Model) -> list[Solid]:
    """All drawn solids of a model; plain ones where its file draws none.

    Meshes that are not there are left out.

    Raises:
        ModelFileError: a mesh of the URDF is unreadable.
    """
    robot = parse_xml(model.urdf(), model.parts.source)
    colours = {
        material.get("name", ""): _element_rgb(colour)
        for material in robot.iter("material")
        if (colour := material.find("color")) is not None
    }
    meshes = []
    for k, (name, joint, pose, shape, visual) in enumerate(
        shape_elements(model, VISUAL)
    ):
        with suppress(MissingMeshError):
            mesh, rgb = _mesh(model, shape), _colour(visual, colours)
            meshes.append(Solid(f"{name}_{k}", joint, pose, mesh, rgb))
    if meshes:
        return meshes
    # Convex bodies around joint centres and tags.
    tree, thick = model.pin, _THICKNESS * body_height(model) * BOX_CORNERS
    points = {j: [np.zeros(3)] for j in range(1, tree.njoints)}
    for child in range(2, tree.njoints):
        parent = int(tree.parents[child])
        points[parent].append(np.array(tree.jointPlacements[child].translation))
    for tag in model.parts.tags:
        frame = tree.frames[frame_index(tree, tag.link)]
        points[int(frame.parentJoint)].append(frame.placement.act(tag.position))
    for joint, own in points.items():
        corners = (np.array(own)[:, None] + thick[None]).reshape(-1, 3)
        hull = trimesh.convex.convex_hull(corners)
        name = f"{tree.names[joint]}_plain"
        meshes.append(Solid(name, joint, pin.SE3.Identity(), hull, GREY))
    return meshes


def link_names(model: Model) -> dict[int, str]:
    """The link that each joint moves, the first of its frames."""
    return {
        frame.parentJoint: str(frame.name)
        for frame in reversed(list(model.pin.frames))
        if frame.type == pin.FrameType.BODY
    }


def body_height(model: Model) -> float:
    """Height of the highest tag or joint in the zero position [m]."""
    data = model.data()
    pin.forwardKinematics(model.pin, data, model.neutral())
    joints = [float(data.oMi[i].translation[2]) for i in range(1, model.pin.njoints)]
    tags = model.tags(model.neutral())[:, 2]
    return max(0.1, *joints, float(tags.max()))


def _mesh(model: Model, shape: ET.Element) -> trimesh.Trimesh:
    radius, length = number(shape, "radius"), number(shape, "length")
    if shape.tag == "box":
        return trimesh.creation.box(numbers(shape, "size"))
    if shape.tag == "sphere":
        return trimesh.creation.icosphere(subdivisions=3, radius=radius)
    if shape.tag == "cylinder":
        return trimesh.creation.cylinder(radius, length)
    if shape.tag == "capsule":
        return trimesh.creation.capsule(length, radius)
    scale = np.array(numbers(shape, "scale", 1.0, 1.0, 1.0))
    return read_mesh(find_mesh(shape.get("filename", ""), model), scale)


def _colour(
    visual: ET.Element, colours: dict[str, tuple[int, int, int]]
) -> tuple[int, int, int]:
    own, material = visual.find("material/color"), visual.find("material")
    if own is not None:
        return _element_rgb(own)
    return colours.get("" if material is None else material.get("name", ""), _PLAIN)


def _element_rgb(colour: ET.Element) -> tuple[int, int, int]:
    red, green, blue = (
        round(255 * min(max(part, 0.0), 1.0)) for part in numbers(colour, "rgba")[:3]
    )
    return red, green, blue
