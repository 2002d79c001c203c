# SPDX-License-Identifier: Apache-2.0
"""The states of a walker that gets up: each follows from what the sensors say."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.applications.walk_control import rising_walker
from humans_sim.control.falls.fall_detector import Lying
from humans_sim.control.falls.rising_walker import (
    RiseSettings,
    RiseState,
    RisingCommand,
    RisingWalker,
)
from humans_sim.control.walking import SoleWrench, Walker, WalkSensors
from humans_sim.kondo.motion.pose_servo import get_up_motions

PERIOD = 0.02
UPRIGHT = np.eye(3)
FRONT = pin.rpy.rpyToMatrix(0.0, math.pi / 2, 0.3)
LEFT = pin.rpy.rpyToMatrix(-math.pi / 2, 0.0, 0.3)


class Robot:
    """A rising walker, called every period with what a robot would measure."""

    def __init__(self, rising: RisingWalker) -> None:
        self.rising, self.t = rising, 0.0
        self.last: RisingCommand | None = None

    def until(
        self, state: RiseState, attitude: np.ndarray, longest: float = 20.0
    ) -> RisingCommand:
        """Call it with one attitude until it has a state."""
        end = self.t + longest
        while self.last is None or self.last.state is not state:
            assert self.t < end, f"{state.name} does not come"
            self.tick(attitude)
        return self.last

    def tick(self, attitude: np.ndarray) -> RisingCommand:
        """Call it once; no joint may jump."""
        half = SoleWrench(np.array([0.0, 0.0, 6.4]), np.zeros(3))
        sensors = WalkSensors(attitude, np.zeros(3), half, half)
        before, self.last = self.last, self.rising.tick(self.t, sensors)
        if before is not None:
            step = np.abs(self.last.joints - before.joints).max()
            assert step < PERIOD * 6.3, f"{step} rad in a period at {self.t} s"
        self.t += PERIOD
        return self.last


def test_the_whole_way(khr1: hs.Model) -> None:
    """It walks, lies on its side, then on its front, stands, and walks on."""
    robot = Robot(rising_walker(Walker(khr1, period=PERIOD)))
    robot.rising.command(0.06, 0.0, 0.0)
    while robot.t < 2.0:
        assert robot.tick(UPRIGHT).state is RiseState.WALKING
    assert robot.last is not None and robot.last.walk.plan.steps > 1
    assert robot.until(RiseState.FALLEN, LEFT).lying is Lying.LEFT
    assert robot.until(RiseState.GETTING_UP, LEFT).motion == "getup-left"
    robot.until(RiseState.FALLEN, FRONT)
    assert robot.until(RiseState.GETTING_UP, FRONT).motion == "getup-front"
    robot.until(RiseState.STANDING, UPRIGHT)
    walks = robot.until(RiseState.WALKING, UPRIGHT)
    assert not walks.walk.fallen  # the walk that fell is over
    np.testing.assert_allclose(walks.joints, robot.rising.walker.start()[7:], atol=0.05)
    begun = robot.t
    while robot.t < begun + 2.0:
        last = robot.tick(UPRIGHT)
    assert last.walk.plan.steps > 1 and last.walk.plan.velocity.vx == 0.06
    details = [event.detail for event in robot.rising.events]
    assert details == [
        "falls",
        "from its left",
        "lies again",
        "from its front",
        "is on its feet",
        "walks on",
    ]


def test_it_does_not_walk_on_when_stopped(khr1: hs.Model) -> None:
    """A stop while it lies is obeyed; so are the steps that are left."""
    robot = Robot(rising_walker(Walker(khr1, period=PERIOD)))
    robot.rising.command(0.06, 0.0, 0.0)
    robot.tick(UPRIGHT)
    robot.until(RiseState.FALLEN, FRONT)
    robot.rising.stop()
    robot.until(RiseState.STANDING, UPRIGHT, 60.0)
    robot.until(RiseState.WALKING, UPRIGHT)
    begun = robot.t
    while robot.t < begun + 1.5:
        assert robot.tick(UPRIGHT).walk.plan.steps == 0
    robot.rising.walk(2, 0.06)
    while robot.t < begun + 5.0:
        steps = robot.tick(UPRIGHT).walk.plan.steps
    assert steps == 2


def test_it_waits_to_be_asked(khr1: hs.Model) -> None:
    """Without leave it lies; asked, it gets up; standing, it cannot be asked."""
    robot = Robot(rising_walker(Walker(khr1, period=PERIOD), automatic=False))
    robot.tick(UPRIGHT)
    with pytest.raises(hs.errors.ParameterError, match="has not fallen"):
        robot.rising.get_up()
    robot.until(RiseState.FALLEN, FRONT)
    while robot.t < 4.0:
        assert robot.tick(FRONT).state is RiseState.FALLEN
    assert "waits to be asked" in robot.rising.text
    robot.rising.get_up()
    robot.until(RiseState.GETTING_UP, FRONT)
    assert robot.rising.text == "it gets up from its front"


def test_it_gives_up(khr1: hs.Model) -> None:
    """Where nothing helps it lies still; asked again, it tries again."""
    walker = Walker(khr1, period=PERIOD)
    settings = RiseSettings(attempts=2)
    robot = Robot(RisingWalker(walker, get_up_motions(khr1), settings=settings))
    robot.tick(UPRIGHT)
    robot.until(RiseState.GAVE_UP, LEFT, 60.0)
    tried = [e for e in robot.rising.events if e.state is RiseState.GETTING_UP]
    assert len(tried) == 2
    robot.rising.get_up()
    robot.until(RiseState.GETTING_UP, LEFT)


def test_misuse(khr1: hs.Model) -> None:
    """A side without a motion, and numbers without meaning, are refused."""
    motions = get_up_motions(khr1)
    del motions[Lying.BACK]
    with pytest.raises(hs.errors.ParameterError, match="from its back"):
        RisingWalker(Walker(khr1), motions)
    with pytest.raises(hs.errors.ParameterError, match="speed"):
        RiseSettings(speed=0.0)
