# SPDX-License-Identifier: Apache-2.0
"""Paths of a robot: trajectories, motions, the path home.

Followed in real time, by the thread that waits for it. Motions are checked before
anything moves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from humans_sim.control.trajectories.joint_trajectory import (
    JointLimits,
    JointPath,
    JointTrajectory,
    Progress,
    TrajectoryRules,
    Waypoint,
)
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.kondo.driver.board import MOVABLE, RobotState
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.driver.robot_settings import RobotSettings
from humans_sim.kondo.driver.safety import JointCommandError
from humans_sim.kondo.driver.self_collision import check_clear
from humans_sim.kondo.motion.motion_file import KondoMotion
from humans_sim.kondo.motion.player import MotionPlayer
from humans_sim.models import Model

RATES = (0.01, 100.0)
"""Speeds of a motion relative to the recorded one."""
MOST_REPETITIONS = 1000
_THERE = 1e-3
"""A set point so near to its target is there [rad]."""
_LATE = 1.0
"""Set points that limits keep from the end are waited for so long [s]."""
_SHORTEST = 0.2
"""Least time of the path home [s]."""


class MotionPath:
    """A motion of the boards, from the present set points.

    Limits of the robot may keep its set points behind a motion that is too fast.

    Args:
        present: set points of the joints [rad].
        rate: speed relative to the recorded one.

    Raises:
        ParameterError: a number is out of its range, or a pose is.
    """

    def __init__(
        self,
        model: Model,
        settings: RobotSettings,
        motion: KondoMotion,
        present: Mapping[str, float],
        rate: float = 1.0,
        repetitions: int = 1,
    ) -> None:
        if not RATES[0] <= rate <= RATES[1]:
            raise ParameterError(
                f"rate must be {RATES[0]:g} to {RATES[1]:g}, not {rate:g}"
            )
        if not 1 <= repetitions <= MOST_REPETITIONS:
            raise ParameterError(
                f"repetitions must be 1 to {MOST_REPETITIONS}, not {repetitions}"
            )
        begin = settings.channels.values(present)
        self._player = MotionPlayer(
            model, motion, settings.channels, repeat=repetitions, begin=begin
        )
        places = {name: k for k, name in enumerate(model.joint_names)}
        self._places = {name: places[name] for name in settings.joint_names}
        self._rate = rate

    @property
    def duration(self) -> float:
        """From the beginning to the last pose [s]."""
        return self._player.duration / self._rate

    def angles(self, t: float) -> dict[str, float]:
        """Where the joints shall be [rad]."""
        angles = self._player.at(t * self._rate)
        return {name: float(angles[k]) for name, k in self._places.items()}


def joint_limits(settings: RobotSettings) -> dict[str, JointLimits]:
    """Ranges and speeds of a robot's joints."""
    speed = float(np.radians(settings.limits.speed))
    limits = {}
    for channel in settings.channels.channels.values():
        ends = sorted((channel.angle(channel.lower), channel.angle(channel.upper)))
        limits[channel.joint] = JointLimits(ends[0], ends[1], speed)
    return limits


def path_home(settings: RobotSettings, present: Mapping[str, float]) -> JointTrajectory:
    """A slow path to the zero position, from the present set points [rad]."""
    return path_to(settings, present, dict.fromkeys(settings.joint_names, 0.0))


def path_to(
    settings: RobotSettings, present: Mapping[str, float], target: Mapping[str, float]
) -> JointTrajectory:
    """A slow path to a pose; joints that it does not name stay.

    Args:
        settings: of the robot.
        present: set points of the joints [rad].
        target: where some of them shall be [rad].

    Raises:
        JointTrajectoryError: an angle is out of the joint's range.
    """
    names = settings.joint_names
    end = {**present, **target}
    largest = max(abs(end[name] - present[name]) for name in names)
    # Half as fast again in the middle as in the mean.
    duration = max(1.5 * largest / np.radians(settings.limits.approach), _SHORTEST)
    point = Waypoint(duration, [end[name] for name in names], [0.0] * len(names))
    return TrajectoryRules(joint_limits(settings)).plan(names, [point], present)


