# SPDX-License-Identifier: Apache-2.0
"""Samples of a wrist's motion as messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import Point, TransformStamped
from humans_msgs.msg import ContactPoint, ContactStates
from sensor_msgs.msg import JointState
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from humans_sim.anatomy.detection.contacts import Contacts
from humans_sim.anatomy.wrist.plausibility import turns_of
from humans_sim.anatomy.wrist.wrist import Wrist
from humans_sim.anatomy.wrist.wrist_run import TOUCHING_GAP, WristRun
from humans_sim.nodes.common.conversions import set_vector, transform
from humans_sim.view.wrist_colours import (
    CONTACT,
    bone_colours,
    tension_colours,
    tension_scale,
)

_TIE, _SPOT, _LETTER = 6e-4, 1.2e-3, 4e-3
"""Widths of ligaments and contacts, height of letters [m]."""


def bone_markers(wrist: Wrist, prefix: str) -> MarkerArray:
    """The meshes of the bones, each in its own frame; they move with their frames."""
    markers = []
    for n, (bone, colour) in enumerate(
        zip(wrist.bones, bone_colours(wrist), strict=True)
    ):
        marker = _marker(Header(frame_id=prefix + bone.name), "bones", n)
        marker.type, marker.frame_locked = Marker.TRIANGLE_LIST, True
        marker.scale.x = marker.scale.y = marker.scale.z = 1.0
        marker.color = _colour(colour)
        corners = np.asarray(bone.mesh.vertices) - bone.mass.center
        marker.points = _points(corners[np.asarray(bone.mesh.faces).ravel()])
        markers.append(marker)
    return MarkerArray(markers=markers)


class SampleMessages:
    """Makes the messages of a motion's samples.

    Args:
        run: the motion.
        frame: of the wrist.
        prefix: before the names of the bones, in names of frames.
    """

    def __init__(self, run: WristRun, frame: str, prefix: str) -> None:
        """Look at the whole motion once."""
        self.run, self._frame, self._prefix = run, frame, prefix
        self._detector = run.wrist.detector()
        self._scale = tension_scale(run)
        self._turns = turns_of(run)
        self._pairs = self._touching_pairs()

    def _touching_pairs(self) -> list[tuple[int, int]]:
        """Pairs of bones that carry load at some time, in a fixed order."""
        if self.run.loads is None:
            return []
        loaded = self.run.loads.max(axis=0) > 0
        return [(i, j) for i, j in zip(*np.nonzero(loaded), strict=True) if i < j]

    def contacts(self, k: int) -> Contacts:
        """Balls that touch at a sample."""
        poses = self.run.wrist.poses(self.run.x[k], self.run.frames[k])
        return self._detector.detect(poses, margin=TOUCHING_GAP)

    def transforms(self, stamp: Any, k: int) -> list[TransformStamped]:
        """Frames of all bones, at their centres of mass."""
        return [
            transform(
                stamp,
                self._frame,
                self._prefix + name,
                pin.SE3(self.run.frames[k, n], self.run.x[k, n]),
            )
            for n, name in enumerate(self.run.wrist.names)
        ]

    def ligaments(self, stamp: Any, k: int) -> JointState:
        """Lengths [m] as positions and tensions [N] as efforts, by name."""
        ties = self.run.wrist.ligaments
        message = JointState(name=list(ties.names))
        message.header = Header(stamp=stamp, frame_id=self._frame)
        message.position = ties.lengths(self.run.moving(k)).tolist()
        message.effort = self.run.tensions[k].tolist()
        return message

    def turns(self, stamp: Any, k: int) -> JointState:
        """Turns of hand and free bones about the hand's axis [rad]."""
        message = JointState(name=["hand", *self._turns])
        message.header = Header(stamp=stamp, frame_id=self._frame)
        message.position = [
            float(self.run.angles[k]),
            *(float(turn[k]) for turn in self._turns.values()),
        ]
        return message

    def contact_states(self, stamp: Any, k: int, contacts: Contacts) -> ContactStates:
        """A contact for each pair of bones that ever carries load."""
        message = ContactStates(header=Header(stamp=stamp, frame_id=self._frame))
        names = self.run.wrist.names
        for i, j in self._pairs:
            rows = np.flatnonzero((contacts.body_i == i) & (contacts.body_j == j))
            point = ContactPoint(name=f"{names[i]}/{names[j]}", link_name=names[i])
            point.surface, point.mode = names[j], ContactPoint.OPEN
            if len(rows):
                normal = contacts.normal[rows].mean(axis=0)
                normal /= max(float(np.linalg.norm(normal)), 1e-12)
                point.mode = ContactPoint.SLIDING
                point.gap = -float(contacts.depth[rows].max())
                set_vector(point.position, contacts.point[rows].mean(axis=0))
                set_vector(point.normal, normal)
                assert self.run.loads is not None  # pairs are from it
                set_vector(point.force, float(self.run.loads[k, i, j]) * normal)
            else:
                point.gap = TOUCHING_GAP
            message.points.append(point)
        return message

    def markers(self, k: int, contacts: Contacts) -> MarkerArray:
        """Ligaments by their tension, contact points, names of the free bones."""
        run = self.run
        header = Header(frame_id=self._frame)
        made = []
        if len(run.wrist.ligaments):
            ties = _marker(header, "ligaments", 0)
            ties.type, ties.scale.x = Marker.LINE_LIST, _TIE
            one, other = run.wrist.ligaments.ends(run.moving(k))
            ties.points = _points(np.stack([one, other], axis=1).reshape(-1, 3))
            colours = tension_colours(run.tensions[k], self._scale)
            ties.colors = [_colour(c) for c in colours for _ in range(2)]
            made.append(ties)
        spots = _marker(header, "contacts", 0)
        spots.type, spots.color = Marker.SPHERE_LIST, _colour(np.array(CONTACT))
        spots.scale.x = spots.scale.y = spots.scale.z = _SPOT
        spots.points = _points(contacts.point)
        if not contacts.count:
            spots.action = Marker.DELETE
        made.append(spots)
        for n, bone in enumerate(run.wrist.bones):
            if bone.role == "free":
                word = _marker(header, "names", n)
                word.type, word.text = Marker.TEXT_VIEW_FACING, bone.name
                word.scale.z, word.color = _LETTER, _colour(np.ones(3))
                set_vector(word.pose.position, run.x[k, n])
                made.append(word)
        return MarkerArray(markers=made)


def _marker(header: Header, space: str, number: int) -> Marker:
    marker = Marker(header=header, ns=space, id=number, action=Marker.ADD)
    marker.pose.orientation.w = 1.0
    return marker


def _points(places: np.ndarray) -> list[Point]:
    return [Point(x=x, y=y, z=z) for x, y, z in np.asarray(places, float).tolist()]


def _colour(colour: np.ndarray) -> ColorRGBA:
    red, green, blue = (float(c) for c in colour)
    return ColorRGBA(r=red, g=green, b=blue, a=1.0)
