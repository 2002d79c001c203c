# SPDX-License-Identifier: Apache-2.0
"""The last word on set points: ranges, speeds, steps, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from humans_sim.kondo.driver.robot_settings import Limits, RobotSettings, load_robot
from humans_sim.kondo.driver.safety import Guard, JointCommandError

SETTINGS = load_robot()
HOME = tuple(None if v > 180 else float(v) for v in SETTINGS.channels.home())


def guard(**limits: float) -> Guard:
    """One at home, which has arrived there."""
    settings = RobotSettings("khr1", SETTINGS.channels, Limits(**limits))
    made = Guard(settings)
    made.begin(HOME)
    made.step(0.01)
    return made


@pytest.mark.parametrize(
    ("angles", "words"),
    [
        ({}, "names no joint"),
        ({"l_knee": math.nan}, "l_knee must be an angle, not nan"),
        ({"l_knee": math.inf}, "l_knee must be an angle, not inf"),
        ({"l_knee": "bent"}, "l_knee must be an angle, not 'bent'"),
        ({"l_knee": 10**400}, "l_knee must be an angle"),
        ({"l_knee": None}, "l_knee must be an angle, not None"),
        ({"tail": 0.1}, "no channel turns a joint called 'tail': there are l_sho"),
        ({"l_knee": 2.1}, r"l_knee must be -1.134 to 2.007 rad, not 2.100"),
        ({"head_yaw": 0.1, "l_hip_roll": 9.0}, "l_hip_roll must be"),
    ],
)
def test_what_is_refused(angles: dict[str, float], words: str) -> None:
    """The joint and the number are named, and nothing moves."""
    kept = guard()
    with pytest.raises(JointCommandError, match=words):
        kept.aim(angles)
    assert kept.step(1.0) == HOME


@given(
    st.lists(
        st.tuples(
            st.dictionaries(
                st.sampled_from(SETTINGS.joint_names), st.floats(-4.0, 4.0), min_size=1
            ),
            st.floats(0.0, 0.5),
            st.booleans(),
        ),
        max_size=20,
    )
)
def test_limits_hold_whatever_comes(
    moves: list[tuple[dict[str, float], float, bool]],
) -> None:
    """No value out of its range, no step too long or too fast, by any commands."""
    limits = Limits(speed=200.0, step=5.0, approach=30.0)
    kept = guard(speed=200.0, step=5.0, approach=30.0)
    before = HOME
    for angles, dt, slowly in moves:
        try:
            kept.aim(angles, slowly)
        except JointCommandError:
            pass
        slow = kept.approaching
        values = kept.step(dt)
        for number, channel in SETTINGS.channels.channels.items():
            old, new = before[number - 1], values[number - 1]
            assert old is not None
            assert new is not None
            assert channel.lower <= new <= channel.upper
            # speeds are kept on the average over 20 ms, or since the last set point
            quick = limits.speed * max(min(dt, 0.1), 0.02)
            most = limits.approach * dt if slow else quick
            assert abs(new - old) <= min(most, limits.step) + 1e-9
        before = values


def test_a_target_is_reached() -> None:
    """At full speed once the slow approach is over, and limits are counted."""
    kept = guard(speed=100.0, step=5.0, approach=10.0)
    kept.aim({"l_knee": math.radians(20.0)}, slowly=True)
    assert kept.approaching
    times = 0
    while kept.approaching:
        kept.step(0.01)
        times += 1
    assert times == pytest.approx(190, abs=2)  # 19 of 20 degrees, 0.1 a step
    assert kept.limited == 0
    kept.aim({"l_knee": math.radians(50.0)})
    for _ in range(31):
        kept.step(0.01)
    assert kept.angles()["l_knee"] == pytest.approx(math.radians(50.0))
    assert kept.limited == 29  # two steps' worth was spared


def test_a_robot_bent_by_hand_comes_back_slowly() -> None:
    """A pose out of the ranges is not held: it goes to their ends."""
    values = list(HOME)
    values[13 - 1] = 130.0  # the left hip roll ends at 105
    kept = Guard(SETTINGS)
    kept.begin(values)
    moved = kept.step(0.1)[13 - 1]
    assert moved == pytest.approx(130.0 - 0.1 * SETTINGS.limits.approach)
    for _ in range(20):
        moved = kept.step(0.1)[13 - 1]
    assert moved == 105.0


def test_speed_is_an_average() -> None:
    """Commands in an uneven beat are followed, none faster in the long run."""
    kept = guard(speed=100.0, step=50.0, approach=10.0)
    kept.step(0.02)
    angle = 0.0
    for _ in range(100):
        angle += math.radians(90.0 * 0.02)
        kept.aim({"l_knee": min(angle, 1.5)})
        kept.step(0.0002)
        kept.step(0.0198)
    assert kept.limited == 0
    kept.aim({"l_knee": -1.0})
    values = [kept.step(0.001)[14] for _ in range(1000)]
    there = [v for v in values if v is not None]
    distances = np.abs(np.array(there)[100:] - np.array(there)[:-100])
    assert distances.max() <= 100.0 * 0.1 + 1e-9


def test_all_arrive_together() -> None:
    """On the slow way the base does not sway: every joint goes its share."""
    kept = guard(approach=20.0)
    goal = {"l_knee": 0.8, "l_hip_pitch": -0.4, "l_ankle_pitch": -0.4}
    kept.aim(goal, slowly=True)
    for _ in range(5):
        kept.step(0.1)
        angles = kept.angles()
        assert angles["l_hip_pitch"] == pytest.approx(-angles["l_knee"] / 2)
        assert angles["l_ankle_pitch"] == pytest.approx(-angles["l_knee"] / 2)
    assert angles["l_knee"] == pytest.approx(math.radians(0.5 * 20.0))


def test_hold_forgets_the_target() -> None:
    """Where the set points are, there they stay."""
    kept = guard()
    kept.aim({"head_yaw": 1.0})
    here = kept.step(0.02)
    kept.hold()
    assert kept.step(1.0) == here
    angles = kept.angles()
    assert set(angles) == set(SETTINGS.joint_names)
    assert angles["head_yaw"] == pytest.approx(math.radians(0.02 * 340.0))
