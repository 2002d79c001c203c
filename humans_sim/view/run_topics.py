# SPDX-License-Identifier: Apache-2.0
"""Topics of a run or a reconstruction in an MCAP file, for ROS 2 tools.

Foxglove and RViz draw all of it without a plug-in and without files of meshes:

``/robot_description`` (std_msgs/msg/String), once
    The model's URDF.
``/tf``, ``/tf_static`` (tf2_msgs/msg/TFMessage)
    All links, from ``world`` on; those that do not move in their parents once.
``/robot_markers`` (visualization_msgs/msg/MarkerArray), once
    The shapes of the links, fixed to their frames.
``/scene`` (visualization_msgs/msg/MarkerArray)
    Boxes of the ground, and free bodies; once where nothing of it moves.
``/terrain`` (visualization_msgs/msg/MarkerArray), once
    Triangles of the terrain.
``/walk_markers`` (visualization_msgs/msg/MarkerArray)
    Centre of mass, its place on the floor, centre of pressure, edge of the support.
``/contact_markers`` (visualization_msgs/msg/MarkerArray)
    An arrow for the force of each contact point.
``/ground_contacts`` (humans_msgs/msg/ContactStates)
    Contact points and soles, in the world.

*Further robots* of a scene: the topics of a robot in the namespace of its name, with
``joint_states`` and ``odom``; its frames begin with the name, too (``robot2/l_foot``).

*Reconstructions*: the person as of a run, its base on ``/odom``, its joints on
``/joints/<name>``, and

``/reconstruction_markers`` (visualization_msgs/msg/MarkerArray)
    Markers as they were measured and where the person has them, as the node
    ``reconstruction`` draws them: a namespace for each kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.contact import Box
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.models import Model
from humans_sim.models.description import BASE_LINK
from humans_sim.models.links import LinkPose, LinkTree
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction
from humans_sim.results.export import has_free_base, joint_topics
from humans_sim.results.record import recorded_ground
from humans_sim.results.ros_files import (
    AT_REST,
    DELETE,
    DELETE_ALL,
    WORLD,
    MarkerType,
    Message,
    MessageMaker,
    RosTopics,
    Stamp,
    contact_states,
    head,
    joint_state,
    link_transform,
    marker_message,
    odometry_message,
    point_list,
    rgb,
    stamp_of,
    stamped,
)
from humans_sim.results.run import Run, body_poses
from humans_sim.results.run_robots import RunRobot, run_robots
from humans_sim.view.browser.bodies_page import COLOURS
from humans_sim.view.browser.replay import RunContacts
from humans_sim.view.browser.scene import FORCE_COLOUR
from humans_sim.view.browser.scene_layers import (
    BOX_COLOUR,
    TERRAIN_COLOUR,
    body_height,
    drawn_boxes,
    link_names,
    solids,
    terrain_of,
)

CONTACTS = "humans_msgs/ContactStates"


MARKERS, TF = "visualization_msgs/MarkerArray", "tf2_msgs/TFMessage"
_COM, _PRESSURE, _SUPPORT = (148, 102, 189), (255, 128, 13), (43, 161, 43)
"""Colours of the node ``walk``: centre of mass, centre of pressure, support."""
_BALL, _LINE, _SHAFT = 0.033, 0.007, 0.007
"""Sizes of balls, lines and arrows, over the height of the body."""
_NEAR = 0.01
"""Points of a loaded link nearer to the ground are of the support, over the height."""
GROUND = "ground"
"""Namespace of boxes that do not move."""


def run_topics(run: Run) -> RosTopics:
    """Topics by which a run of a biped is seen; none for other runs.

    Where the run's model or scene is not at hand any more, there are none either, and
    the note says why.
    """
    if not has_free_base(run):
        return RosTopics()
    try:
        return _topics(run)
    except HumansError as error:
        return RosTopics(note=str(error))


def _topics(run: Run) -> RosTopics:
    ground = recorded_ground(run.info)
    latched: dict[str, tuple[str, Message]] = {}
    sampled: dict[str, tuple[str, MessageMaker]] = {}
    fixed, moving = [], []
    for robot in run_robots(run):
        once, often = _robot_topics(run, robot, ground)
        fixed.append(once.pop("/tf_static")[1])
        moving.append(often.pop("/tf")[1])
        space = f"/{robot.prefix}"
        latched |= {space + topic[1:]: own for topic, own in once.items()}
        sampled |= {space + topic[1:]: own for topic, own in often.items()}
    latched["/tf_static"] = TF, _transforms(fixed)
    sampled["/tf"] = (
        TF,
        lambda k, stamp: _transforms([make(k, stamp) for make in moving]),
    )
    boxes = [box_marker(k, box) for k, box in enumerate(drawn_boxes(ground))]
    if "bodies" in run.info:
        sampled["/scene"] = MARKERS, _bodies(run, boxes)
    else:
        latched["/scene"] = MARKERS, {"markers": boxes}
    if terrain_of(ground):
        latched["/terrain"] = MARKERS, {"markers": terrain_markers(ground)}
    return RosTopics(latched, sampled)


def _transforms(messages: Sequence[Message]) -> Message:
    """One message of all."""
    return {"transforms": [part for own in messages for part in own["transforms"]]}


def _robot_topics(
    run: Run, robot: RunRobot, ground: Ground
) -> tuple[dict[str, tuple[str, Message]], dict[str, tuple[str, MessageMaker]]]:
    """Topics of one robot, without its namespace: sent once, and of each sample."""
    model, q, v = robot.model, run.q[:, robot.q], run.v[:, robot.v]
    latched, sampled = body_topics(model, q, robot.prefix)
    if robot.prefix:  # a run's own topics are those of the first one
        base, torques = robot.prefix + BASE_LINK, run.torques[:, robot.v]
        sampled["/odom"] = (
            "nav_msgs/Odometry",
            lambda k, stamp: odometry_message(stamp, q[k], v[k], base=base),
        )
        sampled["/joint_states"] = (
            "sensor_msgs/JointState",
            lambda k, stamp: joint_state(
                stamp, model.joint_names, q[k, 7:], v[k, 6:], torques[k, 6:]
            ),
        )
    contacts = _contacts(run, robot, ground)
    if contacts is not None:
        sampled["/walk_markers"] = MARKERS, _balance(contacts)
        sampled["/contact_markers"] = MARKERS, _forces(contacts)
        if contacts.soles is not None:
            sampled["/ground_contacts"] = CONTACTS, partial(_touching, contacts)
    return latched, sampled


def _touching(contacts: RunContacts, k: int, stamp: Stamp) -> Message:
    """Contact points and soles of a sample."""
    points = contacts.points(k)
    assert contacts.soles is not None and points is not None
    loads = contacts.loads(k, points)
    return contact_states(head(stamp, WORLD), contacts.soles, points, loads)


def _contacts(run: Run, robot: RunRobot, ground: Ground) -> RunContacts | None:
    """Where a biped touches; None where a scene of bodies is not known enough."""
    model = robot.model
    if not robot.prefix and run.position_names[7 : model.nq] != model.joint_names:
        name = str(run.info.get("system", "run"))
        raise ParameterError(
            f"the run of {name} has other joints than the model {model.name}"
        )
    try:
        return RunContacts(run, robot, ground)
    except ParameterError:
        if "bodies" in run.info:
            return None
        raise


def body_topics(
    model: Model, q: np.ndarray, prefix: str = ""
) -> tuple[dict[str, tuple[str, Message]], dict[str, tuple[str, MessageMaker]]]:
    """Topics of a model: sent once, and of each configuration (n, nq).

    Names of its frames begin with ``prefix``.
    """
    links = LinkTree(model)

    def transforms(stamp: Stamp, poses: Sequence[LinkPose]) -> list[Message]:
        return [
            link_transform(
                stamp, prefix + parent, prefix + child, pin.SE3ToXYZQUAT(pose)
            )
            for parent, child, pose in poses
        ]

    names, shapes = link_names(model), []
    for n, solid in enumerate(solids(model)):
        corners, frame = np.asarray(solid.mesh.triangles), names[solid.joint]
        marker = _triangles("robot", n, corners, solid.colour, prefix + frame)
        place = pin.SE3ToXYZQUAT(solid.placement)
        shapes.append(marker | {"pose": place, "frame_locked": True})
    latched: dict[str, tuple[str, Message]] = {
        "/robot_description": ("std_msgs/String", {"data": model.urdf()}),
        "/tf_static": (TF, {"transforms": transforms(stamp_of(0), links.fixed())}),
        "/robot_markers": (MARKERS, {"markers": shapes}),
    }

    def moving(k: int, stamp: Stamp) -> Message:
        posture = np.ascontiguousarray(q[k])
        base = link_transform(stamp, WORLD, prefix + BASE_LINK, posture)
        return {"transforms": [base, *transforms(stamp, links.moving(posture))]}

    return latched, {"/tf": (TF, moving)}


def terrain_markers(ground: Ground, frame: str = WORLD) -> list[Message]:
    """A list of triangles for each mesh of a scene."""
    return [
        _triangles("terrain", k, mesh.vertices[mesh.faces], TERRAIN_COLOUR, frame)
        for k, mesh in enumerate(terrain_of(ground))
    ]


def _triangles(
    space: str,
    number: int,
    corners: np.ndarray,
    colour: Sequence[int],
    frame: str = WORLD,
) -> Message:
    kind = MarkerType.TRIANGLES
    marker = marker_message(space, number, kind, rgb(colour), np.ones(3), frame=frame)
    return marker | {"points": corners.reshape(-1, 3)}


def box_marker(number: int, box: Box, frame: str = WORLD) -> Message:
    """A box of the ground."""
    place = AT_REST.copy()
    place[:3] = box.centre
    if box.rotation is not None:
        turn = pin.Quaternion(np.asarray(box.rotation, dtype=float).reshape(3, 3))
        place[3:] = turn.coeffs()
    size, kind = np.array(box.size, dtype=float), MarkerType.CUBE
    marker = marker_message(GROUND, number, kind, rgb(BOX_COLOUR), size, place, frame)
    return marker | {"text": box.name}


def body_marker(
    number: int,
    record: Mapping[str, Any],
    pose: np.ndarray = AT_REST,
    frame: str = WORLD,
) -> Message:
    """A free body of a scene, by its record; its namespace is the body's name."""
    ball = record["shape"] == "ball"
    size = [2.0 * record["radius"]] * 3 if ball else record["size"]
    kind = MarkerType.SPHERE if ball else MarkerType.CUBE
    name = str(record.get("name") or f"body_{number}")
    colour, scale = rgb(COLOURS[number % len(COLOURS)]), np.array(size, dtype=float)
    return marker_message(name, number, kind, colour, scale, pose, frame)


