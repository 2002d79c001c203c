# SPDX-License-Identifier: Apache-2.0
"""Free bodies and boxes of a scene as markers; messages are checked here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from humans_sim.contact.geometry.solids import Box
from humans_sim.core.errors import ConfigurationError
from humans_sim.dynamics.scenes.scene_bodies import SceneBody
from humans_sim.nodes.common.conversions import vector_of
from humans_sim.view.body_meshes import COLOURS
from humans_sim.view.browser.body_layer import SeenBody
from humans_sim.view.browser.surroundings import BOX_COLOUR

GROUND = "ground"
"""Namespace of what does not move."""
_MOST = 1000
"""A message with more bodies is refused."""


def body_marker(header: Header, number: int, body: SceneBody) -> Marker:
    """The marker of a body; its namespace is the body's name, its pose is left out."""
    record = body.record()
    ball = record["shape"] == "ball"
    size = [2.0 * record["radius"]] * 3 if ball else record["size"]
    kind = Marker.SPHERE if ball else Marker.CUBE
    colour = COLOURS[number % len(COLOURS)]
    return _marker(header, body.name, number, kind, size, colour)


def box_marker(header: Header, number: int, solid: Any) -> Marker | None:
    """The marker of a box of the ground; None for what is no box."""
    if not isinstance(solid, Box):
        return None
    marker = _marker(header, GROUND, number, Marker.CUBE, solid.size, BOX_COLOUR)
    marker.text = solid.name
    place, turn = marker.pose.position, marker.pose.orientation
    place.x, place.y, place.z = (float(x) for x in solid.centre)
    if solid.rotation is not None:
        rotation = pin.Quaternion(np.asarray(solid.rotation, dtype=float).reshape(3, 3))
        turn.x, turn.y, turn.z, turn.w = (float(x) for x in rotation.coeffs())
    return marker


def _marker(
    header: Header,
    space: str,
    number: int,
    kind: int,
    size: Any,
    colour: tuple[int, int, int],
) -> Marker:
    marker = Marker(header=Header(frame_id=header.frame_id), ns=space, id=number)
    marker.type, marker.action = kind, Marker.ADD
    marker.pose.orientation.w = 1.0
    marker.scale.x, marker.scale.y, marker.scale.z = (float(x) for x in size)
    red, green, blue = (float(c) / 255.0 for c in colour)
    marker.color = ColorRGBA(r=red, g=green, b=blue, a=1.0)
    return marker


def seen_bodies_of(message: MarkerArray) -> tuple[SeenBody, ...]:
    """Bodies and boxes of a message.

    Raises:
        ConfigurationError: a number makes no sense, or there are too many bodies.
    """
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
