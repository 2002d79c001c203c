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

*Reconstructions*: the person as of a run, its base on ``/odom``, its joints on
``/joints/<name>``, and

``/reconstruction_markers`` (visualization_msgs/msg/MarkerArray)
    Markers as they were measured and where the person has them, as the node
    ``reconstruction`` draws them: a namespace for each kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.contact import Box
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.dynamics.soles import PointContacts, SoleLoad, Soles
from humans_sim.models import Model
from humans_sim.models.description import BASE_LINK
from humans_sim.models.links import LinkTree
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction
from humans_sim.results.export import has_free_base, joint_topics
from humans_sim.results.record import recorded_ground, recorded_model
from humans_sim.results.ros_files import (
    WORLD,
    Message,
    MessageMaker,
    RosTopics,
    head,
    link_transform,
    odometry_message,
    stamp_of,
    xyz,
)
from humans_sim.results.run import Run, body_poses
from humans_sim.view.browser.bodies_page import COLOURS
from humans_sim.view.browser.replay import RunContacts
from humans_sim.view.browser.scene import FORCE_COLOUR
from humans_sim.view.browser.scene_layers import (
    BOX_COLOUR,
    TERRAIN_COLOUR,
    Solid,
    body_height,
    drawn_boxes,
    link_names,
    solids,
    terrain_of,
)

CONTACTS = "humans_msgs/ContactStates"


def contact_states(contacts: RunContacts) -> MessageMaker:
    """Contact points and soles of each sample: places, normals, forces in the world."""

    def message(k: int, stamp: Mapping[str, int]) -> Message:
        points = contacts.points(k)
        assert contacts.soles is not None and points is not None
        return {
            "header": head(stamp, WORLD),
            "points": _points(contacts.soles, points),
            "soles": [_sole(load) for load in contacts.loads(k, points)],
        }

    return message


def _points(soles: Soles, points: PointContacts) -> list[dict[str, Any]]:
    return [
        {
            "name": soles.names[row],
            "link_name": soles.links[row],
            "surface": soles.surfaces[row],
            "mode": int(points.mode[k]),
            "gap": float(points.gap[k]),
            "position": xyz(points.position[k]),
            "normal": xyz(points.normal[k]),
            "velocity": xyz(points.velocity[k]),
            "force": xyz(points.force[k]),
        }
        for k, row in enumerate(points.rows)
    ]


def _sole(load: SoleLoad) -> dict[str, Any]:
    return {
        "name": load.name,
        "mode": load.mode,
        "closed_points": load.closed,
        "wrench": {"force": xyz(load.force), "torque": xyz(load.moment)},
        "center_of_pressure": xyz(np.asarray(load.centre_of_pressure)),
    }


MARKERS, TF = "visualization_msgs/MarkerArray", "tf2_msgs/TFMessage"
_ARROW, _CUBE, _SPHERE, _LINE_STRIP, _TRIANGLES = 0, 1, 2, 4, 11
_DELETE, _DELETE_ALL = 2, 3
_COM, _PRESSURE, _SUPPORT = (148, 102, 189), (255, 128, 13), (43, 161, 43)
"""Colours of the node ``walk``: centre of mass, centre of pressure, support."""
_BALL, _LINE, _SHAFT = 0.033, 0.007, 0.007
"""Sizes of balls, lines and arrows, over the height of the body."""
_NEAR = 0.01
"""Points of a loaded link nearer to the ground are of the support, over the height."""
_GROUND, _AT_REST = "ground", np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


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
    model, ground = recorded_model(run.info), recorded_ground(run.info)
    latched, sampled = body_topics(model, run.q)
    boxes = [_box(k, box) for k, box in enumerate(drawn_boxes(ground))]
    if "bodies" in run.info:
        sampled["/scene"] = MARKERS, _bodies(run, boxes)
    else:
        latched["/scene"] = MARKERS, {"markers": boxes}
    contacts = _contacts(run, model, ground)
    if contacts is not None:
        sampled["/walk_markers"] = MARKERS, _balance(contacts)
        sampled["/contact_markers"] = MARKERS, _forces(contacts)
        if contacts.soles is not None:
            sampled["/ground_contacts"] = CONTACTS, contact_states(contacts)
    if terrain_of(ground):
        latched["/terrain"] = MARKERS, {"markers": _terrain(ground)}
    return RosTopics(latched, sampled)