def _bodies(run: Run, boxes: list[Message]) -> MessageMaker:
    """Balls and boxes that move, and what stands."""
    poses, records = body_poses(run), list(run.info["bodies"])

    def message(k: int, stamp: Stamp) -> Message:
        bodies = [body_marker(n, x, poses[k, n]) for n, x in enumerate(records)]
        return {"markers": stamped([*boxes, *bodies], stamp)}

    return message


def _balance(contacts: RunContacts) -> MessageMaker:
    model, weight = contacts.robot.model, contacts.weight
    postures = contacts.run.q[:, contacts.robot.q]
    size = body_height(model)
    scale = np.array([_LINE * size, 0.0, 0.0])
    edge = marker_message("support", 0, MarkerType.LINE_STRIP, rgb(_SUPPORT), scale)

    def message(k: int, stamp: Stamp) -> Message:
        com = model.com(np.ascontiguousarray(postures[k]))
        touches = contacts.touches(k)
        pressure, support = None, np.zeros((0, 3))
        if touches is not None:
            pressure = touches.centre(weight)
            support = touches.support(weight, _NEAR * size)
        floor = float(support[:, 2].mean()) if len(support) else 0.0
        below = np.array([com[0], com[1], floor])
        markers = [
            _dot("com", com, _COM, size),
            _dot("com_on_floor", below, _COM, size),
            _dot("zmp", pressure, _PRESSURE, size),
            point_list(edge, np.vstack([support, support[:1]])),
        ]
        return {"markers": stamped(markers, stamp)}

    return message


