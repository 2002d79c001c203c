# SPDX-License-Identifier: Apache-2.0
"""What a robot makes of its sensors is how it really moves."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.applications.walk_control import walking_robot
from humans_sim.control.trajectories.trajectory import ContactPhase
from humans_sim.control.walking import SoleWrench, Velocity, Walker
from humans_sim.control.walking.com_estimator import (
    BodyEstimate,
    ComEstimator,
    WalkSensors,
    body_centre,
)
from humans_sim.control.walking.preview import Pendulum
from humans_sim.control.walking.walk import ScheduledCommand
from humans_sim.results.records import Sample

PUSHED = 2.06
NAMES = {ContactPhase.LEFT_FOOT: "left", ContactPhase.RIGHT_FOOT: "right"}


def beside(pose: pin.SE3, point: np.ndarray) -> np.ndarray:
    """A point of the floor in the axes of a sole that stands (2,) [m]."""
    forward = pose.rotation[:, 0]
    yaw = math.atan2(forward[1], forward[0])
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, s], [-s, c]]) @ (point - pose.translation[:2])


def test_centre_of_pressure() -> None:
    """A force on the sole presses where it acts."""
    place, force = np.array([0.03, -0.01, 0.0]), np.array([0.5, -0.2, 8.0])
    wrench = SoleWrench(force, np.cross(place, force))
    np.testing.assert_allclose(wrench.pressure, place[:2], rtol=1e-12)


@pytest.fixture(scope="module")
def seen(khr1: hs.Model) -> np.ndarray:
    """A walk with a push: time, capture point seen and true, beside the sole."""
    walker = Walker(khr1)
    push = hs.Push(PUSHED, (0.3, 0.0, 0.0), point=(0.0, 0.0, 0.04))
    robot = walking_robot(
        walker, [ScheduledCommand(0.1, Velocity(0.06, 0.0, 0.0))], pushes=[push]
    )
    estimator, rows = (
        ComEstimator(khr1, walker.settings, walker.period, walker.pattern.weight),
        [],
    )
    command, data, omega = robot.walk._tick, khr1.pin.createData(), walker.pattern.omega

    def tick(t: float, sample: Sample) -> np.ndarray:
        if robot.walk.commands:
            plan = robot.walk.commands[-1].plan
            body = estimator.estimate(plan, robot.walk.sensors(sample))
            if plan.support in NAMES and body is not None:
                side = NAMES[plan.support]
                pin.centerOfMass(khr1.pin, data, sample.q, sample.v)
                true = (data.com[0] + data.vcom[0] / omega)[:2]
                sole = khr1.frame_pose(sample.q, getattr(walker.settings, side))
                found = body.pendulum.capture_point(omega)
                planned = getattr(plan, side).pose
                rows.append([t, *beside(planned, found), *beside(sole, true)])
        return command(t, sample)

    robot.walk._tick = tick  # type: ignore[method-assign]
    robot.simulation.run(t_end=2.6, progress=False)
    return np.array(rows)


def test_capture_point(seen: np.ndarray) -> None:
    """Within millimetres of the truth, also after a push; landings shake it."""
    errors = np.linalg.norm(seen[:, 1:3] - seen[:, 3:5], axis=1)
    assert np.median(errors) < 2e-3
    assert np.percentile(errors, 90) < 8e-3
    # A push moves the capture point by centimetres, and is seen within a tenth of a
    # second, also where the swing foot touches the floor by it.
    before = seen[seen[:, 0] < PUSHED - 1e-9][-1]
    after = seen[(seen[:, 0] > PUSHED + 0.01) & (seen[:, 0] < PUSHED + 0.1)]
    assert (after[:, 3] - before[3]).max() > 0.015
    assert ((after[:, 1] - before[1]) / (after[:, 3] - before[3])).max() > 0.7


def test_needs_joints_and_a_sole(khr1: hs.Model) -> None:
    """Without encoders, or in the air, nothing is said."""
    walker = Walker(khr1)
    robot = walking_robot(walker)
    plan = walker.tick(0.0).plan
    stepper = robot.simulation.start(walker.start())
    sensors = robot.walk.sensors(stepper.control_state().sample)
    half = SoleWrench(np.array([0.0, 0.0, 6.4]), np.zeros(3))
    sensors = sensors._replace(left=half, right=half)
    estimator = ComEstimator(
        khr1, walker.settings, walker.period, walker.pattern.weight
    )
    assert estimator.estimate(plan, sensors) is not None
    assert estimator.estimate(plan, sensors._replace(joints=None)) is None
    air = sensors.left._replace(force=np.zeros(3), moment=np.zeros(3))
    assert estimator.estimate(plan, sensors._replace(left=air, right=air)) is None
    bad = sensors._replace(joints=np.full(17, math.nan))
    with pytest.raises(hs.errors.ParameterError, match="finite"):
        walker.tick(0.02, bad)


def test_a_body_that_no_sole_holds_flies(khr1: hs.Model) -> None:
    """Thrown with its joints moving, it is seen where it is a tenth of a second on."""
    walker, period = Walker(khr1), 0.01
    q, v = walker.start(), np.zeros(khr1.nv)
    v[:6] = (0.4, -0.2, 0.3, 0.5, -1.0, 2.0)
    v[6:] = np.random.default_rng(3).uniform(-5.0, 5.0, khr1.nv - 6)
    stepper = hs.Simulation(
        khr1, ground=hs.Ground.empty(), method="time_stepping"
    ).start(q, v)
    weight = walker.pattern.weight
    half = SoleWrench(np.array([0.0, 0.0, 0.5 * weight]), np.zeros(3))

    def truth() -> tuple[BodyEstimate, WalkSensors]:
        q, v = stepper.q.copy(), stepper.v.copy()
        com, base = body_centre(khr1, q, v), pin.XYZQUATToSE3(q[:7])
        spin, pendulum = v[3:6], Pendulum(com.position[:2], com.velocity[:2], q[:2])
        sensors = WalkSensors(base.rotation, spin, half, half, q[7:], v[6:])
        velocity = base.rotation @ v[:3]
        return BodyEstimate(pendulum, com.position[2], base, velocity, spin), sensors

    body, sensors = truth()
    estimator = ComEstimator(khr1, walker.settings, period, weight)
    assert estimator.estimate(walker.tick(0.0).plan, sensors) is not None
    for k in range(10):
        stepper.advance((k + 1) * period)
        real, sensors = truth()
        body = estimator.in_flight(body, sensors)
    away = body.base.inverse() * real.base
    assert np.linalg.norm(away.translation) < 2e-4
    assert np.linalg.norm(pin.log3(away.rotation)) < 0.02
    assert abs(body.height - real.height) < 1e-4
    np.testing.assert_allclose(
        body.pendulum.velocity, real.pendulum.velocity, atol=2e-3
    )
    np.testing.assert_allclose(body.base_velocity, real.base_velocity, atol=2e-3)


@pytest.mark.parametrize("landed", [False, True])
def test_shares_of_a_measurement(khr1: hs.Model, landed: bool) -> None:
    """Four fifths of a change are seen at once; less of the speed after a landing."""
    walker = Walker(khr1)
    plan = walker.tick(0.0).plan
    robot = walking_robot(walker)
    stepper = robot.simulation.start(walker.start())
    sensors = robot.walk.sensors(stepper.control_state().sample)
    half = SoleWrench(np.array([0.0, 0.0, 6.4]), np.zeros(3))
    air = SoleWrench(np.zeros(3), np.zeros(3))
    rest = sensors._replace(left=half, right=air if landed else half)
    bent = rest._replace(
        right=half,
        joints=sensors.joints + np.radians(2.0),
        joint_speeds=np.full_like(sensors.joint_speeds, 0.1),
    )

    def estimator() -> ComEstimator:
        return ComEstimator(khr1, walker.settings, walker.period, walker.pattern.weight)

    filtered = estimator()
    before = filtered.estimate(plan, rest).pendulum
    after = filtered.estimate(plan, bent).pendulum
    alone = estimator().estimate(plan, bent).pendulum  # nothing was seen before it
    share = 0.15 if landed else 0.8
    place = before.com + walker.period * before.velocity
    speed = before.velocity + walker.period * plan.com_acceleration[:2]
    assert np.abs(alone.com - place).max() > 1e-3
    assert np.abs(alone.velocity - speed).max() > 1e-3
    np.testing.assert_allclose(after.com - place, 0.8 * (alone.com - place))
    np.testing.assert_allclose(
        after.velocity - speed, share * (alone.velocity - speed), rtol=1e-6
    )
