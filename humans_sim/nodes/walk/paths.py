# SPDX-License-Identifier: Apache-2.0
"""Paths that the node ``walk`` follows: ``nav_msgs/Path`` to points of its plan."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from nav_msgs.msg import Path

from humans_sim.core.errors import ConfigurationError


def path_points(message: Path, frame: str, plan: pin.SE3) -> np.ndarray:
    """Points of a path in the world of the plan (n, 2) [m].

    Args:
        message: the path; its heights and headings are not used.
        frame: of the odometry, in which a path is wanted.
        plan: pose of the plan's world in that frame.

    Raises:
        ConfigurationError: it is in another frame, empty or not finite.
    """
    given = message.header.frame_id
    if given and given != frame:
        raise ConfigurationError(f"a path in '{frame}' is wanted, not in '{given}'")
    if not message.poses:
        raise ConfigurationError("the path has no poses")
    places = [pose.pose.position for pose in message.poses]
    points = np.array([(place.x, place.y, 0.0) for place in places])
    if not np.isfinite(points).all():
        raise ConfigurationError("a pose of the path is not finite")
    back = plan.inverse()
    return np.array([back.act(point)[:2] for point in points])
