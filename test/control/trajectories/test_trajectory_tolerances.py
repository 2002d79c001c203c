# SPDX-License-Identifier: Apache-2.0
"""How far joints may be from their trajectory."""

from __future__ import annotations

import math

import pytest

from humans_sim.control.trajectories.joint_trajectory import (
    GoalCode,
    JointLimits,
    JointTrajectoryError,
    Tolerances,
    TrajectoryRules,
    Waypoint,
)

RULES = TrajectoryRules({"knee": JointLimits(-1.0, 2.0, 5.0)})
BOTH = ("knee", "neck")


def test_judged_on_the_path_and_at_the_end() -> None:
    """Too far off on the way: violated; at the end it may take its time."""
    trajectory = RULES.plan(["knee"], [Waypoint(1.0, [1.0])], {"knee": 0.0})
    strict = Tolerances({"knee": 0.1}, {"knee": 0.05}, 0.5)
    assert strict.judge(trajectory, 0.5, {"knee": 0.45}) is None
    verdict = strict.judge(trajectory, 0.5, {"knee": 0.35})
    assert verdict is not None
    assert verdict.code == GoalCode.PATH_TOLERANCE_VIOLATED
    assert verdict.reason == "knee is 0.15 rad off, 0.1 is its tolerance"
    assert strict.judge(trajectory, 0.5, {"knee": math.nan}) is not None
    assert strict.judge(trajectory, 1.4, {"knee": 0.9}) is None
    done = strict.judge(trajectory, 1.4, {"knee": 0.96})
    assert done is not None
    assert done.code == GoalCode.SUCCESSFUL
    late = strict.judge(trajectory, 1.6, {"knee": 0.9})
    assert late is not None
    assert late.code == GoalCode.GOAL_TOLERANCE_VIOLATED
    # Nothing asked: the time alone counts.
    assert Tolerances().judge(trajectory, 0.5, {"knee": -1.0}) is None
    free = Tolerances().judge(trajectory, 1.0, {"knee": -1.0})
    assert free is not None
    assert free.code == GoalCode.SUCCESSFUL
    assert Tolerances(goal={"knee": 0.1}).judge(trajectory, 1e9, {"knee": 0.0}) is None


def test_tolerances_of_a_goal() -> None:
    """0 keeps the usual tolerance, -1 takes it away, others count."""
    usual = Tolerances({"knee": 0.1, "neck": 0.2}, {"knee": 0.3}, 1.0)
    tolerances = usual.with_goal(
        [("knee", 0.0), ("neck", -1.0)], [("knee", 0.4), ("neck", 0.5)], 0.0, BOTH
    )
    assert tolerances.path == {"knee": 0.1, "neck": 0.0}
    assert tolerances.goal == {"knee": 0.4, "neck": 0.5}
    assert tolerances.goal_time == 1.0
    assert usual.with_goal([], [], -1.0, BOTH).goal_time == 0.0
    for path, time, said in (
        ([("tail", 0.1)], 0.0, "path_tolerance: the robot has no joint 'tail'"),
        ([("knee", -0.5)], 0.0, "path_tolerance of knee must be 0 or more, or -1"),
        ([("knee", math.nan)], 0.0, "not nan"),
        ([], -0.5, "goal_time_tolerance must be"),
    ):
        with pytest.raises(JointTrajectoryError, match=said):
            usual.with_goal(path, [], time, BOTH)
