# SPDX-License-Identifier: Apache-2.0
"""visualization_msgs/MarkerArray as bytes, with lists of points taken as they are.

The encoder of mcap_ros2 goes through every number by itself, which takes seconds for
the triangles of a robot. This one knows one message only; a test reads it with ROS 2.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_HEAD = b"\0\1\0\0"
"""Of a message in plain CDR, little-endian."""
_NO_TIME = {"sec": 0, "nanosec": 0}


class _Cdr:
    """Writes numbers at multiples of their sizes, counted from the message's begin."""

    def __init__(self) -> None:
        self.content = bytearray()

    def put(self, kind: str, *values: float) -> None:
        """Numbers of one kind, a letter of ``struct``."""
        size = struct.calcsize(kind)
        self.content += b"\0" * (-len(self.content) % size)
        self.content += struct.pack(f"<{len(values)}{kind}", *values)

    def text(self, text: str) -> None:
        """Text with its length and a zero at the end."""
        data = text.encode("utf-8") + b"\0"
        self.put("I", len(data))
        self.content += data

    def header(self, header: Mapping[str, Any]) -> None:
        """A std_msgs/Header."""
        self.put("i", header["stamp"]["sec"])
        self.put("I", header["stamp"]["nanosec"])
        self.text(header["frame_id"])

    def points(self, points: np.ndarray) -> None:
        """A list of geometry_msgs/Point."""
        self.put("I", len(points))
        if len(points):
            self.content += b"\0" * (-len(self.content) % 8)
            self.content += np.ascontiguousarray(points, "<f8").tobytes()


def marker_array_bytes(markers: Sequence[Mapping[str, Any]]) -> bytes:
    """The bytes of a message.

    Args:
        markers: with ``header``, ``ns``, ``id``, ``type``, ``action``, ``pose`` (7,),
            ``scale`` (3,), ``color`` (4,); and where they are wanted ``points`` (n, 3),
            ``colors`` of these (n, 4), ``text`` and ``frame_locked``.
    """
    cdr = _Cdr()
    cdr.put("I", len(markers))
    for marker in markers:
        _put_marker(cdr, marker)
    return _HEAD + bytes(cdr.content)


def _put_marker(cdr: _Cdr, marker: Mapping[str, Any]) -> None:
    cdr.header(marker["header"])
    cdr.text(marker["ns"])
    cdr.put("i", marker["id"], marker["type"], marker["action"])
    cdr.put("d", *marker["pose"], *marker["scale"])
    cdr.put("f", *marker["color"])
    cdr.put("i", 0)  # lifetime: as long as it is not changed
    cdr.put("I", 0)
    cdr.put("B", bool(marker.get("frame_locked", False)))
    cdr.points(np.asarray(marker.get("points", np.zeros((0, 3)))))
    colours = np.asarray(marker.get("colors", np.zeros((0, 4))))
    cdr.put("I", len(colours))
    cdr.content += np.ascontiguousarray(colours, "<f4").tobytes()
    cdr.text("")  # texture_resource
    cdr.header({"stamp": _NO_TIME, "frame_id": ""})  # texture
    cdr.text("")
    cdr.put("I", 0)
    cdr.put("I", 0)  # uv_coordinates
    cdr.text(marker.get("text", ""))
    cdr.text("")  # mesh_resource
    cdr.text("")  # mesh_file
    cdr.put("I", 0)
    cdr.put("B", 0)  # mesh_use_embedded_materials
