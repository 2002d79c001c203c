# SPDX-License-Identifier: Apache-2.0
"""What the node ``walk`` publishes of its ticks: status, footsteps and markers."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
from humans_msgs.msg import WalkStatus
from std_msgs.msg import Header
from visualization_msgs.msg import MarkerArray

from humans_sim.control.walking import WalkCommand
from humans_sim.control.walking.placement import PlanPlacement, body_centre
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.support import SolePair
from humans_sim.nodes.common.conversions import time_of
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.walk.messages import WalkMarkers, walk_status
from humans_sim.nodes.walk.reports import BaseSample, WalkTick

_DEPTH, _DRAWINGS = 100, 10
"""Messages kept for a slow listener."""


class StatusTopics:
    """Publishes ticks.

    Args:
        node: whose topics they are.
        walking: how it walks.
        drawing_period: between two drawings [s].

    Attributes:
        placement: of the plan where the robot really is.
    """

    def __init__(
        self, node: ModelNode, walking: WalkSettings, drawing_period: float
    ) -> None:
        """Make the topics."""
        self._model, self._period = node.model, drawing_period
        self.placement = PlanPlacement(node.model, walking)
        corners = SolePair.of_model(node.model, walking).corners
        self._markers = WalkMarkers(dict(corners), walking.com_height)
        make = node.create_publisher
        self._status = make(WalkStatus, "walk_status", _DEPTH)
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
        """Publish what a tick was.

        Args:
            tick: the tick.
            seen: where the base was then, if that is known.
            frame: of what is published where it is not.

        Returns:
            The status, and the place of base_footprint, if that is known.
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
            self._draw(header, command, status)
        return status, place

    def _draw(self, header: Header, command: WalkCommand, status: WalkStatus) -> None:
        plan, placement = command.plan, self.placement
        if self._footsteps.get_subscription_count():
            self._footsteps.publish(self._markers.footsteps(header, plan, placement))
        if self._drawings.get_subscription_count():
            corners = [placement.point(np.append(c, 0.0)) for c in plan.support_polygon]
            self._drawings.publish(self._markers.balance(header, status, corners))
