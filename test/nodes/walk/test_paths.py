# SPDX-License-Identifier: Apache-2.0
"""A ``nav_msgs/Path`` in the world of a plan."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs

pytest.importorskip("rclpy")
pin = pytest.importorskip("pinocchio")

from geometry_msgs.msg import PoseStamped  # noqa: E402
from nav_msgs.msg import Path  # noqa: E402

from humans_sim.nodes.walk.node import path_points  # noqa: E402


def path_of(points: list[tuple[float, float]], frame: str = "odom") -> Path:
    """A path in a frame."""
    path = Path()
    path.header.frame_id = frame
    for x, y in points:
        pose = PoseStamped()
        pose.pose.position.x, pose.pose.position.y = x, y
        path.poses.append(pose)
    return path


def test_points_are_those_of_the_plan() -> None:
    """A plan that lies turned by a quarter and shifted in the odometry's frame."""
    plan = pin.SE3(pin.utils.rotate("z", math.pi / 2), np.array([1.0, 2.0, 0.01]))
    points = path_points(path_of([(1.0, 2.5), (0.5, 2.0)]), "odom", plan)
    np.testing.assert_allclose(points, [[0.5, 0.0], [0.0, 0.5]], atol=1e-12)


@pytest.mark.parametrize(
    "path, why",
    [
        (path_of([(0.0, 0.0)], "map"), "not in 'map'"),
        (path_of([]), "no poses"),
        (path_of([(math.nan, 0.0)]), "not finite"),
    ],
)
def test_other_paths_are_refused(path: Path, why: str) -> None:
    """Another frame, no poses, no numbers."""
    with pytest.raises(hs.errors.ConfigurationError, match=why):
        path_points(path, "odom", pin.SE3.Identity())
