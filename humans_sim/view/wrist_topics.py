# SPDX-License-Identifier: Apache-2.0
"""A motion of a wrist as topics of an MCAP file, those of the node ``anatomy``.

``/bones`` (visualization_msgs/msg/MarkerArray), once
    The meshes of the bones, fixed to their frames.
``/tf`` (tf2_msgs/msg/TFMessage)
    Frames of the bones at their centres of mass, in the frame ``wrist``.
``/wrist_markers`` (visualization_msgs/msg/MarkerArray)
    Ligaments by their tension, places where bones touch, names of the free bones.
``/ligaments`` (sensor_msgs/msg/JointState)
    Lengths [m] as positions and tensions [N] as efforts, by name.
``/bone_turns`` (sensor_msgs/msg/JointState)
    Turns of hand and free bones about the hand's axis [rad].
``/energy/kinetic``, ``/energy/stored`` (std_msgs/msg/Float64)
    Of the bones, and in ligaments [J].
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.anatomy.wrist.plausibility import turns_of
from humans_sim.anatomy.wrist.wrist_run import TOUCHING_GAP, WristRun
from humans_sim.results.ros_files import (
    Message,
    MessageMaker,
    RosTopics,
    head,
    link_transform,
    write_topics,
)
from humans_sim.view.run_topics import MARKERS, TF, marker_message, stamped
from humans_sim.view.wrist_colours import (
    CONTACT,
    bone_colours,
    tension_colours,
    tension_scale,
)

FRAME = "wrist"
"""Frame that the bones move in."""
_JOINTS, _NUMBER = "sensor_msgs/JointState", "std_msgs/Float64"
_LINE_LIST, _SPHERE_LIST, _TEXT, _TRIANGLES = 5, 7, 9, 11
_DELETE = 2
_TIE, _SPOT, _LETTER = 6e-4, 1.2e-3, 4e-3
"""Widths of ligaments and contacts, height of letters [m]."""
_WHITE = (255, 255, 255)


def write_wrist_mcap(run: WristRun, path: Path | str) -> Path:
    """Write a motion of a wrist for rosbag2, Foxglove and RViz, whole or not at all.

    Args:
        run: the motion.
        path: the file; rosbag2 knows it by the ending ``.mcap``.

    Raises:
        ParameterError: a time is negative or too large for a ROS 2 stamp.
        FileWriteError: it cannot be written.
    """
    return write_topics(Path(path), run.t.tolist(), wrist_topics(run), run.info)


def wrist_topics(run: WristRun) -> RosTopics:
    """Topics by which a wrist is seen."""
    kinetic, stored = run.energy.T
    return RosTopics(
        {"/bones": (MARKERS, {"markers": _bones(run)})},
        {
            "/tf": (TF, _frames(run)),
            "/wrist_markers": (MARKERS, _markers(run)),
            "/ligaments": (_JOINTS, _ligaments(run)),
            "/bone_turns": (_JOINTS, _turns(run)),
            "/energy/kinetic": (_NUMBER, lambda k, _: {"data": float(kinetic[k])}),
            "/energy/stored": (_NUMBER, lambda k, _: {"data": float(stored[k])}),
        },
    )


def _bones(run: WristRun) -> list[Message]:
    wrist, markers = run.wrist, []
    for n, (bone, colour) in enumerate(
        zip(wrist.bones, bone_colours(wrist), strict=True)
    ):
        shown = tuple(255.0 * float(part) for part in colour)
        marker = marker_message(
            "bones", n, _TRIANGLES, shown, np.ones(3), frame=bone.name
        )
        corners = np.asarray(bone.mesh.vertices) - bone.mass.center
        points = corners[np.asarray(bone.mesh.faces).ravel()]
        markers.append(marker | {"points": points, "frame_locked": True})
    return markers


def _frames(run: WristRun) -> MessageMaker:
    def message(k: int, stamp: Mapping[str, int]) -> Message:
        turns = Rotation.from_matrix(run.frames[k]).as_quat()
        poses = np.hstack([run.x[k], turns])
        return {
            "transforms": [
                link_transform(stamp, FRAME, name, pose)
                for name, pose in zip(run.wrist.names, poses, strict=True)
            ]
        }

    return message


def _markers(run: WristRun) -> MessageMaker:
    detector, scale = run.wrist.detector(), tension_scale(run)
    free = [n for n, bone in enumerate(run.wrist.bones) if bone.role == "free"]

    def message(k: int, stamp: Mapping[str, int]) -> Message:
        poses = run.wrist.poses(run.x[k], run.frames[k])
        touching = detector.detect(poses, margin=TOUCHING_GAP)
        markers = [_spots(touching.point)]
        if len(run.wrist.ligaments):
            markers.append(_ties(run, k, scale))
        markers += [_name(run, k, n) for n in free]
        return {"markers": stamped(markers, stamp)}

    return message


def _ties(run: WristRun, k: int, scale: float) -> Message:
    """Lines from bone to bone, by their tensions."""
    ends = np.stack(run.wrist.ligaments.ends(run.moving(k)), axis=1).reshape(-1, 3)
    colours = np.repeat(tension_colours(run.tensions[k], scale), 2, axis=0)
    size = np.array([_TIE, 0.0, 0.0])
    marker = marker_message("ligaments", 0, _LINE_LIST, _WHITE, size, frame=FRAME)
    solid = np.column_stack([colours[:, :3], np.ones(len(colours))])
    return marker | {"points": ends, "colors": solid}


def _spots(places: np.ndarray) -> Message:
    colour = tuple(255.0 * part for part in CONTACT)
    size = np.full(3, _SPOT)
    marker = marker_message("contacts", 0, _SPHERE_LIST, colour, size, frame=FRAME)
    if not len(places):  # RViz complains about lists without points
        return marker | {"action": _DELETE}
    return marker | {"points": places}


def _name(run: WristRun, k: int, n: int) -> Message:
    size, pose = np.array([0.0, 0.0, _LETTER]), np.zeros(7)
    pose[:3], pose[6] = run.x[k, n], 1.0
    marker = marker_message("names", n, _TEXT, _WHITE, size, pose, FRAME)
    return marker | {"text": run.wrist.names[n]}


def _ligaments(run: WristRun) -> MessageMaker:
    ties = run.wrist.ligaments

    def message(k: int, stamp: Mapping[str, int]) -> Message:
        return {
            "header": head(stamp, FRAME),
            "name": list(ties.names),
            "position": ties.lengths(run.moving(k)).tolist(),
            "velocity": [],
            "effort": run.tensions[k].tolist(),
        }

    return message


def _turns(run: WristRun) -> MessageMaker:
    turns = {"hand": run.angles, **turns_of(run)}

    def message(k: int, stamp: Mapping[str, int]) -> Message:
        return {
            "header": head(stamp, FRAME),
            "name": list(turns),
            "position": [float(turn[k]) for turn in turns.values()],
            "velocity": [],
            "effort": [],
        }

    return message
