# SPDX-License-Identifier: Apache-2.0
"""How far joints may be from their trajectory, and what follows where they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from humans_sim.control.trajectories.joint_trajectory import (
    GoalCode,
    JointTrajectory,
    JointTrajectoryError,
)

_ERASED = -1.0
"""A tolerance that takes away the usual one."""


class Verdict(NamedTuple):
    """How a goal ends.

    Attributes:
        code: how.
        reason: in words.
    """

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
        """What a goal asks for, over these: 0 keeps them, -1 takes them away.

        Args:
            path: joints and their tolerances along the path [rad].
            goal: joints and their tolerances at the end [rad].
            goal_time: as the attribute [s].
            known: names of all joints.

        Raises:
            JointTrajectoryError: an unknown joint, or another negative number.
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

        Args:
            trajectory: of the goal.
            t: when the joints were looked at, from the start of the trajectory [s].
            actual: where they were [rad].
        """
        over = t >= trajectory.duration
        desired = trajectory.at(t).positions
        fault = _fault(
            trajectory.names, desired, actual, self.goal if over else self.path
        )
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
