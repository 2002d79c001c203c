# SPDX-License-Identifier: Apache-2.0
"""The terrain of a scene as markers, for RViz and the like."""

from __future__ import annotations

from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from humans_sim.contact import Ground, TriangleMesh
from humans_sim.view.browser.surroundings import TERRAIN_COLOUR

TERRAIN = "terrain"
"""Namespace of the markers."""


def terrain_markers(header: Header, ground: Ground) -> MarkerArray:
    """A list of triangles for each mesh of a scene.

    Args:
        header: frame of the world.
        ground: the scene.
    """
    meshes = [solid for solid in ground.solids if isinstance(solid, TriangleMesh)]
    return MarkerArray(markers=[_mesh(header, k, m) for k, m in enumerate(meshes)])


def _mesh(header: Header, k: int, mesh: TriangleMesh) -> Marker:
    marker = Marker(header=header, ns=TERRAIN, id=k, action=Marker.ADD)
    marker.type = Marker.TRIANGLE_LIST
    marker.pose.orientation.w = 1.0
    marker.scale.x = marker.scale.y = marker.scale.z = 1.0
    red, green, blue = (part / 255 for part in TERRAIN_COLOUR)
    marker.color = ColorRGBA(r=red, g=green, b=blue, a=1.0)
    corners = mesh.vertices[mesh.faces].reshape(-1, 3)
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in corners.tolist()]
    return marker
