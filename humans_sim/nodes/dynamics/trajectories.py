# SPDX-License-Identifier: Apache-2.0
"""Trajectories that the node ``dynamics`` leads its servos along, in simulated time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from humans_sim.control.trajectories.joint_trajectory import JointPath, Progress
from humans_sim.core.errors import ConfigurationError, HumansError
from humans_sim.nodes.common.trajectory_goals import (
    DrivenRobot,
    Present,
    TrajectoryGoals,
)
from humans_sim.nodes.common.trajectory_settings import TrajectorySettings
from humans_sim.nodes.dynamics.commands import CommandInbox

if TYPE_CHECKING:
    from humans_sim.nodes.dynamics.node import Dynamics
    from humans_sim.nodes.dynamics.robot import SimulatedRobot


class SimulatedFollower:
    """Leads the servos of a simulation along one path at a time.

    Args:
        now: gives the time of the published state [s].
        wake: called when there is something to follow.
    """

    def __init__(
        self,
        commands: CommandInbox,
        now: Callable[[], float],
        wake: Callable[[], None],
    ) -> None:
        self._commands, self._now, self._wake = commands, now, wake
        self._path: JointPath | None = None
        self._begun = 0.0
        self.reason = ""

    def begin(self, path: JointPath, name: str) -> None:
        """Lead along a path from the published state on, in place of any other."""
        self._path, self._begun = path, self._now()
        self._commands.lead(path.angles(0.0))
        self._wake()

    def tick(self) -> Progress:
        """Command what is due at the published state."""
        if self._path is None:
            return Progress.IDLE
        t = self._now() - self._begun
        self._commands.lead(self._path.angles(t))
        return Progress.ARRIVED if t >= self._path.duration else Progress.RUNNING

    def finish(self) -> None:
        """Lead no more; the servos hold."""
        self._path = None
        self._commands.release()

    def time(self, clock_time: float) -> float:
        """Time of the path at a time of the simulation [s]."""
        return clock_time - self._begun


class SimulatedTrajectories:
    """Serves ``follow_joint_trajectory`` and ``joint_trajectory``.

    Args:
        refuse: called with a topic and an error, for what is not taken.
        wake: called when there is something to follow.
    """

    def __init__(
        self,
        node: Dynamics,
        robot: SimulatedRobot,
        settings: TrajectorySettings,
        refuse: Callable[[str, HumansError], None],
        wake: Callable[[], None],
    ) -> None:
        self._node, self._robot = node, robot
        self._follower = SimulatedFollower(robot.commands, self._time, wake)
        self._goals = TrajectoryGoals(
            node,
            settings,
            self._driven,
            refuse,
            lambda: node.stamp,
            robot.settings.topic,
        )

    def _time(self) -> float:
        return self._node.stamp * 1e-9

    def tick(self) -> None:
        """Command what is due at the published state, and look how it goes."""
        self._goals.tick()

    def abort(self, reason: str) -> None:
        """Follow nothing."""
        self._goals.abort(reason)
        self._follower.finish()

    def _driven(self) -> DrivenRobot:
        node, robot, commands = self._node, self._robot, self._robot.commands
        names = robot.settings.model.joint_names
        if node.failure:
            raise ConfigurationError(node.failure)
        if node.settings.lockstep and commands.heard:
            raise ConfigurationError(
                f"another node commands the joints in lock-step ({commands.topic})"
            )

        def set_points() -> dict[str, float]:
            return dict(zip(names, commands.last.tolist(), strict=True))

        def actual() -> Present:
            joints = robot.configuration[7:].tolist()
            return Present(dict(zip(names, joints, strict=True)), self._time())

        return DrivenRobot(self._follower, set_points, actual)