def _dot(
    space: str, place: np.ndarray | None, colour: Sequence[int], size: float
) -> Message:
    scale, pose = np.full(3, _BALL * size), AT_REST.copy()
    if place is not None:
        pose[:3] = place
    marker = marker_message(space, 0, MarkerType.SPHERE, rgb(colour), scale, pose)
    return marker | ({"action": DELETE} if place is None else {})


def _forces(contacts: RunContacts) -> MessageMaker:
    size = body_height(contacts.robot.model)
    thick = _SHAFT * size
    scale = np.array([thick, 2.5 * thick, 5.0 * thick])
    arrow = marker_message("forces", 0, MarkerType.ARROW, rgb(FORCE_COLOUR), scale)

    def message(k: int, stamp: Stamp) -> Message:
        touches, markers = contacts.touches(k), [arrow | {"action": DELETE_ALL}]
        arrows = () if touches is None else touches.arrows(contacts.weight, size, True)
        markers += [arrow | {"id": n, "points": ends} for n, ends in enumerate(arrows)]
        return {"markers": stamped(markers, stamp)}

    return message


_MARKER_BALL = 0.02
"""Diameter of a measured marker [m]."""
_KINDS = {
    "measured": (MarkerType.SPHERE_LIST, 1.0, (31, 120, 181)),
    "rejected": (MarkerType.SPHERE_LIST, 1.0, (214, 38, 41)),
    "reconstructed": (MarkerType.SPHERE_LIST, 0.7, (43, 161, 43)),
    "residuals": (MarkerType.LINE_LIST, 0.2, (255, 128, 13)),
}
"""Type, size over that of a measured marker, and colour of each namespace."""


