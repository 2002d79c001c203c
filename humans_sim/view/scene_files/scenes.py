# SPDX-License-Identifier: Apache-2.0
"""Scenes of models, runs and reconstructions: what the viewer draws, as a tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
import trimesh
from scipy.spatial.transform import Rotation

from humans_sim.anatomy.wrist.wrist_run import WristRun
from humans_sim.contact import Ground
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.results.body_poses import body_poses
from humans_sim.results.record import recorded_ground, recorded_model
from humans_sim.results.run import Run
from humans_sim.view.body_meshes import body_meshes
from humans_sim.view.browser.geometry import body_height, solids
from humans_sim.view.browser.marker_layer import BALL
from humans_sim.view.browser.replay import Replay
from humans_sim.view.scene_files.ground_shapes import ground_nodes
from humans_sim.view.scene_files.hanim_names import hanim_name
from humans_sim.view.scene_files.moving_scene import (
    WORLD,
    MovingScene,
    SceneNode,
    Shape,
    coloured_shapes,
    joined_shapes,
    path_bounds,
    placed_shape,
    pose_node,
    rising_rows,
    shape_of,
)
from humans_sim.view.wrist_colours import bone_colours

_MARKER_COLOUR = (255, 205, 0)
"""Seen on skin and on clothes, which are not transparent here."""


def model_scene(model: Model, q: np.ndarray | None = None) -> MovingScene:
    """A model alone, at rest.

    Args:
        model: what to show.
        q: its configuration; the zero position unless given.
    """
    at_rest = model.neutral() if q is None else model.check_configuration(q)
    nodes, names = _robot(model, at_rest[None])
    return _scene(model.title, np.zeros(1), nodes, None, names)


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
    if isinstance(run, WristRun):
        return _wrist_scene(run)
    if "network" in run.info:
        raise ParameterError(
            "a network of masses has no solid parts to write to .glb, .x3d or .wrl: "
            "write .html, .gif or .png"
        )
    rows = rising_rows(run.t)
    times = run.t[rows] - run.t[0]
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
    every = _unique((*nodes, *(around or ())))
    return MovingScene(title, times, every, path_bounds(nodes), joint_names or {})


def _unique(nodes: Sequence[SceneNode]) -> tuple[SceneNode, ...]:
    """Nodes with the name of each for itself."""
    seen: dict[str, int] = {}
    named = []
    for node in nodes:
        count = seen[node.name] = seen.get(node.name, 0) + 1
        name = node.name if count == 1 else f"{node.name}_{count}"
        parts = (node.parent, node.places, node.turns, node.shapes, node.shown)
        named.append(SceneNode(name, *parts))
    return tuple(named)


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
    poses = _joint_poses(model, q, joints)
    nodes, names = [], {}
    for row, joint in enumerate(joints):
        parent = _parent(model.pin, joint, joints)
        own = poses[:, row]
        if parent != WORLD:
            own = np.linalg.inv(poses[:, parent]) @ own
        turns = Rotation.from_matrix(own[:, :3, :3]).as_quat()
        link = _link_name(model.pin, joint)
        shapes = joined_shapes(by_joint[joint])
        nodes.append(pose_node(link, parent, own[:, :3, 3], turns, shapes))
        word = hanim_name(model.name, "" if joint == 1 else model.pin.names[joint])
        if word is not None:
            names[link] = word
    return nodes, names


def _joint_poses(model: Model, q: np.ndarray, joints: Sequence[int]) -> np.ndarray:
    """Of joints in the world (n, joints, 4, 4)."""
    data = model.data()
    poses = np.empty((len(q), len(joints), 4, 4))
    for k, posture in enumerate(q):
        pin.forwardKinematics(model.pin, data, np.ascontiguousarray(posture))
        for row, joint in enumerate(joints):
            poses[k, row] = data.oMi[joint].homogeneous
    return poses


def _parent(tree: pin.Model, joint: int, joints: Sequence[int]) -> int:
    """Place of the nearest joint before this one that has a node."""
    while joint > 0:
        joint = int(tree.parents[joint])
        if joint in joints:
            return joints.index(joint)
    return WORLD


def _link_name(tree: pin.Model, joint: int) -> str:
    """Name of the link that a joint moves."""
    for frame in tree.frames:
        if frame.type == pin.FrameType.BODY and frame.parentJoint == joint:
            return str(frame.name)
    return str(tree.names[joint])


def _bodies_scene(run: Run, rows: np.ndarray, times: np.ndarray) -> MovingScene:
    nodes: list[SceneNode] = []
    names: dict[str, str] = {}
    if "model" in run.info:
        robot = recorded_model(run.info)
        nodes, names = _robot(robot, run.q[rows, : robot.nq])
    poses = body_poses(run)[rows]
    records = run.info["bodies"]
    for k, mesh in enumerate(body_meshes(run.info)):
        name = str(records[k].get("name") or f"body_{k}")
        shapes = coloured_shapes(mesh)
        nodes.append(pose_node(name, WORLD, poses[:, k, :3], poses[:, k, 3:7], shapes))
    around = ground_nodes(recorded_ground(run.info), path_bounds(nodes))
    title = str(run.info.get("system", "scene"))
    return _scene(title, times, nodes, around, names)


def _wrist_scene(run: WristRun) -> MovingScene:
    rows = rising_rows(run.t)
    colours = np.round(255 * bone_colours(run.wrist)).astype(int).tolist()
    nodes = []
    for n, bone in enumerate(run.wrist.bones):
        corners = np.asarray(bone.mesh.vertices) - bone.mass.center
        mesh = trimesh.Trimesh(corners, bone.mesh.faces, process=False)
        turns = Rotation.from_matrix(run.frames[rows, n]).as_quat()
        shapes = [shape_of(mesh, tuple(colours[n]))]
        nodes.append(pose_node(bone.name, WORLD, run.x[rows, n], turns, shapes))
    return _scene(run.wrist.title, run.t[rows] - run.t[0], nodes, None)


def _held(places: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Places with each unknown one the last that was known, or the first."""
    last = np.maximum.accumulate(np.where(known, np.arange(len(known)), -1))
    last[last < 0] = int(np.argmax(known))
    return places[last]
