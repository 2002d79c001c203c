# SPDX-License-Identifier: Apache-2.0
"""Servos that follow positions alone: what a walk gains by commanding ahead."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.actuation.robots import RobotSetup
from humans_sim.applications.walk_control import walk_servos
from humans_sim.control.walking import Velocity, Walker, WalkSettings
from humans_sim.control.walking.walk import ScheduledCommand, ServoWalk

LAG = 0.114


def walked(model: hs.Model, ahead: float) -> tuple[float, float]:
    """Share of the planned distance, and the largest tilt [deg]."""
    setup = replace(RobotSetup.of_model(model), lag=LAG)
    # A walk that trails far behind would try to catch itself by steps.
    settings = replace(WalkSettings.of_model(model), catch_error=0.0)
    walker = Walker(model, settings, period=setup.sampling_period)
    schedule = [ScheduledCommand(0.5, Velocity(0.05)), ScheduledCommand(3.0, None)]
    walk = ServoWalk(walker, schedule, ahead)
    simulation = setup.simulation(model, walk_servos(setup, walker, {}), walk)
    run = simulation.run(walker.start(), t_end=4.5, sampling_period=0.02)
    plans = [command.plan.q[0] for command in walk.commands]
    tilt = max(command.tilt for command in walk.commands)
    return (run.q[-1, 0] - run.q[0, 0]) / (plans[-1] - plans[0]), math.degrees(tilt)


@pytest.mark.study
def test_commanding_ahead_makes_up_for_the_lag(khr1: hs.Model) -> None:
    """It goes farther and tilts half as much."""
    (share, tilt), (short, sway) = walked(khr1, LAG), walked(khr1, 0.0)
    assert share > 0.93 and share > short + 0.05
    assert tilt < 2.0 and tilt < 0.5 * sway


def test_set_points_trail_by_the_lag(khr1: hs.Model) -> None:
    """On a ramp the torque is that of a set point so much earlier."""
    q, v = khr1.neutral(), np.zeros(khr1.nv)
    count = len(khr1.joint_names)
    torques = []
    for lag, shift in ((0.05, 0.0), (0.0, -0.05)):
        servo = Servo(khr1, command_period=1.0, lag=lag)
        servo.initialise(0.0, q, v)
        servo.apply(0.0, q[7:] + 0.2)
        torques.append(servo.dynamics(0.3 + shift, q, v, np.zeros(0))[0])
    np.testing.assert_allclose(torques[0], torques[1], atol=1e-12)
    assert np.abs(torques[0][6:]).min() > 0.1 and len(torques[0]) == 6 + count
    with pytest.raises(hs.errors.ParameterError, match="lag"):
        Servo(khr1, lag=-1.0)
