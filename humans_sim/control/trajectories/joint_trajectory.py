# SPDX-License-Identifier: Apache-2.0
"""Joint trajectories as ros2_control's joint_trajectory_controller takes them.

Points with positions alone are joined by straight lines, with velocities by cubics,
with accelerations too by quintics. The path begins at the present set points,
at rest. Unlike there, speeds and ranges of the robot are checked along the whole path
before anything moves, and points whose time is over are left out.

Also: tolerances of the joints against their trajectory, and progress along it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import NamedTuple, NoReturn, Protocol

import numpy as np
from scipy.interpolate import BPoly

from humans_sim.core.errors import HumansError

MOST_POINTS = 10_000
"""Points that a trajectory may have."""
_PLACES = 32
"""Places of each segment where speed and range are checked."""
_CHUNK = 256
"""Segments checked at once."""
_SLACK = 1e-6
"""By which numbers may pass a limit, relative to it: rounding."""
_REST = float(np.finfo(np.float32).eps)
"""Largest speed that is none [rad/s]."""


class GoalCode(IntEnum):
    """How a goal of FollowJointTrajectory ends."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class JointTrajectoryError(HumansError, ValueError):
    """A trajectory that is not taken.

    Attributes:
        code: why, as the action says it.
    """

    def __init__(self, message: str, code: GoalCode = GoalCode.INVALID_GOAL) -> None:
        super().__init__(message)
        self.code = code


class JointLimits(NamedTuple):
    """Least and largest angle of a joint [rad], and its largest speed [rad/s]."""

    lower: float
    upper: float
    speed: float


@dataclass(frozen=True)
class Waypoint:
    """Where the joints shall be [rad], in the order of their names, and when [s].

    Times are from the start of the trajectory. Velocities [rad/s] and accelerations
    [rad/s^2] are as many, or none; effort must be empty: the servos take positions.
    """

    time: float
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    effort: Sequence[float] = ()


@dataclass(frozen=True)
class Sample:
    """A trajectory at one time, in the order of its names [rad, rad/s, rad/s^2]."""

    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray


@dataclass(frozen=True)
class TrajectoryRules:
    """Rules for the trajectories that are taken, with limits of every joint by name.

    Partial: joints may be left out; moving_end: the last point may have a velocity.
    """

    limits: Mapping[str, JointLimits] = field(default_factory=dict)
    partial: bool = False
    moving_end: bool = False

    def plan(
        self,
        names: Sequence[str],
        points: Sequence[Waypoint],
        present: Mapping[str, float],
        start: float | None = None,
    ) -> JointTrajectory:
        """The path through the points, from set points of the joints [rad].

        The trajectory starts some time from now [s], or now.

        Raises:
            JointTrajectoryError: it cannot be; the message names joint, point and
                number.
        """
        self._check_names(names)
        self._check_times(points, start)
        for number, point in enumerate(points):
            self._check_point(names, number, point, number == len(points) - 1)
        begin = np.array([present[name] for name in names])
        trajectory = JointTrajectory(names, points, begin, start or 0.0)
        trajectory.check(self.limits)
        return trajectory

    def _check_names(self, names: Sequence[str]) -> None:
        wrong = GoalCode.INVALID_JOINTS
        if not names:
            raise JointTrajectoryError("no joint is named", wrong)
        for name in names:
            if name not in self.limits:
                known = ", ".join(self.limits)
                raise JointTrajectoryError(
                    f"the robot has no joint '{name}' (it has {known})", wrong
                )
        if len(set(names)) != len(names):
            raise JointTrajectoryError("a joint is named twice", wrong)
        if not self.partial and len(names) != len(self.limits):
            missing = ", ".join(set(self.limits) - set(names))
            raise JointTrajectoryError(
                f"joints are left out ({missing}): allow_partial_joints_goal is false",
                wrong,
            )

    def _check_times(self, points: Sequence[Waypoint], start: float | None) -> None:
        if not points:
            raise JointTrajectoryError("there is no point")
        if len(points) > MOST_POINTS:
            raise JointTrajectoryError(f"{len(points)} points: at most {MOST_POINTS}")
        before = -math.inf
        for number, point in enumerate(points):
            start_of, now = f"point {number}: time_from_start", f"{point.time:g} s"
            if not (math.isfinite(point.time) and point.time >= 0.0):
                raise JointTrajectoryError(f"{start_of} must be 0 or more, not {now}")
            if point.time <= before:
                after = f"{now} after {before:g} s"
                raise JointTrajectoryError(f"{start_of} must grow, but is {after}")
            before = point.time
        if start is not None and start + before < 0.0:
            raise JointTrajectoryError(
                f"the trajectory ended {-(start + before):g} s ago",
                GoalCode.OLD_HEADER_TIMESTAMP,
            )

    def _check_point(
        self, names: Sequence[str], number: int, point: Waypoint, last: bool
    ) -> None:
        def refuse(reason: str) -> NoReturn:
            raise JointTrajectoryError(f"point {number}: {reason}")

        if len(point.effort):
            refuse("the servos take positions, no effort")
        for what in ("positions", "velocities", "accelerations"):
            values = getattr(point, what)
            if len(values) != len(names) and (len(values) or what == "positions"):
                refuse(f"{len(values)} {what} for {len(names)} joints")
            for name, value in zip(names, values, strict=False):
                if not math.isfinite(value):
                    refuse(f"{what} of {name}: {value}")
        if len(point.accelerations) and not len(point.velocities):
            refuse("accelerations without velocities")
        for name, value in zip(names, point.positions, strict=True):
            lower, upper, _ = self.limits[name]
            if not _within(value, lower, upper):
                allowed = f"{lower:.4g} to {upper:.4g} rad"
                refuse(f"{name} must be {allowed}, not {value:.4g}")
        for name, value in zip(names, point.velocities, strict=False):
            most = self.limits[name].speed
            if not _within(value, -most, most):
                raise _too_fast(f"point {number}", name, abs(value), most)
            if last and not self.moving_end and abs(value) > _REST:
                speed = f"{value:.4g} rad/s"
                refuse(f"{name} must be at rest at the end, not at {speed}")


