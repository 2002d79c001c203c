# SPDX-License-Identifier: Apache-2.0
"""One assembly of a simulated robot, from one file."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation.robots import RobotSetup
from humans_sim.actuation.servo_set import ServoNumbers, has_robot_file
from humans_sim.applications.scenarios import read_scenario
from humans_sim.applications.walk_control import walking_robot
from humans_sim.control.walking import Walker, WalkSettings
from humans_sim.core.errors import ModelFileError, ParameterError
from humans_sim.core.resources import resource_names
from humans_sim.kondo.emulation.simulated_body import BodySettings, SimulatedBody
from humans_sim.models.catalogue import load_model
from humans_sim.view.browser.live import LiveWalk


@pytest.mark.parametrize("name", resource_names("robots"))
def test_steps_are_stable_with_the_damping_of_the_servos(name: str) -> None:
    """A rotor alone comes to rest: damping times the step is below two inertias.

    At rest the friction of the gear damps, too, by the slope of its curve.
    """
    setup = RobotSetup.from_file(name)
    numbers = setup.servo
    friction = numbers.viscous + numbers.coulomb / numbers.coulomb_speed
    damping = numbers.damping + friction
    assert damping * setup.time_step < 1.9 * numbers.rotor_inertia
    assert has_robot_file(load_model(name))


def test_a_model_without_a_file_has_defaults(human: hs.Model) -> None:
    """They are those of servos, floors and simulations themselves."""
    assert not has_robot_file(human)
    assert RobotSetup.of_model(human) == RobotSetup()
    assert RobotSetup().ground() == hs.Ground()
    assert hs.Servo(human).numbers == ServoNumbers()
    own = hs.Walk().simulation_arguments(human)
    assert own == {"method": "time_stepping", "integrator": "rosenbrock"}


def test_small_servos_do_not_carry_a_human(
    human: hs.Model, khr1: hs.Model, bip: hs.Model
) -> None:
    """What nobody chose is a small robot's: too weak for a human, which is said."""
    assert "human36 is too heavy" in RobotSetup.of_model(human).servo_problem(human)
    for robot in (khr1, bip):
        assert not RobotSetup.of_model(robot).servo_problem(robot)
    assert not RobotSetup().servo_problem(khr1)


def test_scenario_viewer_boards_and_library_simulate_one_robot(khr1: hs.Model) -> None:
    """The same servos, floor, contacts, steps and fall limit in all of them."""
    setup = RobotSetup.of_model(khr1)
    walker = Walker(khr1, period=setup.sampling_period)
    scenario = read_scenario("khr1-walk").prepare()[0]
    body, live = SimulatedBody(), LiveWalk(khr1)
    call = hs.Simulation(khr1, hs.Servo(khr1), hs.Walk(forward=0.05))
    simulations = [walking_robot(walker).simulation, scenario, body.simulation, call]
    for simulation in simulations:
        assert simulation.method == setup.method
        assert simulation.options.time_step == setup.time_step
        assert simulation.system.ground.friction == setup.friction
        points = simulation.system.contact_points
        assert points == simulations[0].system.contact_points
        radii = simulation.system.radii
        np.testing.assert_array_equal(radii, simulations[0].system.radii)
        assert simulation.actuation.numbers == setup.servo
        armature = simulation.actuation.armature[6:]
        np.testing.assert_array_equal(armature, setup.servo.rotor_inertia)
    assert call.controller.period == setup.sampling_period
    assert live._setup == setup and live.ground == setup.ground()
    assert WalkSettings.of_model(khr1).fall_tilt == setup.fall_tilt


def test_servos_are_as_strong_and_fast_as_the_joints_of_the_model(
    khr1: hs.Model,
) -> None:
    """The model's description and the servos quote one data sheet."""
    numbers = RobotSetup.of_model(khr1).servo
    assert set(khr1.pin.effortLimit[6:]) == {numbers.stall_torque}
    assert set(khr1.pin.velocityLimit[6:]) == {numbers.no_load_speed}
    assert numbers.speed == numbers.no_load_speed


def test_what_is_given_takes_the_place_of_a_number(khr1: hs.Model) -> None:
    """A scenario, boards and the library change one number and keep the others."""
    setup = RobotSetup.of_model(khr1)
    body = SimulatedBody(settings=BodySettings(friction=0.5, servo={"gain": 20.0}))
    assert body.simulation.system.ground.friction == 0.5
    assert body.servo.numbers == replace(setup.servo, gain=20.0)
    assert hs.Servo(khr1, gain=20.0).numbers == replace(setup.servo, gain=20.0)
    assert hs.Servo(khr1, numbers=ServoNumbers()).numbers == ServoNumbers()
    floor = hs.Ground(friction=0.9)
    walk = hs.Simulation(khr1, hs.Servo(khr1), hs.Walk(), floor, time_step=5e-4)
    assert walk.system.ground == floor and walk.options.time_step == 5e-4
    simulation = setup.simulation(
        khr1, time_step=5e-4, contacts=hs.Contacts(points=khr1.contact_names)
    )
    assert simulation.options.time_step == 5e-4
    assert simulation.system.contact_points == khr1.contact_names
    scenario = read_scenario("khr1-walk").with_changes(
        friction=0.9, options={"time_step": 2e-4}
    )
    changed = scenario.prepare()[0]
    assert changed.system.ground.friction == 0.9
    assert changed.options.time_step == 2e-4


def test_own_files_are_read_and_wrong_ones_refused(tmp_path: Path) -> None:
    """Angles are degrees; an error names the file and what is wrong."""
    path = tmp_path / "mine.yaml"
    path.write_text("servo: {gain: 5}\nfall_tilt: 40\n")
    setup = RobotSetup.from_file(path)
    assert setup == replace(
        RobotSetup(), servo=ServoNumbers(gain=5.0), fall_tilt=math.radians(40)
    )
    for text, words in (
        ("servo: {torque: 5}", "torque"),
        ("servo: {gain: -1}", "gain must be 0 or more"),
        ("servo: {speed: 0}", "speed must be above zero"),
        ("friction: -1", "friction must be 0 or more"),
        ("time_step: 0", "time_step must be above zero"),
        ("method: magic", "method"),
    ):
        path.write_text(text)
        with pytest.raises(ModelFileError, match=words):
            RobotSetup.from_file(path)
    with pytest.raises(ParameterError, match="no robot is called 'tin man'"):
        RobotSetup.from_file("tin man")