def _contacts(run: Run, model: Model, ground: Ground) -> RunContacts | None:
    """Where the biped touches; None where a scene of bodies is not known enough."""
    if run.position_names[7 : model.nq] != model.joint_names:
        name = str(run.info.get("system", "run"))
        raise ParameterError(
            f"the run of {name} has other joints than the model {model.name}"
        )
    try:
        return RunContacts(run, model, ground)
    except ParameterError:
        if "bodies" in run.info:
            return None
        raise


def body_topics(
    model: Model, q: np.ndarray
) -> tuple[dict[str, tuple[str, Message]], dict[str, tuple[str, MessageMaker]]]:
    """Topics of a model: sent once, and of each configuration (n, nq or more)."""
    links = LinkTree(model)
    fixed = [
        link_transform(stamp_of(0), parent, child, pin.SE3ToXYZQUAT(pose))
        for parent, child, pose in links.fixed()
    ]
    latched: dict[str, tuple[str, Message]] = {
        "/robot_description": ("std_msgs/String", {"data": model.urdf()}),
        "/tf_static": (TF, {"transforms": fixed}),
        "/robot_markers": (MARKERS, {"markers": _robot(model)}),
    }
    return latched, {"/tf": (TF, _links(q, model, links))}


def _links(postures: np.ndarray, model: Model, links: LinkTree) -> MessageMaker:
    def message(k: int, stamp: Mapping[str, int]) -> Message:
        q = np.ascontiguousarray(postures[k, : model.nq])
        frames = [link_transform(stamp, WORLD, BASE_LINK, q)]
        frames += [
            link_transform(stamp, parent, child, pin.SE3ToXYZQUAT(pose))
            for parent, child, pose in links.moving(q)
        ]
        return {"transforms": frames}

    return message


def _robot(model: Model) -> list[Message]:
    """The shapes of all links in their frames."""
    frames = link_names(model)
    return [
        _solid(frames[solid.joint], number, solid)
        for number, solid in enumerate(solids(model))
    ]


def _solid(frame: str, number: int, solid: Solid) -> Message:
    marker = _triangles(
        "robot", number, np.asarray(solid.mesh.triangles), solid.colour, frame
    )
    place = pin.SE3ToXYZQUAT(solid.placement)
    return marker | {"pose": place, "frame_locked": True}


def _terrain(ground: Ground) -> list[Message]:
    return [
        _triangles("terrain", k, mesh.vertices[mesh.faces], TERRAIN_COLOUR)
        for k, mesh in enumerate(terrain_of(ground))
    ]


def _triangles(
    space: str,
    number: int,
    corners: np.ndarray,
    colour: Sequence[int],
    frame: str = WORLD,
) -> Message:
    marker = marker_message(space, number, _TRIANGLES, colour, np.ones(3), frame=frame)
    return marker | {"points": corners.reshape(-1, 3)}


def _box(number: int, box: Box) -> Message:
    place = _AT_REST.copy()
    place[:3] = box.centre
    if box.rotation is not None:
        turn = pin.Quaternion(np.asarray(box.rotation, dtype=float).reshape(3, 3))
        place[3:] = turn.coeffs()
    size = np.array(box.size)
    marker = marker_message(_GROUND, number, _CUBE, BOX_COLOUR, size, place)
    return marker | {"text": box.name}


def _bodies(run: Run, boxes: list[Message]) -> MessageMaker:
    """Balls and boxes that move, and what stands."""
    poses, records = body_poses(run), list(run.info["bodies"])

    def message(k: int, stamp: Mapping[str, int]) -> Message:
        markers = list(boxes)
        for number, record in enumerate(records):
            ball = record["shape"] == "ball"
            size = [2.0 * record["radius"]] * 3 if ball else record["size"]
            kind, colour = _SPHERE if ball else _CUBE, COLOURS[number % len(COLOURS)]
            name = str(record.get("name") or f"body_{number}")
            scale, place = np.array(size, dtype=float), poses[k, number]
            markers.append(marker_message(name, number, kind, colour, scale, place))
        return {"markers": stamped(markers, stamp)}

    return message


