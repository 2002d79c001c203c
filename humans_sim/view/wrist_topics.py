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

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.anatomy.detection.contacts import Contacts
from humans_sim.anatomy.wrist.plausibility import turns_of
from humans_sim.anatomy.wrist.wrist import Wrist
from humans_sim.anatomy.wrist.wrist_run import TOUCHING_GAP, WristRun
from humans_sim.results.ros_files import (
    MarkerType,
    Message,
    RosTopics,
    Stamp,
    joint_state,
    link_transform,
    marker_message,
    point_list,
    stamped,
    write_topics,
)
from humans_sim.view.run_topics import MARKERS, TF
from humans_sim.view.wrist_colours import (
    CONTACT,
    bone_colours,
    tension_colours,
    tension_scale,
)

FRAME = "wrist"
"""Frame that the bones move in."""
_JOINTS, _NUMBER = "sensor_msgs/JointState", "std_msgs/Float64"
_TIE, _SPOT, _LETTER = 6e-4, 1.2e-3, 4e-3
"""Widths of ligaments and contacts, height of letters [m]."""
_WHITE = (1.0, 1.0, 1.0)


def write_wrist_mcap(run: WristRun, path: Path | str) -> Path:
    """Write a motion of a wrist for rosbag2, Foxglove and RViz, whole or not at all.

    Args:
        run: the motion.
        path: the file; rosbag2 knows it by the ending ``.mcap``.

    Raises:
        ParameterError: a time is negative or too large for a ROS 2 stamp.
        FileWriteError: it cannot be written.
    """
    topics = wrist_topics(run)
    return write_topics(Path(path), run.t.tolist(), topics, run.info, True)


def wrist_topics(run: WristRun) -> RosTopics:
    """Topics by which a wrist is seen."""
    messages = WristMessages(run)
    kinetic, stored = run.energy.T

    def markers(k: int, stamp: Stamp) -> Message:
        return {"markers": stamped(messages.markers(k, messages.contacts(k)), stamp)}

    def frames(k: int, stamp: Stamp) -> Message:
        poses = np.hstack([run.x[k], Rotation.from_matrix(run.frames[k]).as_quat()])
        return {
            "transforms": [
                link_transform(stamp, FRAME, name, pose)
                for name, pose in zip(run.wrist.names, poses, strict=True)
            ]
        }

    return RosTopics(
        {"/bones": (MARKERS, {"markers": bone_markers(run.wrist)})},
        {
            "/tf": (TF, frames),
            "/wrist_markers": (MARKERS, markers),
            "/ligaments": (_JOINTS, messages.ligaments),
            "/bone_turns": (_JOINTS, messages.turns),
            "/energy/kinetic": (_NUMBER, lambda k, _: {"data": float(kinetic[k])}),
            "/energy/stored": (_NUMBER, lambda k, _: {"data": float(stored[k])}),
        },
    )


def bone_markers(wrist: Wrist, prefix: str = "") -> list[Message]:
    """The meshes of the bones, each in its own frame; they move with their frames.

    Args:
        wrist: with the bones.
        prefix: before the names of the bones, in names of frames.
    """
    markers = []
    for n, (bone, colour) in enumerate(
        zip(wrist.bones, bone_colours(wrist), strict=True)
    ):
        kind, frame = MarkerType.TRIANGLES, prefix + bone.name
        marker = marker_message("bones", n, kind, colour, np.ones(3), frame=frame)
        corners = np.asarray(bone.mesh.vertices) - bone.mass.center
        points = corners[np.asarray(bone.mesh.faces).ravel()]
        markers.append(marker | {"points": points, "frame_locked": True})
    return markers


class WristMessages:
    """Messages of a motion's samples.

    Args:
        run: the motion.
        frame: of the wrist.
    """

    def __init__(self, run: WristRun, frame: str = FRAME) -> None:
        self.run, self._frame = run, frame
        self._detector, self._scale = run.wrist.detector(), tension_scale(run)
        self._turns = {"hand": run.angles, **turns_of(run)}

    def contacts(self, k: int) -> Contacts:
        """Balls that touch at a sample."""
        poses = self.run.wrist.poses(self.run.x[k], self.run.frames[k])
        return self._detector.detect(poses, margin=TOUCHING_GAP)

    def ligaments(self, k: int, stamp: Stamp) -> Message:
        """Lengths [m] as positions and tensions [N] as efforts, by name."""
        ties, tensions = self.run.wrist.ligaments, self.run.tensions[k]
        lengths = ties.lengths(self.run.moving(k))
        return joint_state(stamp, ties.names, lengths, (), tensions, self._frame)

    def turns(self, k: int, stamp: Stamp) -> Message:
        """Turns of hand and free bones about the hand's axis [rad]."""
        angles = [turn[k] for turn in self._turns.values()]
        return joint_state(stamp, list(self._turns), angles, frame=self._frame)

    def markers(self, k: int, contacts: Contacts) -> list[Message]:
        """Contact points, ligaments by their tension, names of the free bones."""
        run, frame = self.run, self._frame
        kind, size = MarkerType.SPHERE_LIST, np.full(3, _SPOT)
        spots = marker_message("contacts", 0, kind, CONTACT, size, frame=frame)
        markers = [point_list(spots, contacts.point)]
        if len(run.wrist.ligaments):
            ends = np.stack(run.wrist.ligaments.ends(run.moving(k)), axis=1)
            colours = np.repeat(tension_colours(run.tensions[k], self._scale), 2, 0)
            kind, size = MarkerType.LINE_LIST, np.array([_TIE, 0.0, 0.0])
            ties = marker_message("ligaments", 0, kind, _WHITE, size, frame=frame)
            solid = np.column_stack([colours[:, :3], np.ones(len(colours))])
            markers.append(ties | {"points": ends.reshape(-1, 3), "colors": solid})
        for n, bone in enumerate(run.wrist.bones):
            if bone.role == "free":
                pose, size = np.zeros(7), np.array([0.0, 0.0, _LETTER])
                pose[:3], pose[6] = run.x[k, n], 1.0
                kind = MarkerType.TEXT
                name = marker_message("names", n, kind, _WHITE, size, pose, frame)
                markers.append(name | {"text": bone.name})
        return markers
