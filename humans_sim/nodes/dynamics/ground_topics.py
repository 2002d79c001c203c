# SPDX-License-Identifier: Apache-2.0
"""What the node ``dynamics`` publishes of a ground that gives way.

The ground lives in this node and not in one of its own: at each of its samples, 1 ms
apart, its forces are those of one contact problem with the mass matrix of the body.
"""

from __future__ import annotations

import importlib
from typing import Any

from nav_msgs.msg import OccupancyGrid
from rclpy.node import Node
from sensor_msgs.msg import Image
from std_msgs.msg import Header

from humans_sim.nodes.common.conversions import time_of
from humans_sim.nodes.common.ground_messages import (
    depth_map,
    grid_map,
    ground_picture,
    heights_image,
)
from humans_sim.nodes.common.qos import latched
from humans_sim.soft.ground.deformable_ground import DeformableGround
from humans_sim.soft.ground.footprints import Footprints

_DEPTH = 5


def _grid_map_type() -> Any:
    """The message ``grid_map_msgs/GridMap``; None where it is not installed."""
    try:
        return importlib.import_module("grid_map_msgs.msg").GridMap
    except ImportError:
        return None


class GroundTopics:
    """Publishes the heights of a ground.

    Args:
        node: whose topics they are.
        world: frame of the ground truth.
        ground: what gives way.
        period: between two messages [s].
    """

    def __init__(
        self, node: Node, world: str, ground: DeformableGround, period: float
    ) -> None:
        """Make the topics."""
        self._world, self._ground = world, ground
        self._period, self._next = round(1e9 * period), 0
        make = node.create_publisher
        self._heights = make(Image, "ground/heights", _DEPTH)
        self._picture = make(Image, "ground/picture", _DEPTH)
        self._depth = make(OccupancyGrid, "ground/depth", latched())
        self._map_type, self._map = _grid_map_type(), None
        if self._map_type is not None:
            self._map = make(self._map_type, "ground/grid_map", latched())

    def publish(self, now: int) -> None:
        """Publish where it is time [ns]; images, where somebody listens."""
        if now < self._next and now > self._next - 2 * self._period:
            return
        self._next = now + self._period
        screen = self._ground.screen
        field = Footprints(screen.deviations, screen.spacing, self._ground.origin)
        header = Header(stamp=time_of(now), frame_id=self._world)
        for topic, make in (
            (self._heights, heights_image),
            (self._picture, ground_picture),
        ):
            if topic.get_subscription_count():
                topic.publish(make(header, field))
        # Maps are there for who comes later, too.
        self._depth.publish(depth_map(header, field))
        if self._map is not None:
            self._map.publish(grid_map(self._map_type, header, field))