def _balance(contacts: RunContacts) -> MessageMaker:
    model, postures, weight = contacts.model, contacts.run.q, contacts.weight
    size = body_height(model)

    def message(k: int, stamp: Mapping[str, int]) -> Message:
        com = model.com(np.ascontiguousarray(postures[k, : model.nq]))
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
            _outline(support, size),
        ]
        return {"markers": stamped(markers, stamp)}

    return message


def _dot(
    space: str, place: np.ndarray | None, colour: Sequence[int], size: float
) -> Message:
    scale, pose = np.full(3, _BALL * size), _AT_REST.copy()
    if place is None:
        return marker_message(space, 0, _SPHERE, colour, scale) | {"action": _DELETE}
    pose[:3] = place
    return marker_message(space, 0, _SPHERE, colour, scale, pose)


def _outline(corners: np.ndarray, size: float) -> Message:
    scale = np.array([_LINE * size, 0.0, 0.0])
    marker = marker_message("support", 0, _LINE_STRIP, _SUPPORT, scale)
    if not len(corners):
        return marker | {"action": _DELETE}
    return marker | {"points": np.vstack([corners, corners[:1]])}


def _forces(contacts: RunContacts) -> MessageMaker:
    size = body_height(contacts.model)
    thick = _SHAFT * size
    scale = np.array([thick, 2.5 * thick, 5.0 * thick])
    away = marker_message("forces", 0, _ARROW, FORCE_COLOUR, scale) | {
        "action": _DELETE_ALL
    }

    def message(k: int, stamp: Mapping[str, int]) -> Message:
        markers, touches = [away], contacts.touches(k)
        arrows = () if touches is None else touches.arrows(contacts.weight, size, True)
        for number, arrow in enumerate(arrows):
            drawn = marker_message("forces", number, _ARROW, FORCE_COLOUR, scale)
            markers.append(drawn | {"points": arrow})
        return {"markers": stamped(markers, stamp)}

    return message


def marker_message(
    space: str,
    number: int,
    kind: int,
    colour: Sequence[float],
    scale: np.ndarray,
    pose: np.ndarray = _AT_REST,
    frame: str = WORLD,
) -> Message:
    """A marker that stays until it is changed."""
    return {
        "header": head(stamp_of(0), frame),
        "ns": space,
        "id": number,
        "type": kind,
        "action": 0,
        "pose": pose,
        "scale": scale,
        "color": (*(part / 255.0 for part in colour), 1.0),
    }


def stamped(markers: list[Message], stamp: Mapping[str, int]) -> list[Message]:
    """Markers of one time, in their frames."""
    return [
        marker | {"header": head(stamp, marker["header"]["frame_id"])}
        for marker in markers
    ]


_LINE_LIST, _SPHERE_LIST, _POSTURE_DELETE = 5, 7, 2
_MARKER_BALL = 0.02
"""Diameter of a measured marker [m]."""
_KINDS = {
    "measured": (_SPHERE_LIST, 1.0, (31, 120, 181)),
    "rejected": (_SPHERE_LIST, 1.0, (214, 38, 41)),
    "reconstructed": (_SPHERE_LIST, 0.7, (43, 161, 43)),
    "residuals": (_LINE_LIST, 0.2, (255, 128, 13)),
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
    def message(k: int, stamp: Mapping[str, int]) -> Message:
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
        markers = [_drawing(space, places) for space, places in points.items()]
        return {"markers": stamped(markers, stamp)}

    return message


def _drawing(space: str, points: np.ndarray) -> Message:
    kind, share, colour = _KINDS[space]
    drawn = marker_message(space, 0, kind, colour, np.full(3, share * _MARKER_BALL))
    if not len(points):  # RViz complains about lists without points
        return drawn | {"action": _POSTURE_DELETE}
    return drawn | {"points": points}
