# SPDX-License-Identifier: Apache-2.0
"""What the viewer hears, as it is shown. Messages are checked here."""

from __future__ import annotations

from typing import Any

import numpy as np
from humans_msgs.msg import ContactStates, WalkStatus
from visualization_msgs.msg import Marker, MarkerArray

from humans_sim.core.errors import ConfigurationError
from humans_sim.nodes.common import marker_messages
from humans_sim.nodes.common.conversions import vector_of
from humans_sim.view.browser.marker_layer import SeenMarkers
from humans_sim.view.browser.planned_steps import PlannedStep
from humans_sim.view.browser.robot_panel import SeenRobot
from humans_sim.view.browser.touches import Touches

PHASES = {
    WalkStatus.IDLE: "idle",
    WalkStatus.STANDING: "standing",
    WalkStatus.STARTING: "starting",
    WalkStatus.WALKING: "walking",
    WalkStatus.STOPPING: "stopping",
    WalkStatus.FALLEN: "fallen",
}
_SIMULATION = ": simulation"
"""How the name of a simulation's status on ``/diagnostics`` ends."""

_ROBOT = ": robot"
"""How the name of a real robot's status ends."""
_LONGEST = 300
"""Characters of a text that is shown."""
_OUTLINE = 4
"""Least points of an outline that closes where it began."""
_MOST = 50_000
"""Points that are drawn of a message."""


def _check_count(count: int) -> None:
    if count > _MOST:
        raise ConfigurationError(f"{count} points are more than {_MOST}")


def touches_of(message: ContactStates) -> Touches:
    """Contacts of a message.

    Raises:
        ConfigurationError: a number is not finite, or there are too many points.
    """
    points = message.points
    _check_count(len(points))

    def vectors(field: str) -> np.ndarray:
        rows = [vector_of(getattr(point, field)) for point in points]
        return np.array(rows).reshape(-1, 3)

    gap = np.array([point.gap for point in points], float)
    if not np.isfinite(gap).all():
        raise ConfigurationError("a gap is not finite")
    return Touches(
        tuple(point.name for point in points),
        tuple(point.link_name for point in points),
        tuple(point.surface for point in points),
        gap,
        vectors("position"),
        vectors("normal"),
        vectors("force"),
    )


def planned_of(message: MarkerArray) -> tuple[PlannedStep, ...]:
    """Outlines of planned steps: the line strips of a message.

    Raises:
        ConfigurationError: a number is not finite, or there are too many points.
    """
    _check_count(sum(1 + len(marker.points) for marker in message.markers))
    steps = []
    for marker in message.markers:
        if marker.action != Marker.ADD or marker.type != Marker.LINE_STRIP:
            continue
        if len(marker.points) < _OUTLINE:
            continue
        corners = np.array([vector_of(point) for point in marker.points])
        colour = (marker.color.r, marker.color.g, marker.color.b)
        if not np.isfinite(colour).all():
            raise ConfigurationError("a colour is not finite")
        red, green, blue = (round(255 * min(max(c, 0.0), 1.0)) for c in colour)
        # A strip closes where it began.
        steps.append(PlannedStep(corners[:-1].reshape(-1, 3), (red, green, blue)))
    return tuple(steps)


def seen_markers_of(message: MarkerArray) -> SeenMarkers:
    """Optical markers beside a reconstructed body, of their drawings.

    Raises:
        ConfigurationError: a number is not finite, a line has one end, or there are
            too many points.
    """
    _check_count(sum(1 + len(marker.points) for marker in message.markers))
    positions = {
        marker.ns: np.array([vector_of(p) for p in marker.points]).reshape(-1, 3)
        for marker in message.markers
        if marker.action == Marker.ADD
    }

    def points(kind: str) -> np.ndarray:
        return positions.get(kind, np.zeros((0, 3)))

    def lines(kind: str) -> np.ndarray:
        ends = points(kind)
        if len(ends) % 2:
            raise ConfigurationError(f"a line of '{kind}' has one end")
        return ends.reshape(-1, 2, 3)

    return SeenMarkers(
        measured=points(marker_messages.MEASURED),
        rejected=points(marker_messages.REJECTED),
        unknown=points(marker_messages.UNKNOWN),
        occluded=points(marker_messages.OCCLUDED),
        residuals=lines(marker_messages.RESIDUALS),
        mistakes=lines(marker_messages.MISTAKES),
    )


def seen_robot(message: Any) -> SeenRobot | None:
    """How a real robot is, of a message on ``/diagnostics``.

    Returns:
        None where the message is of something else.
    """
    for status in message.status:
        if status.name.endswith(_ROBOT):
            values = {item.key: item.value[:_LONGEST] for item in status.values}
            return SeenRobot(
                *(values.get(key, "") for key in ("state", "reason", "energize"))
            )
    return None


def simulation_state(message: Any) -> tuple[str, str] | None:
    """State of a simulation and what failed, of a message on ``/diagnostics``.

    Returns:
        None where the message is of something else.
    """
    for status in message.status:
        if status.name.endswith(_SIMULATION):
            values = {item.key: item.value for item in status.values}
            failed = status.level == status.ERROR
            return values.get("state", ""), status.message if failed else ""
    return None
