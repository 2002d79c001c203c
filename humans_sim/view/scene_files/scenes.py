# SPDX-License-Identifier: Apache-2.0
"""Scenes of models, runs and reconstructions as trees, as the viewer draws them.

*Names of joints* in H-Anim, as the manual's VRML animations have them. Of several
hinges in one place the last is the joint: it carries the segment. The names of the
KHR-1 are those of the manual's table 4.1; those of the human are H-Anim's own, at the
centres of the manual's table 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import trimesh
from scipy.spatial.transform import Rotation

from humans_sim.anatomy.wrist.wrist_run import WristRun
from humans_sim.contact import HalfSpace
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import atomic_stream, check_ending
from humans_sim.models import Model
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.results.record import recorded_ground
from humans_sim.results.run import Run, body_poses
from humans_sim.results.run_robots import run_robots
from humans_sim.soft.ground.footprints import GroundHistory
from humans_sim.view.browser.bodies_page import body_meshes
from humans_sim.view.browser.marker_layer import BALL
from humans_sim.view.browser.replay import Replay
from humans_sim.view.browser.scene_layers import (
    BOX_COLOUR,
    SAND_COLOUR,
    TERRAIN_COLOUR,
    body_height,
    chosen_pins,
    drawn_boxes,
    grid_cells,
    link_names,
    solids,
    terrain_of,
    touched_pins,
)
from humans_sim.view.scene_files.gltf_file import glb
from humans_sim.view.scene_files.moving_scene import (
    WORLD,
    Colour,
    MovingScene,
    SceneNode,
    Shape,
    coloured_shapes,
    flat_shape,
    joined_shapes,
    path_bounds,
    placed_shape,
    pose_node,
    rising_rows,
    shape_of,
    still_node,
)
from humans_sim.view.scene_files.web3d_files import vrml, x3d
from humans_sim.view.wrist_colours import bone_colours

_TILES: tuple[Colour, Colour] = ((226, 229, 232), (203, 207, 212))
"""Colours of the tiles of a floor, in turns."""
_MOST_TILES = 40
"""Along a side of a floor."""
_MARGIN = 0.75
"""Floor around what moves, in heights of it."""


def ground_nodes(
    ground: Ground, bounds: np.ndarray, history: GroundHistory | None = None
) -> list[SceneNode]:
    """Nodes of a scene around something that moves.

    Args:
        ground: the scene.
        bounds: lowest and highest corner of what moves (2, 3) [m].
        history: of a ground that gives way: it is drawn as it is at the end, in place
            of floors.
    """
    nodes = []
    for k, solid in enumerate(ground.solids):
        if isinstance(solid, HalfSpace) and history is None:
            nodes.append(still_node(f"floor_{k}", _floor(solid, bounds)))
    for k, box in enumerate(drawn_boxes(ground)):
        turn = np.eye(3) if box.rotation is None else np.asarray(box.rotation)
        shape = shape_of(trimesh.creation.box(box.size), BOX_COLOUR)
        placed = placed_shape(shape, np.asarray(box.centre), turn)
        nodes.append(still_node(f"box_{k}_{box.name}", [placed]))
    for k, mesh in enumerate(terrain_of(ground)):
        shape = flat_shape(mesh.vertices, mesh.faces, TERRAIN_COLOUR)
        nodes.append(still_node(f"terrain_{k}", [shape]))
    if history is not None:
        nodes.append(still_node("ground_at_the_end", [_footprints(history)]))
    return nodes


def _floor(floor: HalfSpace, bounds: np.ndarray) -> list[Shape]:
    """Tiles of a floor below what moves, in two colours."""
    up = np.array([0.0, 0.0, 1.0])
    turn = pin.Quaternion.FromTwoVectors(up, np.array(floor.normal, float)).matrix()
    point = np.array(floor.point, float)
    corners = (trimesh.bounds.corners(bounds) - point) @ turn
    margin = _MARGIN * float(bounds[1, 2] - bounds[0, 2])
    first, last = corners.min(axis=0) - margin, corners.max(axis=0) + margin
    tile = _tile(float((last - first)[:2].max()))
    shapes = []
    grid = [
        np.arange(int(np.floor(first[k] / tile)), int(np.ceil(last[k] / tile)))
        for k in (0, 1)
    ]
    squares = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 2)
    for odd, colour in enumerate(_TILES):
        own = squares[squares.sum(axis=1) % 2 == odd]
        if len(own):
            shapes.append(placed_shape(_squares(own, tile, colour), point, turn))
    return shapes


def _tile(width: float) -> float:
    """A round side of a tile, so that there are not too many of them [m]."""
    steps = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 100.0)
    return next((step for step in steps if width / step <= _MOST_TILES), width / 10)


def _squares(places: np.ndarray, tile: float, colour: Colour) -> Shape:
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    flat = tile * (places[:, None] + corners).reshape(-1, 2)
    vertices = np.column_stack([flat, np.zeros(len(flat))])
    first = 4 * np.arange(len(places))[:, None, None]
    faces = (first + np.array([(0, 1, 2), (0, 2, 3)])).reshape(-1, 3)
    normals = np.tile([0.0, 0.0, 1.0], (len(vertices), 1))
    return Shape(vertices, normals, faces, colour)


def _footprints(history: GroundHistory) -> Shape:
    """The heights of a ground at the end, around what was touched."""
    field = history.at(float(history.times[-1]))
    pins = chosen_pins(field.heights.shape, touched_pins(history.heights))
    x, y = (field.origin[k] + field.spacing * pins[k] for k in (0, 1))
    heights = field.origin[2] + field.heights[np.ix_(*pins)]
    vertices = np.stack([*np.meshgrid(x, y, indexing="ij"), heights], axis=-1)
    faces = grid_cells(*heights.shape).astype(int)
    return flat_shape(vertices.reshape(-1, 3), faces, SAND_COLOUR)


ROOT = "HumanoidRoot"
_HUMAN = {
    "thorax_roll": "vt10",
    "head_roll": "vc7",
    "clavicle_roll": "sternoclavicular",
    "shoulder_roll": "shoulder",
    "elbow_yaw": "elbow",
    "wrist_roll": "wrist",
    "hip_roll": "hip",
    "knee": "knee",
    "ankle_roll": "ankle",
}
_KONDO = {
    "head_yaw": "vc7",
    "shoulder_pitch": "shoulderSagittal",
    "shoulder_roll": "shoulder",
    "elbow": "elbow",
    "hip_roll": "hipFrontal",
    "hip_pitch": "hip",
    "knee": "knee",
    "ankle_pitch": "ankleSagittal",
    "ankle_roll": "ankle",
}
_MODELS: dict[str, tuple[str, Mapping[str, str]]] = {
    "human36": ("hanim_", _HUMAN),
    "human": ("hanim_", _HUMAN),
    "khr1": ("Kondo_", _KONDO),
}
"""Prefix and names of each model; sides stand before both."""


def hanim_name(model: str, joint: str) -> str | None:
    """H-Anim's name of a model's joint, empty for the base; None where it has none."""
    if model not in _MODELS:
        return None
    prefix, names = _MODELS[model]
    if not joint:
        return prefix + ROOT
    side = joint[:2] if joint[:2] in ("l_", "r_") else ""
    name = names.get(joint[len(side) :])
    return None if name is None else prefix + side + name


_MARKER_COLOUR = (255, 205, 0)
"""Seen on skin and on clothes, which are not transparent here."""


def run_scene(
    run: Run | WristRun, model: Model | None = None, ground: Ground | None = None
) -> MovingScene:
    """A run: its robot, its free bodies or its bones, and what they stand on.

    Args:
        run: of a biped, of free bodies with or without a robot, or of a wrist.
        model: of a biped's run; that of its record unless given.
        ground: of a biped's run; that of its record unless given.

    Raises:
        ParameterError: the run has nothing that such a scene can hold.
    """
    rows = rising_rows(run.t)
    times = run.t[rows] - run.t[0]
    if isinstance(run, WristRun):
        nodes = []
        colours = np.round(255 * bone_colours(run.wrist)).astype(int).tolist()
        for n, bone in enumerate(run.wrist.bones):
            corners = np.asarray(bone.mesh.vertices) - bone.mass.center
            mesh = trimesh.Trimesh(corners, bone.mesh.faces, process=False)
            turns = Rotation.from_matrix(run.frames[rows, n]).as_quat()
            shapes = [shape_of(mesh, tuple(colours[n]))]
            nodes.append(pose_node(bone.name, WORLD, run.x[rows, n], turns, shapes))
        return _scene(run.wrist.title, times, nodes, None)
    if "network" in run.info:
        raise ParameterError(
            "a network of masses has no solid parts to write to .glb, .x3d or .wrl: "
            "write .html, .gif or .png"
        )
    if "bodies" in run.info:
        return _bodies_scene(run, rows, times)
    replay = Replay(run, model, ground)
    nodes, names = _robot(replay.model, run.q[rows])
    around = ground_nodes(replay.ground, path_bounds(nodes), replay.history)
    return _scene(replay.model.title, times, nodes, around, names)


def reconstruction_scene(result: Reconstruction) -> MovingScene:
    """A person with the measured markers, as the manual's CreateVRMLWithMarkers.

    A marker that was not seen is not there.
    """
    rows = rising_rows(result.t)
    times = result.t[rows] - result.t[0]
    nodes, names = _robot(result.model, result.q[rows])
    positions, missing = result.trial.positions[rows], result.occluded[rows]
    ball = trimesh.creation.icosphere(2, BALL / 2 * body_height(result.model))
    shape = shape_of(ball, _MARKER_COLOUR)
    for k, name in enumerate(result.names):
        shown = ~missing[:, k] & np.isfinite(positions[:, k]).all(axis=1)
        if shown.any():
            places = _held(positions[:, k], shown)
            turns = np.array([[0.0, 0.0, 0.0, 1.0]])
            nodes.append(
                pose_node(f"marker_{name}", WORLD, places, turns, [shape], shown)
            )
    around = ground_nodes(Ground(), path_bounds(nodes))
    return _scene(result.model.title, times, nodes, around, names)


def _scene(
    title: str,
    times: np.ndarray,
    nodes: Sequence[SceneNode],
    around: Sequence[SceneNode] | None,
    joint_names: dict[str, str] | None = None,
) -> MovingScene:
    seen: dict[str, int] = {}
    every = []
    for node in (*nodes, *(around or ())):  # a name for each
        count = seen[node.name] = seen.get(node.name, 0) + 1
        name = node.name if count == 1 else f"{node.name}_{count}"
        every.append(replace(node, name=name))
    bounds = path_bounds(nodes)
    return MovingScene(title, times, tuple(every), bounds, joint_names or {})


def _robot(model: Model, q: np.ndarray) -> tuple[list[SceneNode], dict[str, str]]:
    """Links that are drawn as a tree, and the H-Anim names of their joints."""
    by_joint: dict[int, list[Shape]] = {1: []} if model.pin.njoints > 1 else {}
    for solid in solids(model):
        placed = placed_shape(
            shape_of(solid.mesh, solid.colour),
            solid.placement.translation,
            solid.placement.rotation,
        )
        by_joint.setdefault(solid.joint, []).append(placed)
    joints = sorted(by_joint)
    data, poses = model.data(), np.empty((len(q), len(joints), 4, 4))
    for k, posture in enumerate(q):
        pin.forwardKinematics(model.pin, data, np.ascontiguousarray(posture))
        for row, joint in enumerate(joints):
            poses[k, row] = data.oMi[joint].homogeneous
    nodes, names, links = [], {}, link_names(model)
    for row, joint in enumerate(joints):
        above = [j for j in model.pin.supports[joint] if j in joints and j != joint]
        parent = joints.index(above[-1]) if above else WORLD
        own = poses[:, row]
        if parent != WORLD:
            own = np.linalg.inv(poses[:, parent]) @ own
        turns = Rotation.from_matrix(own[:, :3, :3]).as_quat()
        link = links.get(joint, str(model.pin.names[joint]))
        shapes = joined_shapes(by_joint[joint])
        nodes.append(pose_node(link, parent, own[:, :3, 3], turns, shapes))
        word = hanim_name(model.name, "" if joint == 1 else model.pin.names[joint])
        if word is not None:
            names[link] = word
    return nodes, names


def _bodies_scene(run: Run, rows: np.ndarray, times: np.ndarray) -> MovingScene:
    nodes: list[SceneNode] = []
    names: dict[str, str] = {}
    for robot in run_robots(run):
        links, joints = _robot(robot.model, run.q[rows, robot.q])
        first = len(nodes)
        nodes += [
            replace(
                node,
                name=robot.prefix + node.name,
                parent=WORLD if node.parent == WORLD else first + node.parent,
            )
            for node in links
        ]
        names |= {robot.prefix + link: word for link, word in joints.items()}
    poses = body_poses(run)[rows]
    records = run.info["bodies"]
    for k, mesh in enumerate(body_meshes(run.info)):
        name = str(records[k].get("name") or f"body_{k}")
        shapes = coloured_shapes(mesh)
        nodes.append(pose_node(name, WORLD, poses[:, k, :3], poses[:, k, 3:7], shapes))
    around = ground_nodes(recorded_ground(run.info), path_bounds(nodes))
    title = str(run.info.get("system", "scene"))
    return _scene(title, times, nodes, around, names)


def _held(places: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Places with each unknown one the last that was known, or the first."""
    last = np.maximum.accumulate(np.where(known, np.arange(len(known)), -1))
    last[last < 0] = int(np.argmax(known))
    return places[last]


SCENE_FORMATS: dict[str, Callable[[MovingScene], bytes]] = {
    ".glb": glb,
    ".x3d": x3d,
    ".wrl": vrml,
}
"""What makes the content of a file, by its ending."""


def export_model(model: Model, path: Path | str, q: np.ndarray | None = None) -> Path:
    """Write a model as a tree of its links: glTF (.glb), X3D (.x3d) or VRML (.wrl).

    Args:
        model: what to write.
        path: the file.
        q: its configuration; the zero position unless given.

    Raises:
        ParameterError: another ending, or a configuration that is not the model's.
        ModelFileError: a mesh of the model is missing or unreadable.
        FileWriteError: it cannot be written.
    """
    path = Path(path)
    ending = check_ending("a scene", path, SCENE_FORMATS)
    at_rest = model.neutral() if q is None else model.check_configuration(q)
    nodes, names = _robot(model, at_rest[None])
    scene = _scene(model.title, np.zeros(1), nodes, None, names)
    content = SCENE_FORMATS[ending](scene)
    with atomic_stream(path) as stream:
        stream.write(content)
    return path
