# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of docs/obstacles.md: its Python blocks are run, in their order.

Each block leaves a ``run``; the picture before it is drawn of that, and what the block
prints is shown. ``python docs/draw_obstacles.py post stairs`` draws some of them.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
import trimesh
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

import humans_sim as hs
from humans_sim.contact.geometry.convex_cores import ConvexSolid, SolidTable
from humans_sim.contact.geometry.convex_distance import solid_separation
from humans_sim.contact.geometry.convex_pairs import SLOTS, pair_points, spread_out
from humans_sim.results.record import recorded_ground, recorded_model
from humans_sim.results.run import body_poses
from humans_sim.view.browser.bodies_page import body_meshes
from humans_sim.view.browser.scene_layers import BOX_CORNERS, drawn_boxes, solids
from humans_sim.view.raster import Camera, DepthImage

DOCS = Path(__file__).resolve().parent
_BLOCK = re.compile(r"images/obstacle_(\w+)\.png\)\n+```python\n(.*?)```", re.S)
_FLOOR = [(0.90, 0.91, 0.93), (0.97, 0.97, 0.98)]
_OBSTACLE = (0.72, 0.62, 0.48)
_UPPER = (0.35, 0.55, 0.80)
_CLEAR = 0.45
"""How much is seen through the upper solid."""
_POINT = (0.82, 0.15, 0.12)
_RIM = 0.015
"""Step of depth with a dark border, over the size of what is seen."""
_FEW = 100
"""Faces of a mesh up to which it is no round one."""
_WIDTH = 1260
"""Of a picture [pixels]."""


class View(NamedTuple):
    """How a run is shown.

    Attributes:
        times: of the pictures [s].
        sight: where the eye is, seen from the scene.
            columns: of pictures.
    """

    times: Sequence[float]
    sight: tuple[float, float, float] = (0.35, -1.0, 0.40)
    columns: int = 3


VIEWS = {
    "post": View((0.0, 0.25, 0.35, 0.45, 0.6, 1.5)),
    "stairs": View((0.0, 0.2, 0.3, 0.38, 0.46, 2.0)),
    "thrown": View((0.0, 0.08, 0.14, 0.25, 0.45, 1.5)),
    "dominoes": View((0.0, 0.1, 0.2, 0.3, 0.4, 0.9)),
    "falling": View((0.0, 0.2, 0.25, 0.3, 0.4, 1.0), columns=6),
    "chair": View((0.0, 0.3, 0.5, 1.0), columns=4),
}


def frame_of(sight: Sequence[float]) -> np.ndarray:
    """To the right, up, towards the eye (3, 3)."""
    away = np.asarray(sight) / np.linalg.norm(sight)
    right = np.cross([0.0, 0.0, 1.0], away)
    right /= np.linalg.norm(right)
    return np.array([right, np.cross(away, right), away])


