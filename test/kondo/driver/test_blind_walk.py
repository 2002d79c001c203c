# SPDX-License-Identifier: Apache-2.0
"""The walk of a robot that feels nothing, led by commands."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.walking import WalkPhase
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.driver.walk_stream import BlindWalk, walk_stream

PERIOD = 0.02


@pytest.fixture(scope="module")
def robot() -> RobotSettings:
    """A KHR-1."""
    return load_robot()


def test_from_home_into_a_walk_and_back_to_standing(
    khr1: hs.Model, robot: RobotSettings
) -> None:
    """Slowly into the posture, then steps by command, as the stream makes them."""
    walk = BlindWalk(khr1, robot, period=PERIOD)
    home = dict.fromkeys(robot.joint_names, 0.0)
    walk.begin(home)
    assert not walk.ready
    assert walk.off(home) == 0.0
    path = [home]
    while not walk.ready:
        path.append(walk.tick())
        assert len(path) < 500
    angles = np.array([list(sample.values()) for sample in path])
    most = np.radians(robot.limits.approach) * PERIOD
    assert 0.9 * most < np.abs(np.diff(angles, axis=0)).max() <= most * (1 + 1e-9)
    standing = walk.tick()
    assert standing == pytest.approx(path[-1], abs=1e-6)

    walk.begin(standing)  # it is there already
    assert walk.tick() == pytest.approx(standing, abs=1e-6)
    walk.pattern.walk(2, 0.03)
    stream = walk_stream(khr1, robot, 2, (0.03, 0.0, 0.0))
    expected = stream.joints[round(stream.begin / PERIOD) + 1 :]
    # The command came after the first knot: it counts from the next one on.
    late = round(walk.pattern.settings.mpc_period / PERIOD)
    commanded = np.array(
        [list(walk.tick().values()) for _ in range(len(expected) + late)]
    )
    np.testing.assert_allclose(commanded[late:], expected, atol=1e-6)
    assert walk.point.phase == WalkPhase.STANDING
    assert walk.point.steps == 2
    assert (
        walk.off(dict(zip(robot.joint_names, commanded[-1] + 0.1, strict=True))) > 0.09
    )


def test_velocity_and_stop(khr1: hs.Model, robot: RobotSettings) -> None:
    """A velocity leads on until it is stopped."""
    walk = BlindWalk(khr1, robot, period=PERIOD)
    walk.begin({})
    walk.tick()
    walk.pattern.command(0.03, 0.0, 0.0)
    for _ in range(150):
        walk.tick()
    assert walk.point.phase == WalkPhase.WALKING
    assert walk.point.steps >= 2
    walk.pattern.stop()
    for _ in range(200):
        walk.tick()
    assert walk.point.phase == WalkPhase.STANDING


def test_wrong_model(human: hs.Model, robot: RobotSettings) -> None:
    """A robot of another model is refused."""
    with pytest.raises(ParameterError, match="has no joint"):
        BlindWalk(human, robot)
