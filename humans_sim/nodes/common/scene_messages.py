# SPDX-License-Identifier: Apache-2.0
"""Messages of a scene: bodies that are seen, ground that gives way.

Messages are checked here.

Heights of a ground are a ``sensor_msgs/Image`` of floats (32FC1) [m], and a
``nav_msgs/OccupancyGrid`` says where they are. A ``grid_map_msgs/GridMap`` says both,
but it is not among the common interfaces of ROS 2: where it is installed, it is
published, too.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import Image
from std_msgs.msg import Float32MultiArray, Header, MultiArrayDimension
from visualization_msgs.msg import Marker, MarkerArray

from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.nodes.common.conversions import vector_of
from humans_sim.soft.ground.footprints import Footprints
from humans_sim.view.browser.bodies_page import SeenBody

_MOST = 1000
"""A message with more bodies is refused."""


def seen_bodies_of(message: MarkerArray) -> tuple[SeenBody, ...]:
    """Bodies and boxes of a message; refused where a number makes no sense."""
    if len(message.markers) > _MOST:
        raise ConfigurationError(f"{len(message.markers)} bodies are more than {_MOST}")
    bodies = []
    for marker in message.markers:
        if marker.action != Marker.ADD:
            continue
        if marker.type not in (Marker.CUBE, Marker.SPHERE):
            raise ConfigurationError(f"'{marker.ns}' is neither a box nor a ball")
        turn, colour = marker.pose.orientation, marker.color
        quaternion = np.array([turn.w, turn.x, turn.y, turn.z])
        channels = np.array([colour.r, colour.g, colour.b])
        if not (np.isfinite(quaternion).all() and np.isfinite(channels).all()):
            raise ConfigurationError(f"a number of '{marker.ns}' is not finite")
        red, green, blue = (round(255 * min(max(c, 0.0), 1.0)) for c in channels)
        bodies.append(
            SeenBody(
                f"{marker.ns}.{marker.id}",
                marker.type == Marker.SPHERE,
                vector_of(marker.scale),
                vector_of(marker.pose.position),
                quaternion,
                (red, green, blue),
            )
        )
    return tuple(bodies)


DEEPEST = 0.01
"""Depth that is 100 on a map [m]."""
_FLOATS, _COLOURS = "32FC1", "rgb8"


def heights_image(header: Header, field: Footprints) -> Image:
    """Heights above rest as floats, seen from above, x to the right [m]."""
    return _image(header, field.heights.T[::-1].astype(np.float32), _FLOATS)


def ground_picture(header: Header, field: Footprints) -> Image:
    """The footprints in slanting light, by the chroma operator ``light``."""
    return _image(header, field.picture(), _COLOURS)


def depth_map(header: Header, field: Footprints) -> OccupancyGrid:
    """Depths as a map: 0 at rest or above, 100 at :data:`DEEPEST` or below."""
    message = OccupancyGrid(header=header)
    message.info.map_load_time = header.stamp
    message.info.resolution = field.spacing
    message.info.width, message.info.height = field.heights.shape
    place = field.origin - 0.5 * field.spacing * np.array([1.0, 1.0, 0.0])
    corner = message.info.origin.position
    corner.x, corner.y, corner.z = (float(x) for x in place)
    message.info.origin.orientation.w = 1.0
    depth = np.clip(np.rint(-100.0 * field.heights.T / DEEPEST), 0, 100)
    message.data = depth.astype(np.int8).ravel().tolist()
    return message


def grid_map(kind: Any, header: Header, field: Footprints) -> Any:
    """The same as a ``grid_map_msgs/GridMap`` with a layer ``elevation``."""
    rows, columns = field.heights.shape
    message = kind()
    message.header = header
    message.info.resolution = field.spacing
    message.info.length_x = rows * field.spacing
    message.info.length_y = columns * field.spacing
    middle = field.origin + 0.5 * field.spacing * np.array([rows - 1, columns - 1, 0])
    place = message.info.pose.position
    place.x, place.y, place.z = (float(x) for x in middle)
    message.info.pose.orientation.w = 1.0
    # Their rows run from the largest x to the smallest, column after column.
    data = Float32MultiArray()
    data.layout.dim = [
        MultiArrayDimension(label="column_index", size=columns, stride=rows * columns),
        MultiArrayDimension(label="row_index", size=rows, stride=rows),
    ]
    turned = field.heights[::-1, ::-1].T + field.origin[2]
    data.data = turned.astype(np.float32).ravel().tolist()
    message.layers, message.basic_layers, message.data = ["elevation"], [], [data]
    return message


def footprints_in(heights: Image, place: OccupancyGrid) -> Footprints:
    """The field of two messages; refused where they do not belong together."""
    size = (place.info.width, place.info.height)
    if heights.encoding != _FLOATS or (heights.width, heights.height) != size:
        raise ParameterError("heights of a ground are not those of its map")
    values = np.frombuffer(bytes(heights.data), np.float32)
    if values.size != size[0] * size[1] or not np.isfinite(values).all():
        raise ParameterError("heights of a ground are damaged")
    field = values.reshape(heights.height, heights.width)[::-1].T.astype(float)
    spacing, corner = float(place.info.resolution), place.info.origin.position
    origin = np.array([corner.x, corner.y, corner.z])
    origin[:2] += 0.5 * spacing
    return Footprints(field, spacing, origin)


def _image(header: Header, values: np.ndarray, encoding: str) -> Image:
    values = np.ascontiguousarray(values)
    message = Image(header=header, encoding=encoding)
    message.height, message.width = values.shape[:2]
    message.is_bigendian = int(sys.byteorder == "big")
    message.step = values.strides[0]
    message.data = values.tobytes()
    return message
