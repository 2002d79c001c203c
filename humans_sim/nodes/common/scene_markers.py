# SPDX-License-Identifier: Apache-2.0
"""The boxes and the terrain of a scene as markers, for RViz and the like."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from humans_sim.contact import Box, Ground, TriangleMesh
from humans_sim.view.browser.surroundings import BOX_COLOUR, TERRAIN_COLOUR

BOXES, TERRAIN = "boxes", "terrain"
"""Namespaces of the markers."""


def scene_markers(ground: Ground, frame: str) -> MarkerArray:
    """A marker for each box and each mesh of a scene; half spaces have no end.

    Args:
        ground: the scene.
        frame: of the world.
    """
    markers = []
    for k, solid in enumerate(ground.solids):
        if isinstance(solid, Box):
            markers.append(_box(solid, k, frame))
        elif isinstance(solid, TriangleMesh):
            markers.append(_mesh(solid, k, frame))
    return MarkerArray(markers=markers)


def _marker(kind: str, k: int, frame: str, colour: tuple[int, int, int]) -> Marker:
    marker = Marker(ns=kind, id=k, action=Marker.ADD)
    marker.header.frame_id = frame
    red, green, blue = (part / 255 for part in colour)
    marker.color = ColorRGBA(r=red, g=green, b=blue, a=1.0)
    marker.pose.orientation.w = 1.0
    return marker


def _box(box: Box, k: int, frame: str) -> Marker:
    marker = _marker(BOXES, k, frame, BOX_COLOUR)
    marker.type = Marker.CUBE
    turn = np.eye(3) if box.rotation is None else np.asarray(box.rotation, float)
    quaternion = pin.Quaternion(turn)
    for axis, place, size in zip("xyz", box.centre, box.size, strict=True):
        setattr(marker.pose.position, axis, float(place))
        setattr(marker.scale, axis, float(size))
        setattr(marker.pose.orientation, axis, float(getattr(quaternion, axis)))
    marker.pose.orientation.w = float(quaternion.w)
    return marker


def _mesh(mesh: TriangleMesh, k: int, frame: str) -> Marker:
    marker = _marker(TERRAIN, k, frame, TERRAIN_COLOUR)
    marker.type = Marker.TRIANGLE_LIST
    marker.scale.x = marker.scale.y = marker.scale.z = 1.0
    corners = mesh.vertices[mesh.faces].reshape(-1, 3)
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in corners.tolist()]
    return marker