def posture_topics(result: Reconstruction) -> RosTopics:
    """Topics by which a person is seen, with the markers.

    Raises:
        ModelFileError: a mesh of the person's model is missing or unreadable.
    """
    latched, sampled = body_topics(result.model, result.q)
    still = np.zeros(6)
    sampled["/odom"] = (
        "nav_msgs/Odometry",
        lambda k, stamp: odometry_message(stamp, result.q[k], still),
    )
    sampled["/reconstruction_markers"] = MARKERS, _markers(result)
    sampled |= joint_topics(result.model.joint_names, result.q[:, 7:])
    return RosTopics(latched, sampled)


def _markers(result: Reconstruction) -> MessageMaker:
    def message(k: int, stamp: Stamp) -> Message:
        measured = np.asarray(result.trial.positions[k])
        modelled = measured - result.differences[k]
        status = result.status[k]
        used = status == MarkerStatus.USED
        seen = np.isfinite(measured).all(axis=1)
        known = np.isfinite(modelled).all(axis=1)
        pairs = np.stack([measured, modelled], axis=1)
        points = {
            "measured": measured[used & seen],
            "rejected": measured[(status == MarkerStatus.REJECTED) & seen],
            "reconstructed": modelled[known],
            "residuals": pairs[used & seen & known].reshape(-1, 3),
        }
        markers = []
        for space, places in points.items():
            kind, share, colour = _KINDS[space]
            scale = np.full(3, share * _MARKER_BALL)
            marker = marker_message(space, 0, kind, rgb(colour), scale)
            markers.append(point_list(marker, places))
        return {"markers": stamped(markers, stamp)}

    return message