def sharp(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    """A mesh whose faces are flat where it has few of them: edges stay edges."""
    if len(mesh.faces) < _FEW:
        mesh = mesh.copy()
        mesh.unmerge_vertices()
    return mesh


class Part(NamedTuple):
    """A mesh, its colour, and where it is in each of the pictures (4, 4)."""

    mesh: trimesh.Trimesh
    colour: tuple[float, float, float]
    places: list[np.ndarray]


def _coloured(red: float, green: float, blue: float) -> tuple[float, float, float]:
    """A colour of 0 to 255 as one of 0 to 1."""
    return red / 255.0, green / 255.0, blue / 255.0


def moving_parts(run: hs.Run, samples: Sequence[int]) -> list[Part]:
    """Links of the robot and free bodies."""
    parts = []
    if "model" in run.info:
        model = recorded_model(run.info)
        data, postures = model.data(), []
        for k in samples:
            pin.forwardKinematics(model.pin, data, run.q[k, : model.nq])
            postures.append([pose.copy() for pose in data.oMi])
        for solid in solids(model):
            places = [
                (poses[solid.joint] * solid.placement).homogeneous for poses in postures
            ]
            parts.append(Part(sharp(solid.mesh), _coloured(*solid.colour), places))
    if "bodies" in run.info:
        poses = body_poses(run)
        for n, mesh in enumerate(body_meshes(run.info)):
            colours: Any = mesh.visual
            red, green, blue = np.asarray(colours.face_colors)[0, :3].tolist()
            places = [pin.XYZQUATToSE3(poses[k, n]).homogeneous for k in samples]
            parts.append(Part(sharp(mesh), _coloured(red, green, blue), places))
    return parts


def obstacles(run: hs.Run, count: int) -> list[Part]:
    """Boxes of the ground."""
    parts = []
    for box in drawn_boxes(recorded_ground(run.info)):
        place = np.eye(4)
        place[:3, 3] = box.centre
        mesh = sharp(trimesh.creation.box(box.size))
        parts.append(Part(mesh, _OBSTACLE, [place] * count))
    return parts


def tiles(low: np.ndarray, high: np.ndarray) -> list[tuple[trimesh.Trimesh, int]]:
    """The floor under what is between two corners."""
    size = float((high - low)[:2].max())
    tile = 10.0 ** np.floor(np.log10(size)) / 2
    tile = tile / 2 if size / tile < 4 else tile
    first, last = np.floor(low[:2] / tile) - 1, np.ceil(high[:2] / tile) + 1
    meshes = []
    for i in range(int(first[0]), int(last[0])):
        for j in range(int(first[1]), int(last[1])):
            mesh = sharp(trimesh.creation.box((tile, tile, 1e-3 * tile)))
            mesh.apply_translation([(i + 0.5) * tile, (j + 0.5) * tile, -5e-4 * tile])
            meshes.append((mesh, (i + j) % 2))
    return meshes


def strip(
    pictures: Sequence[np.ndarray], captions: Sequence[str], columns: int
) -> bytes:
    """Pictures in rows, each with its caption, as a PNG of few colours."""
    rows = -(-len(pictures) // columns)
    height, width = pictures[0].shape[:2]
    label, dpi = 26, 100
    size = (columns * width / dpi, rows * (height + label) / dpi)
    figure = Figure(figsize=size, dpi=dpi)
    canvas = FigureCanvasAgg(figure)
    share = label / (rows * (height + label))
    for n, (picture, caption) in enumerate(zip(pictures, captions, strict=True)):
        row, column = divmod(n, columns)
        left, bottom = column / columns, 1 - (row + 1) / rows
        panel = figure.add_axes((left, bottom + share, 1 / columns, 1 / rows - share))
        panel.imshow(picture, interpolation="nearest", aspect="auto")
        panel.axis("off")
        middle = left + 0.5 / columns
        figure.text(middle, bottom + share / 2, caption, ha="center", va="center")
    canvas.draw()
    whole = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])
    stream = io.BytesIO()
    whole.quantize(128).save(stream, format="PNG", optimize=True)
    return stream.getvalue()