class JointTrajectory:
    """Angles of joints over time, from now on.

    Made by :meth:`TrajectoryRules.plan`, which checks it; from angles now [rad], and
    from a start of the trajectory [s].

    Attributes:
        duration: from now to the last point [s].
    """

    def __init__(
        self,
        names: Sequence[str],
        points: Sequence[Waypoint],
        begin: np.ndarray,
        start: float = 0.0,
    ) -> None:
        self.names = tuple(names)
        times = [start + point.time for point in points]
        ahead = [k for k, time in enumerate(times) if time > 0.0]
        # What was over before it came; only its end counts, which must be here.
        self._late = points[-1] if not ahead else None
        self._begin, self._numbers = np.asarray(begin, dtype=float), ahead
        self.duration = times[-1] if ahead else 0.0
        if not ahead:
            return
        known = [[np.asarray(p.positions, dtype=float)] for p in points]
        for values, point in zip(known, points, strict=True):
            for more in (point.velocities, point.accelerations):
                if len(more):
                    values.append(np.asarray(more, dtype=float))
        rest = np.zeros_like(self._begin)
        first = [self._begin, rest, rest][: len(known[ahead[0]])]
        derivatives = [first, *(known[k] for k in ahead)]
        knots = np.array([0.0, *(times[k] for k in ahead)])
        pairs = zip(derivatives[:-1], derivatives[1:], strict=True)
        orders = [2 * min(len(a), len(b)) - 1 for a, b in pairs]
        with np.errstate(all="ignore"):  # what overflows is refused by check
            self._positions = BPoly.from_derivatives(knots, derivatives, orders)
            self._speed = self._positions.derivative()
        self._acceleration = self._speed.derivative() if max(orders) > 1 else None

    @property
    def end(self) -> np.ndarray:
        """Angles after the last point [rad]."""
        if self._late is not None:
            return np.asarray(self._late.positions, dtype=float)
        return np.asarray(self._positions(self.duration))

    def at(self, t: float) -> Sample:
        """Where the joints shall be at a time from now [s]; at rest after the end."""
        rest = np.zeros_like(self._begin)
        if t >= self.duration:
            return Sample(self.end, rest, rest)
        t = max(t, 0.0)
        more = rest if self._acceleration is None else self._acceleration(t)
        return Sample(self._positions(t), self._speed(t), more)

    def angles(self, t: float) -> dict[str, float]:
        """Angles at a time from now [s], by joint [rad]."""
        return dict(zip(self.names, self.at(t).positions.tolist(), strict=True))

    def check(self, limits: Mapping[str, JointLimits]) -> None:
        """Refuse what is too fast, or out of a range between two points."""
        lower, upper, speed = np.array([limits[name] for name in self.names]).T
        if self._late is not None:
            far = np.abs(self.end - self._begin) > _SLACK
            if far.any():
                joint = int(np.argmax(far))
                name = self.names[joint]
                raise _too_fast("the last point", name, math.inf, speed[joint])
            return
        knots, shares = self._positions.x, np.linspace(0.0, 1.0, _PLACES + 1)
        for first in range(0, len(knots) - 1, _CHUNK):
            starts = knots[first : first + _CHUNK + 1]
            times = starts[:-1, None] + np.diff(starts)[:, None] * shares
            with np.errstate(all="ignore"):
                angles = self._positions(times)
                # The last place belongs to the next segment.
                speeds = np.abs(self._speed(times[:, :-1]))
            most = np.nan_to_num(speeds.max(axis=1), nan=math.inf)
            fast = most > speed * (1.0 + _SLACK)
            if fast.any():
                k, joint = np.argwhere(fast)[0]
                where = self._where(first + int(k))
                raise _too_fast(where, self.names[joint], most[k, joint], speed[joint])
            slack = _SLACK * (1.0 + np.abs(angles))
            out = ~((angles >= lower - slack) & (angles <= upper + slack))
            if out.any():
                k, place, joint = np.argwhere(out)[0]
                raise JointTrajectoryError(
                    f"{self._where(first + int(k))}: {self.names[joint]} must be "
                    f"{lower[joint]:.4g} to {upper[joint]:.4g} rad, but would go to "
                    f"{angles[k, place, joint]:.4g}"
                )

    def _where(self, segment: int) -> str:
        number = self._numbers[segment]
        if segment == 0:
            return f"on the way to point {number}"
        return f"between points {self._numbers[segment - 1]} and {number}"


