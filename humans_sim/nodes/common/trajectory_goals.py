# SPDX-License-Identifier: Apache-2.0
"""Trajectory goals of a node: ``follow_joint_trajectory`` and its topic.

As ros2_control's joint_trajectory_controller: goals that cannot be followed are
rejected; a new one takes the place of the old, which is aborted; cancelled, the robot
stays where it is.

Also messages from and to joint trajectories.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from control_msgs.action import FollowJointTrajectory
from rclpy.action import GoalResponse
from rclpy.node import Node
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage
from trajectory_msgs.msg import JointTrajectoryPoint

from humans_sim.control.trajectories.joint_trajectory import (
    GoalCode,
    JointPath,
    JointTrajectory,
    JointTrajectoryError,
    Progress,
    Tolerances,
    Verdict,
    Waypoint,
)
from humans_sim.core.errors import HumansError
from humans_sim.nodes.common.conversions import nanoseconds_of, time_of
from humans_sim.nodes.common.services import PatientServer
from humans_sim.nodes.common.trajectory_settings import TrajectorySettings


def _point(t: float, positions: np.ndarray) -> JointTrajectoryPoint:
    point = JointTrajectoryPoint(positions=positions.tolist())
    seconds, rest = divmod(round(t * 1e9), 1_000_000_000)
    point.time_from_start.sec, point.time_from_start.nanosec = seconds, rest
    return point


Result = FollowJointTrajectory.Result
_FEEDBACK = 0.05
"""Time between two feedbacks [s]."""
_NAME = "trajectory"
"""Of the paths led here."""
_DEPTH = 10


class Present(NamedTuple):
    """Where the joints are, as well as it is known.

    Attributes:
        angles: [rad].
        time: by the clock of the follower [s].
    """

    angles: Mapping[str, float]
    time: float


class Follower(Protocol):
    """Leads joints along one path at a time."""

    reason: str
    """Why the last path was broken."""

    def begin(self, path: JointPath, name: str) -> None:
        """Lead along a path, in place of any other."""

    def tick(self) -> Progress:
        """Command what is due now."""

    def finish(self) -> None:
        """Lead no more; the joints stay where they are."""

    def time(self, clock_time: float) -> float | None:
        """Time of the path at a time of the clock; None before it begins [s]."""


class DrivenRobot(NamedTuple):
    """The robot as goals see it.

    Attributes:
        set_points: gives its set points; raises where it follows nothing.
        actual: gives where it is.
    """

    follower: Follower
    set_points: Callable[[], Mapping[str, float]]
    actual: Callable[[], Present]


@dataclass
class _Goal:
    """A trajectory that is followed; the handle is None where it came by topic."""

    handle: Any
    trajectory: JointTrajectory
    tolerances: Tolerances
    reported: float = -math.inf


class TrajectoryGoals:
    """Serves the action and the topic ``joint_trajectory``.

    Args:
        driven: gives the robot, or raises where there is none to lead.
        refuse: called with a topic and an error, for what is not taken.
        now: gives the time of stamps [ns].
        topic: gives action and topic the names that they have.
    """

    def __init__(
        self,
        node: Node,
        settings: TrajectorySettings,
        driven: Callable[[], DrivenRobot],
        refuse: Callable[[str, HumansError], None],
        now: Callable[[], int],
        topic: Callable[[str], str] = str,
    ) -> None:
        self._node, self._now = node, now
        self._rules, self._usual = settings.rules, settings.tolerances
        self._driven, self._refuse = driven, refuse
        self._goal: _Goal | None = None
        self._action = topic("follow_joint_trajectory")
        self._server = PatientServer(
            node,
            FollowJointTrajectory,
            self._action,
            self._on_goal,
            goal_callback=self._on_request,
        )
        node.create_subscription(
            TrajectoryMessage, topic("joint_trajectory"), self._on_message, _DEPTH
        )

    @property
    def active(self) -> bool:
        """Whether a trajectory is followed."""
        return self._goal is not None

    def abort(self, reason: str) -> None:
        """Give the trajectory up, if there is one; nothing is sent to the robot."""
        goal, self._goal = self._goal, None
        if goal is not None:
            self._end(goal, Verdict(GoalCode.INVALID_GOAL, reason))

    def tick(self) -> None:
        """Lead along the trajectory, and look how it goes."""
        goal = self._goal
        if goal is None:
            return
        driven = self._driven()
        if goal.handle is not None and goal.handle.is_cancel_requested:
            self._goal = None
            driven.follower.finish()
            self._end(goal, Verdict(GoalCode.SUCCESSFUL, "cancelled"), cancelled=True)
            return
        progress = driven.follower.tick()
        if progress is Progress.BROKEN:
            self.abort(driven.follower.reason)
            return
        verdict = self._judge(goal, driven)
        if verdict is None:
            return
        if verdict.code is GoalCode.SUCCESSFUL and progress is not Progress.ARRIVED:
            return
        self._goal = None
        driven.follower.finish()
        self._end(goal, verdict)

    # -- what comes in ---------------------------------------------------------------

    def _on_request(self, request: Any) -> GoalResponse:
        try:
            self._planned(request.trajectory, request)
        except HumansError as error:
            self._refuse(self._action, error)
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _on_goal(self, handle: Any) -> None:
        handle.execute()
        request = handle.request
        try:
            self._begin(handle, request.trajectory, request)
        except HumansError as error:  # it came between the request and now
            code = getattr(error, "code", GoalCode.INVALID_GOAL)
            self._give(handle, Verdict(code, str(error)), False)

    def _on_message(self, message: TrajectoryMessage) -> None:
        try:
            self._begin(None, message, None)
        except HumansError as error:
            self._refuse("joint_trajectory", error)

    def _planned(self, message: Any, request: Any) -> tuple[JointTrajectory, Any]:
        tolerances = self._usual
        if request is not None:
            several = request.multi_dof_trajectory
            if several.joint_names or several.points:
                raise JointTrajectoryError(
                    "the robot has no joints of several degrees of freedom"
                )
            seconds = request.goal_time_tolerance
            tolerances = self._usual.with_goal(
                [(entry.name, entry.position) for entry in request.path_tolerance],
                [(entry.name, entry.position) for entry in request.goal_tolerance],
                seconds.sec + seconds.nanosec / 1e9,
                self._rules.limits,
            )
        present = self._driven().set_points()
        stamp = nanoseconds_of(message.header.stamp)
        start = (stamp - self._now()) / 1e9 if stamp else None
        names = list(message.joint_names)
        trajectory = self._rules.plan(
            names,
            [
                Waypoint(
                    nanoseconds_of(point.time_from_start) / 1e9,
                    point.positions,
                    point.velocities,
                    point.accelerations,
                    point.effort,
                )
                for point in message.points
            ],
            present,
            start,
        )
        return trajectory, tolerances

    def _begin(self, handle: Any, message: Any, request: Any) -> None:
        trajectory, tolerances = self._planned(message, request)
        self._driven().follower.begin(trajectory, _NAME)  # or it is refused whole
        self.abort("another trajectory took its place")
        self._goal = _Goal(handle, trajectory, tolerances)

    # -- how it goes -----------------------------------------------------------------

    def _judge(self, goal: _Goal, driven: DrivenRobot) -> Verdict | None:
        actual = driven.actual()
        t = driven.follower.time(actual.time)
        if t is None or t < 0.0:  # not begun yet, or looked at before
            return None
        if goal.handle is not None and t >= goal.reported + _FEEDBACK:
            goal.reported, stamp = t, time_of(self._now())
            # Feedback of the action: where the joints should be, and where they are.
            trajectory = goal.trajectory
            desired = trajectory.at(t)
            there = np.array([actual.angles[name] for name in trajectory.names])
            feedback = FollowJointTrajectory.Feedback(
                header=Header(stamp=stamp), joint_names=list(trajectory.names)
            )
            feedback.desired = _point(t, desired.positions)
            feedback.desired.velocities = desired.velocities.tolist()
            feedback.desired.accelerations = desired.accelerations.tolist()
            feedback.actual = _point(t, there)
            feedback.error = _point(t, desired.positions - there)
            goal.handle.publish_feedback(feedback)
        return goal.tolerances.judge(goal.trajectory, t, actual.angles)

    def _end(self, goal: _Goal, verdict: Verdict, cancelled: bool = False) -> None:
        log = self._node.get_logger()
        if verdict.code is not GoalCode.SUCCESSFUL:
            log.warning(f"trajectory: {verdict.code.name}: {verdict.reason}")
        if goal.handle is not None:
            self._give(goal.handle, verdict, cancelled)

    def _give(self, handle: Any, verdict: Verdict, cancelled: bool) -> None:
        result = Result(error_code=int(verdict.code), error_string=verdict.reason)

        done = verdict.code is GoalCode.SUCCESSFUL and not cancelled
        self._server.finish(handle, result, done, cancelled)
