# SPDX-License-Identifier: Apache-2.0
"""The package's walk as a stream of set points for a robot that feels nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.walking import Velocity, WalkSettings
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.driver.robot_settings import Limits, RobotSettings, load_robot
from humans_sim.kondo.driver.walk_stream import WalkStream, WalkStreamError, walk_stream


@pytest.fixture(scope="module")
def robot() -> RobotSettings:
    """The KHR-1's boards."""
    return load_robot()


@pytest.fixture(scope="module")
def stream(khr1: hs.Model, robot: RobotSettings) -> WalkStream:
    """Six steps."""
    return walk_stream(khr1, robot, 6, (0.05, 0.0, 0.0))


def test_it_begins_at_home_and_ends_standing(stream: WalkStream) -> None:
    """From straight legs into the walk's posture, and to rest in it."""
    assert np.abs(stream.joints[0]).max() == 0.0
    still = np.ptp(stream.joints[-10:], axis=0)
    assert np.abs(still).max() < math.radians(0.5)
    ends = stream.angles(stream.begin), stream.angles(stream.duration)
    for name, angle in ends[0].items():
        assert ends[1][name] == pytest.approx(angle, abs=math.radians(1.5))
    assert ends[0]["l_knee"] > math.radians(30)


def test_the_approach_to_the_posture_is_slow(
    stream: WalkStream, robot: RobotSettings
) -> None:
    """No faster than the approach of the robot's limits."""
    before = stream.joints[stream.times <= stream.begin]
    speed = np.degrees(np.abs(np.diff(before, axis=0)).max() / 0.02)
    assert 0.9 * robot.limits.approach < speed <= 1.01 * robot.limits.approach


def test_set_points_are_what_the_boards_take(
    stream: WalkStream, robot: RobotSettings
) -> None:
    """Every 20 ms, whole degrees, half a degree from the plan, within the limits."""
    points = list(stream)
    assert len(points) == len(stream)
    assert [t for t, _ in points[:3]] == pytest.approx([0.0, 0.02, 0.04])
    before = None
    for k, (t, angles) in enumerate(points):
        assert t == pytest.approx(k * 0.02)
        for channel in robot.channels.channels.values():
            value = channel.value(angles[channel.joint])
            assert value == pytest.approx(round(value), abs=1e-6)
            assert channel.lower <= value <= channel.upper
        planned = stream.joints[k]
        got = np.array([angles[name] for name in stream.joint_names])
        assert np.degrees(np.abs(got - planned)).max() <= 0.5 + 1e-6
        if before is not None:
            assert np.degrees(np.abs(got - before)).max() <= robot.limits.step
        before = got
    assert math.degrees(stream.fastest) < robot.limits.speed


def test_feet_are_lifted_in_turn(stream: WalkStream) -> None:
    """Six steps bend each knee three times beyond the stance."""
    for side in "lr":
        knee = stream.joints[:, stream.joint_names.index(f"{side}_knee")]
        bent = np.degrees(knee) > np.degrees(knee[-1]) + 12.0
        assert int((np.diff(bent.astype(int)) == 1).sum()) == 3


def test_between_set_points_it_goes_evenly(stream: WalkStream) -> None:
    """A path is asked at any time; outside its ends hold."""
    k = len(stream) // 2
    middle = stream.angles(float(stream.times[k]) + 0.01)
    mean = 0.5 * (stream.joints[k] + stream.joints[k + 1])
    for name, angle in zip(stream.joint_names, mean, strict=True):
        assert middle[name] == pytest.approx(angle, abs=1e-9)
    assert stream.angles(-1.0) == stream.angles(0.0)
    assert stream.angles(1e6) == stream.angles(stream.duration)


def test_a_velocity_is_cut_to_the_reach(khr1: hs.Model, robot: RobotSettings) -> None:
    """The velocity of the walk is reported."""
    stream = walk_stream(khr1, robot, 2, (5.0, 0.0, 0.0))
    settings = WalkSettings.of_model(khr1)
    assert stream.velocity == Velocity(pytest.approx(settings.max_forward / 0.72), 0, 0)


def test_servos_that_are_too_slow_are_reported(
    khr1: hs.Model, robot: RobotSettings
) -> None:
    """The error names the joint, its speed, the limit and what to do."""
    slow = replace(robot, limits=Limits(speed=120.0, step=12.0, approach=40.0))
    with pytest.raises(WalkStreamError, match=r"_knee .* deg/s .* allow 120: walk"):
        walk_stream(khr1, slow, 2)
    small = replace(robot, limits=Limits(speed=340.0, step=2.0, approach=40.0))
    with pytest.raises(WalkStreamError, match="allow 100"):
        walk_stream(khr1, small, 2)


def test_channels_that_are_too_short_are_reported(
    khr1: hs.Model, robot: RobotSettings
) -> None:
    """A knee that cannot bend so far."""
    channels = robot.channels.channels
    short = [
        replace(c, lower=60.0) if c.joint == "l_knee" else c for c in channels.values()
    ]
    narrow = replace(robot, channels=type(robot.channels)(short))
    with pytest.raises(WalkStreamError, match=r"l_knee .* smaller steps"):
        walk_stream(khr1, narrow, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"steps": 10_000},
        {"velocity": (math.nan, 0.0, 0.0)},
        {"velocity": (0.05, 0.0)},
        {"period": 0.0},
        {"period": math.nan},
        {"start": {"tail": 0.0}},
        {"start": {"l_knee": math.inf}},
    ],
)
def test_what_has_no_meaning_is_refused(
    khr1: hs.Model, robot: RobotSettings, wrong: dict[str, object]
) -> None:
    """Numbers and names."""
    with pytest.raises(ParameterError):
        walk_stream(khr1, robot, **{"steps": 2, **wrong})  # type: ignore[arg-type]