def _within(value: float, lower: float, upper: float) -> bool:
    slack = _SLACK * (1.0 + abs(value))
    return lower - slack <= value <= upper + slack


def _too_fast(where: str, name: str, speed: float, most: float) -> JointTrajectoryError:
    return JointTrajectoryError(
        f"{where}: {name} would have to turn at {speed:.4g} rad/s, but {most:.4g} is "
        "its limit"
    )


class JointPath(Protocol):
    """Angles of some joints over time."""

    @property
    def duration(self) -> float:
        """From the beginning to the end [s]."""

    def angles(self, t: float) -> dict[str, float]:
        """Where the joints shall be [rad]; the ends hold outside."""


class Progress(Enum):
    """How a path fares."""

    IDLE = "idle"
    """There is none."""
    RUNNING = "running"
    ARRIVED = "arrived"
    """It is over, and the set points are at its end."""
    BROKEN = "broken"
    """Something else has got hold of the robot; the path was given up."""


_ERASED = -1.0
"""A tolerance that takes away the usual one."""


class Verdict(NamedTuple):
    """How a goal ends, and why in words."""

    code: GoalCode
    reason: str


@dataclass(frozen=True)
class Tolerances:
    """Of one goal; zero or a joint that is left out: any difference will do.

    Attributes:
        path: of joints along the path [rad].
        goal: of joints at the end [rad].
        goal_time: after the end of the trajectory, to get within ``goal`` [s]; zero
            waits for ever.
    """

    path: Mapping[str, float] = field(default_factory=dict)
    goal: Mapping[str, float] = field(default_factory=dict)
    goal_time: float = 0.0

    def with_goal(
        self,
        path: Iterable[tuple[str, float]],
        goal: Iterable[tuple[str, float]],
        goal_time: float,
        known: Iterable[str],
    ) -> Tolerances:
        """These with those of a goal: 0 keeps them, -1 takes them away.

        Joints and their tolerances along the path and at the end [rad]; the known ones
        are all joints. JointTrajectoryError: another joint, or negative number.
        """
        joints = set(known)
        return Tolerances(
            _over(self.path, path, joints, "path_tolerance"),
            _over(self.goal, goal, joints, "goal_tolerance"),
            _chosen(self.goal_time, goal_time, "goal_time_tolerance"),
        )

    def judge(
        self, trajectory: JointTrajectory, t: float, actual: Mapping[str, float]
    ) -> Verdict | None:
        """How the goal ends now, or None while it runs.

        The joints were at ``actual`` [rad] at a time from the trajectory's start [s].
        """
        over = t >= trajectory.duration
        desired, most = trajectory.at(t).positions, self.goal if over else self.path
        fault = _fault(trajectory.names, desired, actual, most)
        if not over:
            if fault:
                return Verdict(GoalCode.PATH_TOLERANCE_VIOLATED, fault)
            return None
        if not fault:
            return Verdict(GoalCode.SUCCESSFUL, "")
        if self.goal_time > 0.0 and t > trajectory.duration + self.goal_time:
            late = t - trajectory.duration
            reason = f"{fault}, {late:.3g} s after the end"
            return Verdict(GoalCode.GOAL_TOLERANCE_VIOLATED, reason)
        return None


def _fault(
    names: Iterable[str],
    desired: np.ndarray,
    actual: Mapping[str, float],
    tolerances: Mapping[str, float],
) -> str:
    """Which joint is too far off; empty where none is."""
    for name, angle in zip(names, desired.tolist(), strict=True):
        most = tolerances.get(name, 0.0)
        # Written so that NaN is a fault.
        if most > 0.0 and not abs(actual.get(name, math.nan) - angle) <= most:
            off = abs(actual.get(name, math.nan) - angle)
            return f"{name} is {off:.4g} rad off, {most:.4g} is its tolerance"
    return ""


def _over(
    usual: Mapping[str, float],
    asked: Iterable[tuple[str, float]],
    known: set[str],
    what: str,
) -> dict[str, float]:
    merged = dict(usual)
    for name, value in asked:
        if name not in known:
            raise JointTrajectoryError(f"{what}: the robot has no joint '{name}'")
        merged[name] = _chosen(usual.get(name, 0.0), value, f"{what} of {name}")
    return merged


def _chosen(usual: float, value: float, what: str) -> float:
    if value == _ERASED:
        return 0.0
    if not (math.isfinite(value) and value >= 0.0):
        raise JointTrajectoryError(f"{what} must be 0 or more, or -1, not {value:g}")
    return value or usual
