# SPDX-License-Identifier: Apache-2.0
"""A robot led along a path in real time, by the thread that waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from humans_sim.control.trajectories.joint_path import JointPath, Progress
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.kondo.driver.joint_path import PathFollower
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.driver.robot_health import RobotState
from humans_sim.kondo.driver.safety import JointCommandError

PERIOD = 0.02
"""Time between two commands [s]."""
_SETTLE = 10.0
"""Longest wait for joints that were bent out of their ranges [s]."""


class StreamError(HumansError, RuntimeError):
    """The robot does not follow its path any more."""


class Streamed(NamedTuple):
    """How a path was kept.

    Attributes:
        commands: that were given.
        late: how late the latest of them was [s].
    """

    commands: int
    late: float


class Rest:
    """What is left of a path from a time on."""

    def __init__(self, path: JointPath, begin: float) -> None:
        """Leave out the beginning.

        Args:
            path: the whole.
            begin: time of it that is the first now [s].
        """
        self._path, self._begin = path, begin

    @property
    def duration(self) -> float:
        """From there to the end [s]."""
        return max(self._path.duration - self._begin, 0.0)

    def angles(self, t: float) -> dict[str, float]:
        """Where the joints shall be [rad]."""
        return self._path.angles(self._begin + max(t, 0.0))


def energise(robot: KondoRobot) -> dict[str, float]:
    """Let the servos hold where they are; the set points [rad].

    A joint that was bent out of its range is first led back into it, slowly.

    Raises:
        LinkError: the boards do not answer.
        BoardError: what they report cannot be.
        StreamError: the joints did not come back, or the robot was lost.
    """
    robot.energise()
    end = time.monotonic() + _SETTLE
    while time.monotonic() < end:
        if robot.state != RobotState.HOLDING:
            raise StreamError(_why(robot))
        present = robot.set_points()
        try:
            robot.check(present)
        except JointCommandError:
            time.sleep(PERIOD)
            continue
        return present
    raise StreamError("joints that are out of their ranges do not come back")


def stream(
    robot: KondoRobot,
    path: JointPath,
    name: str,
    watch: Callable[[float, float], None] | None = None,
    period: float = PERIOD,
) -> Streamed:
    """Lead an energised robot along a path that begins where it is, to its end.

    Args:
        robot: holds, or follows.
        path: where the joints shall be.
        name: of the path.
        watch: is called with the time of the path, and its duration [s].
        period: between two commands [s].

    Raises:
        ParameterError: the period is none.
        RobotStateError: the robot is not energised.
        JointCommandError: the path leaves the joints' ranges.
        StreamError: the robot was stopped, held or lost on the way.
    """
    if not 1e-3 <= period <= 0.1:
        raise ParameterError(f"period must be 0.001 to 0.1 s, not {period}")
    follower = PathFollower(robot)
    follower.begin(path, name)
    due, commands, late = time.monotonic(), 0, 0.0
    while (progress := follower.tick()) is Progress.RUNNING:
        commands += 1
        if watch is not None:
            t = follower.time(time.monotonic()) or 0.0
            watch(min(t, path.duration), path.duration)
        due += period
        left = due - time.monotonic()
        late = max(late, -left)
        if left > 0.0:
            time.sleep(left)
        else:
            due -= left  # what is late once need not be late ever after
    if progress is not Progress.ARRIVED:
        raise StreamError(f"{name}: {follower.reason or _why(robot)}")
    return Streamed(commands, late)


def _why(robot: KondoRobot) -> str:
    health = robot.health()
    reason = f": {health.reason}" if health.reason else ""
    return f"the robot is {health.state.value}{reason}"