class PathFollower:
    """Leads a robot along one path at a time; call :meth:`tick` steadily.

    Args:
        clock: the time [s].

    Attributes:
        name: of the path; empty where there is none.
        reason: why the last path was broken.
    """

    def __init__(
        self, robot: KondoRobot, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._robot, self._clock = robot, clock
        self._path: JointPath | None = None
        self._begun: float | None = None
        self.name = self.reason = ""

    def begin(self, path: JointPath, name: str) -> None:
        """Lead along a path, in place of any other; a refused one changes nothing.

        Raises:
            RobotStateError: the robot follows no command now.
            SelfCollisionError: links of the robot would touch on the path.
        """
        if self._robot.state in MOVABLE:
            self._robot.check_path(path)
        # Where it is: the slow approach of every first command has no length.
        self._robot.command(self._robot.set_points())
        self.drop()
        self._path, self.name, self.reason = path, name, ""

    def drop(self) -> None:
        """Lead no more; nothing is sent to the robot."""
        self._path, self._begun, self.name = None, None, ""

    def finish(self) -> None:
        """Lead no more, and let the robot stay where it is."""
        self.drop()
        if self._robot.state == RobotState.FOLLOWING:
            self._robot.hold()

    def time(self, clock_time: float) -> float | None:
        """Time of the path at a time of the clock; None before it begins [s]."""
        return None if self._begun is None else clock_time - self._begun

    def tick(self) -> Progress:
        """Command what is due now."""
        path = self._path
        if path is None:
            return Progress.IDLE
        if self._robot.state != RobotState.FOLLOWING:
            return self._break(_why(self._robot))
        try:
            return self._lead(path)
        except HumansError as error:  # it came between
            return self._break(str(error))

    def _break(self, reason: str) -> Progress:
        self.drop()
        self.reason = reason
        return Progress.BROKEN

    def _lead(self, path: JointPath) -> Progress:
        now = self._clock()
        if self._begun is None:
            if self._robot.approaching():
                self._robot.command(path.angles(0.0))
                return Progress.RUNNING
            self._begun = now
        t = now - self._begun
        self._robot.command(path.angles(t))
        if t < path.duration:
            return Progress.RUNNING
        points, end = self._robot.set_points(), path.angles(path.duration)
        there = all(abs(points.get(k, v) - v) <= _THERE for k, v in end.items())
        over = there or t > path.duration + _LATE
        return Progress.ARRIVED if over else Progress.RUNNING


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
    """The rest of a path from a time on.

    Args:
        begin: time of it that is the first now [s].
    """

    def __init__(self, path: JointPath, begin: float) -> None:
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


_SAME = 1e-9


def check_motion(
    model: Model, settings: RobotSettings, motion: KondoMotion, rate: float = 1.0
) -> None:
    """Refuse a motion that leaves the ranges or speeds of joints, or lets links touch.

    Args:
        model: of the robot.
        settings: its channels and limits.
        motion: what shall be played.
        rate: speed relative to the recorded one.

    Raises:
        ParameterError: it does; the message names the pose, and what can be done.
        SelfCollisionError: links touch; the message names them.
    """
    if not (math.isfinite(rate) and rate > 0.0):
        raise ParameterError(f"rate must be above zero, not {rate}")
    player = MotionPlayer(model, motion, settings.channels)
    _check_speed(model, settings, motion, player, rate)
    first = dict.fromkeys(settings.joint_names, 0.0)
    first |= settings.channels.angles(motion.poses[0].channels)
    check_clear(settings, MotionPath(model, settings, motion, first))


def _check_speed(
    model: Model,
    settings: RobotSettings,
    motion: KondoMotion,
    player: MotionPlayer,
    rate: float,
) -> None:
    spans = np.diff(player.times)
    changes = np.degrees(np.abs(np.diff(player.angles, axis=0)))
    moving = spans > _SAME
    if not moving.any():
        return
    speeds = changes[moving] / spans[moving, np.newaxis]
    k, joint = np.unravel_index(int(np.argmax(speeds)), speeds.shape)
    fastest, limit = float(speeds[k, joint]), settings.limits.speed
    if fastest * rate <= limit * (1.0 + _SAME):
        return
    pose = int(np.flatnonzero(moving)[k])
    slower = math.floor(100.0 * limit / fastest) / 100.0
    raise ParameterError(
        f"{motion.name}: on the way to pose {pose}, {model.joint_names[joint]} turns "
        f"with {fastest * rate:.0f} deg/s; the robot's limit is {limit:g}: play it "
        f"with --rate {slower:g}, or with a slower speed step"
    )
