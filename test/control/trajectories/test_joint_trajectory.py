# SPDX-License-Identifier: Apache-2.0
"""Trajectories of joints: what is taken, the way between points, tolerances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from humans_sim.control.trajectories.joint_trajectory import (
    MOST_POINTS,
    GoalCode,
    JointLimits,
    JointTrajectoryError,
    TrajectoryRules,
    Waypoint,
)

LIMITS = {"knee": JointLimits(-1.0, 2.0, 5.0), "neck": JointLimits(-1.5, 1.5, 2.0)}
RULES = TrajectoryRules(LIMITS)
BOTH = ("knee", "neck")
ZERO = {"knee": 0.0, "neck": 0.0}
PARTIAL = TrajectoryRules(LIMITS, partial=True)


def knee(*points: Waypoint, start: float | None = None, **present: float) -> Any:
    """A trajectory of the knee alone."""
    return PARTIAL.plan(["knee"], points, ZERO | present, start)


def test_straight_lines() -> None:
    """Positions alone: lines, from where the joints are; the end holds."""
    points = [Waypoint(1.0, [0.5, -0.5]), Waypoint(2.0, [1.5, -0.5])]
    trajectory = RULES.plan(BOTH, points, {"knee": 0.1, "neck": 0.0})
    assert trajectory.duration == 2.0
    np.testing.assert_allclose(trajectory.at(0.0).positions, [0.1, 0.0])
    np.testing.assert_allclose(trajectory.at(0.5).positions, [0.3, -0.25])
    np.testing.assert_allclose(trajectory.at(1.5).positions, [1.0, -0.5])
    np.testing.assert_allclose(trajectory.at(1.5).velocities, [1.0, 0.0])
    np.testing.assert_allclose(trajectory.at(1.5).accelerations, 0.0)
    for late in (2.0, 50.0):
        np.testing.assert_allclose(trajectory.at(late).positions, [1.5, -0.5])
        np.testing.assert_allclose(trajectory.at(late).velocities, 0.0)
    assert trajectory.angles(0.5) == pytest.approx({"knee": 0.3, "neck": -0.25})


def test_cubic_and_quintic() -> None:
    """With derivatives the way has them at its points; from rest, half-way is half."""
    for more in ({}, {"accelerations": [0.0]}):
        trajectory = knee(Waypoint(1.0, [1.0], velocities=[0.0], **more))
        np.testing.assert_allclose(trajectory.at(0.5).positions, [0.5])
        # 3/2 and 15/8 of the mean speed are the peaks of cubic and quintic.
        np.testing.assert_allclose(
            trajectory.at(0.5).velocities, 1.875 if more else 1.5
        )
        np.testing.assert_allclose(trajectory.at(1e-9).velocities, 0.0, atol=1e-6)
    np.testing.assert_allclose(trajectory.at(1e-9).accelerations, 0.0, atol=1e-6)
    trajectory = knee(
        Waypoint(1.0, [1.0], [1.0], [-2.0]), Waypoint(2.0, [1.0], [0.0], [0.0])
    )
    sample = trajectory.at(1.0)
    np.testing.assert_allclose(sample.positions, 1.0)
    np.testing.assert_allclose(sample.velocities, 1.0)
    np.testing.assert_allclose(sample.accelerations, -2.0)


def test_each_segment_by_what_both_ends_know() -> None:
    """A point without velocities is reached and left on straight lines."""
    trajectory = knee(
        Waypoint(1.0, [1.0], [0.0]), Waypoint(2.0, [0.0]), Waypoint(3.0, [0.5], [0.0])
    )
    np.testing.assert_allclose(trajectory.at(0.25).positions, 0.15625)
    np.testing.assert_allclose(trajectory.at(1.25).positions, 0.75)
    np.testing.assert_allclose(trajectory.at(2.25).positions, 0.125)


@given(
    st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=5),
    st.lists(st.floats(0.5, 2.0), min_size=5, max_size=5),
    st.sampled_from([0, 1, 2]),
)
def test_passes_through_its_points(
    angles: list[float], gaps: list[float], known: int
) -> None:
    """Whatever the points, the way goes through them, within the limits."""
    times = np.cumsum(gaps)
    rest = ([0.0],) * known
    points = [Waypoint(t, [x], *rest) for t, x in zip(times, angles, strict=False)]
    trajectory = knee(*points)
    for point in points:
        np.testing.assert_allclose(trajectory.at(point.time).positions, point.positions)
    for t in np.linspace(0.0, trajectory.duration, 50):
        assert abs(trajectory.at(t).velocities[0]) <= 5.0


def test_starts_later_or_has_started() -> None:
    """A stamp shifts the points; those that are over are left out."""
    points = [Waypoint(1.0, [0.4]), Waypoint(2.0, [0.8])]
    later = knee(*points, start=1.0)
    assert later.duration == 3.0
    np.testing.assert_allclose(later.at(1.0).positions, 0.2)
    begun = knee(*points, start=-1.5, knee=0.6)
    assert begun.duration == 0.5
    np.testing.assert_allclose(begun.at(0.0).positions, 0.6)
    np.testing.assert_allclose(begun.at(0.25).positions, 0.7)
    with pytest.raises(JointTrajectoryError, match=r"ended 0.5 s ago") as caught:
        knee(*points, start=-2.5)
    assert caught.value.code == GoalCode.OLD_HEADER_TIMESTAMP


def test_a_first_point_of_now() -> None:
    """A point at time zero is no way; alone, it must be where the joint is."""
    trajectory = knee(Waypoint(0.0, [0.0], [0.0]), Waypoint(1.0, [0.5], [0.0]))
    assert trajectory.duration == 1.0
    np.testing.assert_allclose(trajectory.at(0.5).positions, 0.25)
    assert knee(Waypoint(0.0, [0.3]), knee=0.3).duration == 0.0
    with pytest.raises(JointTrajectoryError, match="turn at inf rad/s"):
        knee(Waypoint(0.0, [0.3]))


BAD: list[tuple[list[str], list[Waypoint], str, GoalCode]] = [
    ([], [Waypoint(1.0, [])], "no joint", GoalCode.INVALID_JOINTS),
    (["tail"], [Waypoint(1.0, [0.0])], "no joint 'tail'", GoalCode.INVALID_JOINTS),
    (["knee"] * 2, [Waypoint(1.0, [0.0] * 2)], "twice", GoalCode.INVALID_JOINTS),
    (["knee"], [], "no point", GoalCode.INVALID_GOAL),
]
BAD += [
    (["knee"], points, said, GoalCode.INVALID_GOAL)
    for points, said in [
        ([Waypoint(1.0, [])], "point 0: 0 positions for 1"),
        ([Waypoint(1.0, [0.0, 0.0])], "point 0: 2 positions for 1"),
        ([Waypoint(1.0, [0.0], [0.0, 0.0])], "2 velocities for 1"),
        ([Waypoint(1.0, [0.0], [], [0.0])], "accelerations without velocities"),
        ([Waypoint(1.0, [0.0], effort=[1.0])], "no effort"),
        ([Waypoint(1.0, [math.nan])], "positions of knee: nan"),
        ([Waypoint(1.0, [0.0], [math.inf])], "velocities of knee: inf"),
        ([Waypoint(-1.0, [0.0])], "0 or more, not -1 s"),
        ([Waypoint(math.nan, [0.0])], "not nan s"),
        ([Waypoint(1.0, [0.0]), Waypoint(1.0, [0.1])], "point 1: time_from_start must"),
        ([Waypoint(9.0, [2.1])], "point 0: knee must be -1 to 2 rad, not 2.1"),
        ([Waypoint(1.0, [0.0], [6.0])], "turn at 6 rad/s, but 5 is its limit"),
        ([Waypoint(1.0, [0.0], [0.1])], "point 0: knee must be at rest"),
        ([Waypoint(0.1, [1.0])], "way to point 0: knee would have to turn at 10 rad/s"),
        (
            [Waypoint(1.0, [1.0]), Waypoint(1.1, [-0.5])],
            "between points 0 and 1: knee would have to turn at 15 rad/s",
        ),
        (
            [Waypoint(1.0, [1.8], [4.0]), Waypoint(2.0, [1.8], [0.0])],
            "between points 0 and 1: knee must be -1 to 2 rad, but would go to 2",
        ),
        ([Waypoint(1.0, [0.0], [0.0], [1e300])], "knee would have to turn at"),
        ([Waypoint(float(k), [0.0]) for k in range(MOST_POINTS + 1)], "at most"),
    ]
]


@pytest.mark.parametrize(("names", "points", "said", "code"), BAD)
def test_refused(
    names: list[str], points: list[Waypoint], said: str, code: GoalCode
) -> None:
    """What cannot be is refused, and the words name joint, point and number."""
    with pytest.raises(JointTrajectoryError) as caught:
        PARTIAL.plan(names, points, ZERO)
    assert said in str(caught.value)
    assert caught.value.code == code


def test_rules() -> None:
    """All joints unless some may be left out; an end that moves only if it may."""
    with pytest.raises(JointTrajectoryError, match=r"left out \(neck\)"):
        RULES.plan(["knee"], [Waypoint(1.0, [0.0])], ZERO)
    moving = TrajectoryRules(LIMITS, partial=True, moving_end=True)
    trajectory = moving.plan(["knee"], [Waypoint(1.0, [0.5], [0.5])], ZERO)
    np.testing.assert_allclose(trajectory.at(1.0).velocities, 0.0)


def test_long_trajectories_are_checked_to_their_end() -> None:
    """The last of many segments counts as the first."""
    points = [Waypoint(0.1 * (k + 1), [0.001 * (k % 2)]) for k in range(1000)]
    assert knee(*points).duration == pytest.approx(100.0)
    with pytest.raises(JointTrajectoryError, match="between points 999 and 1000"):
        knee(*points, Waypoint(100.1, [1.0]))
