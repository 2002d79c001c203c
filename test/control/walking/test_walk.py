# SPDX-License-Identifier: Apache-2.0
"""Walking by velocity: one call is a whole walk, the scenario's."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.dynamics import problems


@pytest.fixture(scope="module")
def model() -> hs.Model:
    """The KHR-1."""
    return hs.load_model("khr1")


def test_walk_by_one_call(model: hs.Model) -> None:
    """The walk of one call is that of the scenario: one robot, one floor."""
    simulation = hs.Simulation(model, hs.Servo(model), hs.Walk(forward=0.06))
    run = simulation.run(t_end=1.8)
    written = hs.simulate("khr1-walk", t_end=1.8)
    assert np.allclose(run.t, written.t)
    assert np.allclose(run.q, written.q, atol=1e-9)
    assert run.info["options"] == written.info["options"]
    assert run.q[-1, 0] - run.q[0, 0] > 0.01
    assert run.summary().splitlines()[1].startswith("Walked")
    knee = model.joint_names.index("r_knee")
    assert np.array_equal(run.joint("r_knee"), run.q[:, 7 + knee])


def test_start_posture(model: hs.Model) -> None:
    """A walk starts where it would start in a simulation, soles on the ground."""
    walk = hs.Walk(forward=0.05)
    with pytest.raises(hs.errors.ParameterError, match="no model yet"):
        walk.start()
    before = walk.start(model)
    hs.Simulation(model, hs.Servo(model), walk)
    assert np.array_equal(walk.start(), before)
    assert abs(model.contact(before)[:, 2]).max() < 1e-6


def test_what_cannot_walk_is_refused(model: hs.Model) -> None:
    """Numbers without meaning and systems without legs."""
    with pytest.raises(hs.errors.ParameterError, match="velocity"):
        hs.Walk(forward=np.nan)
    with pytest.raises(hs.errors.ParameterError, match="before it begins"):
        hs.Walk(forward=0.05, begin=1.0, end=0.5)
    with pytest.raises(hs.errors.ParameterError, match="no biped"):
        hs.Simulation(problems.bouncing_ball(0.5), hs.Actuation(), hs.Walk(0.05))


def test_servo_takes_the_period_of_its_controller(model: hs.Model) -> None:
    """A set point arrives one command period later, unless the servo has its own."""
    start = hs.Walk().start(model)
    for own, expected in ((None, 0.02), (0.005, 0.005)):
        servo = hs.Servo(model, command_period=own)
        hs.Simulation(model, servo, hs.Walk())
        servo.initialise(0.0, start, np.zeros(model.nv))
        servo.command(0.0, start[7:] + 1e-3)
        assert servo.next_time(0.0) == pytest.approx(expected)


def test_it_plans_for_the_gravity_of_the_simulation(khr1: hs.Model) -> None:
    """The pendulum of the plan falls as slowly as the simulated body."""
    walks = {}
    for gravity in (9.81, 5.0):
        walks[gravity] = hs.Walk(forward=0.05)
        place = (0.0, 0.0, -gravity)
        hs.Simulation(khr1, hs.Servo(khr1), walks[gravity], gravity=place)
    for gravity, walk in walks.items():
        pattern = walk.walker.pattern
        height = pattern.settings.com_height
        assert pattern.omega == pytest.approx(np.sqrt(gravity / height), rel=1e-12)
        assert pattern.weight == pytest.approx(khr1.mass * gravity, rel=1e-12)