def draw_run(run: hs.Run, view: View) -> bytes:
    """A strip of a run, all in one scale."""
    samples = [int(np.argmin(np.abs(run.t - time))) for time in view.times]
    moving = moving_parts(run, samples)
    standing = obstacles(run, len(samples))
    corners = np.concatenate(
        [
            part.mesh.bounding_box.vertices @ place[:3, :3].T + place[:3, 3]
            for part in [*moving, *standing]
            for place in part.places
        ]
    )
    low, high = corners.min(axis=0), corners.max(axis=0)
    axes = frame_of(view.sight)
    flat = corners @ axes[:2].T
    left, right = flat.min(axis=0), flat.max(axis=0)
    margin = 0.03 * (right - left).max()
    pixel = float((right - left)[0] + 2 * margin) / (_WIDTH // view.columns)
    camera = Camera(axes, left - margin, right + margin, pixel)
    rim = _RIM * float((right - left).max())
    colours = [*_FLOOR, *(part.colour for part in [*moving, *standing])]
    floor = tiles(low, high)
    pictures = []
    for k in range(len(samples)):
        image = DepthImage(camera)
        for mesh, number in floor:
            image.add_mesh(mesh, number)
        for n, part in enumerate([*moving, *standing]):
            turn, shift = part.places[k][:3, :3], part.places[k][:3, 3]
            image.add_mesh(part.mesh, n + len(_FLOOR), (turn, shift))
        pictures.append(image.coloured(colours, rim))
    return strip(pictures, [f"{run.t[k]:.2f} s" for k in samples], view.columns)


def draw_points() -> bytes:
    """Two boxes face on face, edge on face, corner on face and edge on edge."""
    size = np.array([0.2, 0.1, 0.04])
    corners = BOX_CORNERS / 2 * size
    rotate, low = pin.utils.rotate, np.array([0.2, 0.2, 0.04])
    plate = BOX_CORNERS / 2 * low
    across = rotate("z", 0.6)
    turns = [
        ("a face: four points", across),
        ("an edge: two points", across @ rotate("x", 0.7)),
        ("a corner: one point", across @ pin.rpy.rpyToMatrix(0.6, 0.5, 0.0)),
    ]
    pictures = []
    for _, turn in turns:
        height = -float((corners @ turn.T)[:, 2].min()) + low[2] / 2
        pose = pin.SE3(turn, np.array([0.0, 0.0, height]))
        places = touching_points(corners, plate, pose)
        axes = frame_of((0.35, -1.0, 0.55))
        camera = Camera(
            axes, np.array([-0.15, -0.1]), np.array([0.15, 0.2]), 0.9 / _WIDTH
        )
        image = DepthImage(camera)
        boxes = [(low, pin.SE3.Identity()), (size, pose)]
        layers = []
        for number, (box, own) in enumerate(boxes):
            mesh = sharp(trimesh.creation.box(box))
            image.add_mesh(mesh, number, (own.rotation, own.translation))
            layers.append(image.coloured([_OBSTACLE, _UPPER], 2e-3))
        below, above = (layer.astype(float) for layer in layers)
        picture = (_CLEAR * below + (1.0 - _CLEAR) * above).astype(np.uint8)
        dots = DepthImage(camera)
        dots.add_balls(places, np.array(0.0055), 0)
        seen = dots.coloured([_POINT])
        picture[dots.ids >= 0] = seen[dots.ids >= 0]
        pictures.append(picture)
    return strip(pictures, [text for text, _ in turns], len(turns))


def touching_points(one: np.ndarray, other: np.ndarray, pose: pin.SE3) -> np.ndarray:
    """Points in which the first solid, at a pose, touches the second (k, 3) [m]."""
    table = tuple(SolidTable.of([ConvexSolid.of(one), ConvexSolid.of(other)], [0, 1]))
    poses = np.array(
        [
            np.append(place.rotation.T.ravel(), place.translation)
            for place in (pose, pin.SE3.Identity())
        ]
    )
    pair, normal, at = np.array([0, 1]), np.zeros(3), np.zeros(3)
    apart = solid_separation(table, pair, poses, 1.0, normal, at)
    first, second, gap, _ = pair_points(table, pair, poses, normal, at, apart)
    return 0.5 * (first + second)[spread_out(first, gap, SLOTS)]


def main(chosen: Sequence[str]) -> None:
    """All pictures, or some."""
    if not chosen or "points" in chosen:
        (DOCS / "images" / "obstacle_points.png").write_bytes(draw_points())
    names: dict[str, Any] = {}
    for name, block in _BLOCK.findall((DOCS / "obstacles.md").read_text()):
        if chosen and name not in chosen:
            continue
        print(name)
        exec(compile(block, name, "exec"), names)
        picture = draw_run(names["run"], VIEWS[name])
        (DOCS / "images" / f"obstacle_{name}.png").write_bytes(picture)


if __name__ == "__main__":
    main(sys.argv[1:])
