# SPDX-License-Identifier: Apache-2.0
"""Topics of the node ``walk``: plans, reports, status and diagnostics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import Point, Pose
from humans_msgs.msg import WalkStatus
from rclpy.node import Node
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from humans_sim.control.trajectories.trajectory import ContactPhase
from humans_sim.control.walking import PatternPoint, WalkCommand
from humans_sim.control.walking.com_estimator import (
    BodyCentre,
    PlanPlacement,
    body_centre,
    support_margin,
)
from humans_sim.control.walking.footsteps import Side, SolePair
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.nodes.common.conversions import (
    duration_of,
    marker_array,
    set_pose,
    set_vector,
    time_of,
)
from humans_sim.nodes.common.diagnostics import Diagnostics
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.walk.reports import BaseSample, WalkTick
from humans_sim.results.ros_files import (
    AT_REST,
    DELETE,
    MarkerType,
    Message,
    marker_message,
)

_SUPPORT = {
    ContactPhase.LEFT_FOOT: WalkStatus.LEFT_SUPPORT,
    ContactPhase.RIGHT_FOOT: WalkStatus.RIGHT_SUPPORT,
    ContactPhase.DOUBLE: WalkStatus.DOUBLE_SUPPORT,
}
_LEFT, _RIGHT = (0.12, 0.47, 0.71), (0.84, 0.15, 0.16)
_COM, _ZMP, _PLANNED = (0.58, 0.40, 0.74), (1.0, 0.50, 0.05), (0.17, 0.63, 0.17)
_LINE, _BALL = 0.012, 0.06
"""Width of lines and size of balls, relative to the height of the centre of mass."""
_OVER = 0.001
"""Drawings lie so far above the floor [m]."""


def pose_message(pose: pin.SE3) -> Pose:
    """Pose message."""
    message = Pose()
    set_pose(message, pin.SE3ToXYZQUAT(pose))
    return message


def walk_status(
    header: Header,
    command: WalkCommand,
    placement: PlanPlacement,
    centre: BodyCentre | None,
    solve_time: float,
    text: str,
) -> WalkStatus:
    """WalkStatus message of a tick.

    The header has the frame of the base's pose, in which the plan is placed. Where the
    centre of mass is not known, it is that of the plan. The solve time is wall time
    [s].
    """
    plan, message = command.plan, WalkStatus(header=header, message=text)
    message.phase = WalkStatus.FALLEN if command.fallen else int(plan.phase)
    message.support = _SUPPORT.get(plan.support, WalkStatus.NO_SUPPORT)
    message.steps = plan.steps
    if math.isfinite(plan.next_change):
        message.time_to_next_support = duration_of(max(plan.next_change, 0.0))
    velocity = message.commanded_velocity
    velocity.linear.x, velocity.linear.y = plan.velocity.vx, plan.velocity.vy
    velocity.angular.z = plan.velocity.wz
    if centre is None:
        turn = placement.pose.rotation
        centre = BodyCentre(placement.point(plan.com), turn @ plan.com_velocity)
    set_vector(message.center_of_mass, centre.position)
    set_vector(message.center_of_mass_velocity, centre.velocity)
    set_vector(message.zero_moment_point, placement.point(command.zmp))
    set_vector(message.zero_moment_point_reference, placement.point(plan.zmp))
    message.support_margin = support_margin(plan, command.zmp)
    message.solve_time = duration_of(solve_time)
    return message


class WalkMarkers:
    """Drawings of a plan for RViz and the like.

    Args:
        soles: outlines of the soles in their own frames, by side (n, 2) [m].
        size: height of the centre of mass [m].
    """

    def __init__(self, soles: dict[Side, np.ndarray], size: float) -> None:
        self._outlines = {
            side: np.column_stack([corners, np.full(len(corners), _OVER)])
            for side, corners in soles.items()
        }
        self._line, self._ball = _LINE * size, _BALL * size

    def footsteps(
        self, header: Header, plan: PatternPoint, placement: PlanPlacement
    ) -> MarkerArray:
        """Outlines of the steps under way and planned; older drawings are removed."""
        drawn = []
        for k, step in enumerate(plan.footsteps):
            pose = placement.pose * step.place.pose()
            colour = _LEFT if step.side is Side.LEFT else _RIGHT
            corners = [pose.act(corner) for corner in self._outlines[step.side]]
            drawn.append(self._outline("footsteps", k, corners, colour))
        message = marker_array(drawn, header)
        message.markers.insert(0, Marker(header=header, action=Marker.DELETEALL))
        return message

    def balance(self, header: Header, status: WalkStatus, corners: Any) -> MarkerArray:
        """Centre of mass, zero-moment points and the edge of the support.

        Corners of the support are in the header's frame (n, 3) [m].
        """
        com = status.center_of_mass
        below = Point(x=com.x, y=com.y, z=float(corners[0][2]))
        drawn = [
            self._dot("com", com, _COM),
            self._dot("com_on_floor", below, _COM),
            self._dot("zmp", status.zero_moment_point, _ZMP),
            self._dot("zmp_planned", status.zero_moment_point_reference, _PLANNED),
            self._outline("support", 0, corners, _PLANNED),
        ]
        return marker_array(drawn, header)

    def _dot(self, space: str, place: Point, colour: Sequence[float]) -> Message:
        scale, pose = np.full(3, self._ball), AT_REST.copy()
        unknown = math.isnan(place.x)
        if not unknown:
            pose[:3] = place.x, place.y, place.z
        marker = marker_message(space, 0, MarkerType.SPHERE, colour, scale, pose)
        return marker | ({"action": DELETE} if unknown else {})

    def _outline(
        self, space: str, number: int, corners: Any, colour: Sequence[float]
    ) -> Message:
        scale, kind = np.array([self._line, 0.0, 0.0]), MarkerType.LINE_STRIP
        marker = marker_message(space, number, kind, colour, scale)
        return marker | {"points": np.array([*corners, corners[0]])}


_STATUS_DEPTH, _DRAWINGS = 100, 10
"""Messages kept for a slow listener."""


class StatusTopics:
    """Publishes ticks.

    Args:
        drawing_period: between two drawings [s].

    Attributes:
        placement: of the plan where the robot really is.
    """

    def __init__(
        self, node: ModelNode, walking: WalkSettings, drawing_period: float
    ) -> None:
        self._model, self._period = node.model, drawing_period
        self.placement = PlanPlacement(node.model, walking)
        corners = SolePair.of_model(node.model, walking).corners
        self._markers = WalkMarkers(dict(corners), walking.com_height)
        make = node.create_publisher
        self._status = make(WalkStatus, "walk_status", _STATUS_DEPTH)
        self._footsteps = make(MarkerArray, "footsteps", _DRAWINGS)
        self._drawings = make(MarkerArray, "walk_markers", _DRAWINGS)
        self._drawn = -math.inf

    def begin(self) -> None:
        """The time begins anew."""
        self.placement.reset()
        self._drawn = -math.inf

    def publish(
        self, tick: WalkTick, seen: BaseSample | None, frame: str
    ) -> tuple[WalkStatus, pin.SE3 | None]:
        """Publish a tick; its status, and the place of base_footprint, if known.

        Where the base was then may not be known: ``frame`` is for what is published
        then.
        """
        command, centre, place = tick.command, None, None
        header = Header(
            frame_id=frame if seen is None else seen.frame, stamp=time_of(tick.stamp)
        )
        if seen is not None:
            q = np.concatenate([seen.base, tick.joints])
            v = np.concatenate([seen.twist, tick.speeds])
            self.placement.see(command.plan, q)
            centre = body_centre(self._model, q, v)
            place = self._model.base_footprint(q)
        status = walk_status(
            header, command, self.placement, centre, tick.spent, tick.text
        )
        if tick.lies:
            status.phase = WalkStatus.FALLEN
        self._status.publish(status)
        if tick.t >= self._drawn + self._period:
            self._drawn = tick.t
            plan, placement = command.plan, self.placement
            if self._footsteps.get_subscription_count():
                self._footsteps.publish(
                    self._markers.footsteps(header, plan, placement)
                )
            if self._drawings.get_subscription_count():
                corners = [
                    placement.point(np.append(c, 0.0)) for c in plan.support_polygon
                ]
                self._drawings.publish(self._markers.balance(header, status, corners))
        return status, place


class WalkDiagnostics(Diagnostics):
    """Counts ticks and starts, and what goes wrong."""

    def __init__(self, node: Node, model: str) -> None:
        super().__init__(node, "walk", model)
        self._spent = self._longest = 0.0

    def spend(self, seconds: float) -> None:
        """Count the wall time of a tick."""
        self.counts["ticks"] += 1
        self._spent += seconds
        self._longest = max(self._longest, seconds)

    def report(self, state: str, failure: str, warning: str, t: float) -> None:
        """Report how it is at the time of the last tick [s]."""
        mean = 1e3 * self._spent / max(self.new("ticks"), 1)
        values = {
            "time [s]": f"{t:.9g}",
            **self.counted("ticks", "blind_ticks", "starts"),
            "mean_tick [ms]": f"{mean:.3g}",
            "longest_tick [ms]": f"{1e3 * self._longest:.3g}",
            **self.refusals(),
        }
        self.publish(state, failure, warning or self.refused(), values)
        self._spent = self._longest = 0.0
