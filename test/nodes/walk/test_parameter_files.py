# SPDX-License-Identifier: Apache-2.0
"""The parameter files of the walking graphs make their models walk."""

from __future__ import annotations

import pytest
import yaml

import humans_sim as hs
from humans_sim.applications.graphs import read_graph
from humans_sim.applications.walk_control import walking_robot
from humans_sim.control.walking import Velocity, Walker, WalkPhase
from humans_sim.control.walking.walk import ScheduledCommand


@pytest.mark.parametrize(("graph", "speed"), [("walk", 0.05), ("walk-bip", 0.15)])
def test_three_steps(graph: str, speed: float) -> None:
    """The file and that of the robot carry a walk that ends upright."""
    parameters = yaml.safe_load(read_graph(graph).parameters.read_text())
    model = hs.load_model(parameters["/**"]["ros__parameters"]["model"])
    given = parameters["/**/dynamics"]["ros__parameters"]
    period = given["sampling_period"]
    assert parameters["/**/walk"]["ros__parameters"]["period"] == period
    assert given["servo"]["command_period"] == period
    walker = Walker(model, period=period)
    simulation, walk = walking_robot(
        walker,
        [ScheduledCommand(0.0, Velocity(speed), 3)],
        servo=given["servo"],
        method=given["method"],
    )
    settings = walker.settings
    end = 2 * settings.shift_duration + 3 * settings.step_duration
    run = simulation.run(walker.start(), t_end=end, sampling_period=period)
    assert run.check().ok
    last = walk.commands[-1]
    assert last.plan.phase is WalkPhase.STANDING and last.plan.steps == 3
    assert not last.fallen and last.tilt < 0.1
    distance = run.q[-1, 0] - run.q[0, 0]
    planned = last.plan.com[0] - walk.commands[0].plan.com[0]
    assert distance == pytest.approx(planned, rel=0.2)


def test_held_torques_are_stable() -> None:
    """The graph ``servos`` has the robot's rotors, and damping that they can hold."""
    parameters = yaml.safe_load(read_graph("servos").parameters.read_text())
    model = hs.load_model(parameters["/**"]["ros__parameters"]["model"])
    dynamics = parameters["/**/dynamics"]["ros__parameters"]
    given = parameters["/**/actuation"]["ros__parameters"]["servo"]
    numbers = hs.Servo(model, **given).numbers
    assert dynamics["armature"] == numbers.rotor_inertia
    slope = numbers.viscous + numbers.coulomb / numbers.coulomb_speed
    held = (numbers.damping + slope) * dynamics["sampling_period"]
    assert held < 2 * numbers.rotor_inertia


def test_a_real_robot_stops_without_its_leader() -> None:
    """The graph of the real robot ends a walk whose ``cmd_vel`` is not repeated."""
    parameters = yaml.safe_load(read_graph("kondo_walk").parameters.read_text())
    given = parameters["/**/kondo_walk"]["ros__parameters"]
    assert 0.0 < given["cmd_vel_timeout"] <= 2.0
