# SPDX-License-Identifier: Apache-2.0
"""Between messages and joint trajectories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectoryPoint

from humans_sim.control.trajectories.joint_trajectory import (
    JointTrajectory,
    JointTrajectoryError,
    Waypoint,
)
from humans_sim.nodes.common.conversions import nanoseconds_of


def waypoints_of(message: Any) -> list[Waypoint]:
    """Points of a JointTrajectory message."""
    return [
        Waypoint(
            nanoseconds_of(point.time_from_start) / 1e9,
            point.positions,
            point.velocities,
            point.accelerations,
            point.effort,
        )
        for point in message.points
    ]


def start_of(message: Any, now: int) -> float | None:
    """When a JointTrajectory message starts, from now [s]; None: now.

    Args:
        message: with its stamp.
        now: time [ns].
    """
    stamp = nanoseconds_of(message.header.stamp)
    return (stamp - now) / 1e9 if stamp else None


def tolerances_of(entries: Sequence[Any]) -> list[tuple[str, float]]:
    """Joints and positions of JointTolerance messages."""
    return [(entry.name, entry.position) for entry in entries]


def check_single(goal: Any) -> None:
    """Joints of several degrees of freedom are no part of these robots.

    Raises:
        JointTrajectoryError: the goal has some.
    """
    if goal.multi_dof_trajectory.joint_names or goal.multi_dof_trajectory.points:
        raise JointTrajectoryError(
            "the robot has no joints of several degrees of freedom"
        )


def feedback_message(
    stamp: Any, trajectory: JointTrajectory, t: float, actual: Mapping[str, float]
) -> Any:
    """Feedback of the action: where the joints should be, and where they are."""
    desired = trajectory.at(t)
    there = np.array([actual[name] for name in trajectory.names])
    feedback = FollowJointTrajectory.Feedback(
        header=Header(stamp=stamp), joint_names=list(trajectory.names)
    )
    feedback.desired = _point(t, desired.positions)
    feedback.desired.velocities = desired.velocities.tolist()
    feedback.desired.accelerations = desired.accelerations.tolist()
    feedback.actual = _point(t, there)
    feedback.error = _point(t, desired.positions - there)
    return feedback


def _point(t: float, positions: np.ndarray) -> JointTrajectoryPoint:
    point = JointTrajectoryPoint(positions=positions.tolist())
    seconds, rest = divmod(round(t * 1e9), 1_000_000_000)
    point.time_from_start.sec, point.time_from_start.nanosec = seconds, rest
    return point
