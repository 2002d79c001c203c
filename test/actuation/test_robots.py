# SPDX-License-Identifier: Apache-2.0
"""One assembly of a simulated robot, from one file."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation.robots import RobotSetup, has_setup, servo_defaults
from humans_sim.applications.robots import walking_robot
from humans_sim.applications.scenarios import read_scenario
from humans_sim.control.walking import Walker, WalkSettings
from humans_sim.core.errors import ModelFileError, ParameterError
from humans_sim.core.resources import resource_names
from humans_sim.kondo.emulation.simulated_body import BodySettings, SimulatedBody
from humans_sim.models.catalogue import load_model
from humans_sim.view.browser.live_walk import LiveWalk


@pytest.mark.parametrize("name", resource_names("robots"))
def test_steps_are_stable_with_the_damping_of_the_servos(name: str) -> None:
    """A rotor alone comes to rest: damping times the step is below two inertias."""
    setup = RobotSetup.from_file(name)
    numbers = servo_defaults(setup)
    assert numbers["damping"] * setup.time_step < 2 * numbers["rotor_inertia"]
    assert has_setup(load_model(name))


def test_a_model_without_a_file_has_defaults(human: hs.Model) -> None:
    """They are those of servos, floors and simulations themselves."""
    assert not has_setup(human)
    assert RobotSetup.of_model(human) == RobotSetup()
    assert RobotSetup().ground() == hs.Ground()
    assert RobotSetup().contacts(human) == {}


def test_scenario_viewer_boards_and_library_simulate_one_robot(khr1: hs.Model) -> None:
    """The same servos, floor, contacts, steps and fall limit in all of them."""
    setup = RobotSetup.of_model(khr1)
    walker = Walker(khr1, period=setup.sampling_period)
    scenario = read_scenario("khr1-walk").prepare()[0]
    body, live = SimulatedBody(), LiveWalk(khr1)
    simulations = [walking_robot(walker).simulation, scenario, body.simulation]
    for simulation in simulations:
        assert simulation.method == setup.method
        assert simulation.options.time_step == setup.time_step
        assert simulation.system.ground.friction == setup.friction
        points = simulation.system.contact_points
        assert points == simulations[0].system.contact_points
        np.testing.assert_array_equal(
            simulation.actuation._parameters, setup.servos(khr1)._parameters
        )
        np.testing.assert_array_equal(
            simulation.actuation.armature, setup.servos(khr1).armature
        )
    assert live._setup == setup and live.ground == setup.ground()
    assert WalkSettings.of_model(khr1).fall_tilt == setup.fall_tilt


def test_what_is_given_takes_the_place_of_a_number(khr1: hs.Model) -> None:
    """A scenario, boards and the library change one number and keep the others."""
    setup = RobotSetup.of_model(khr1)
    body = SimulatedBody(settings=BodySettings(friction=0.5, servo={"gain": 20.0}))
    assert body.simulation.system.ground.friction == 0.5
    assert body.servo._parameters[0] == 20.0
    assert body.servo._parameters[1] == setup.servo["damping"]
    simulation = setup.simulation(khr1, time_step=5e-4, contacts=khr1.contact_names)
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
        RobotSetup(), servo={"gain": 5.0}, fall_tilt=math.radians(40)
    )
    for text, words in (
        ("servo: {torque: 5}", "torque"),
        ("friction: -1", "friction must be 0 or more"),
        ("time_step: 0", "time_step must be above zero"),
        ("method: magic", "method"),
    ):
        path.write_text(text)
        with pytest.raises(ModelFileError, match=words):
            RobotSetup.from_file(path)
    with pytest.raises(ParameterError, match="no robot is called 'tin man'"):
        RobotSetup.from_file("tin man")
    with pytest.raises(ParameterError, match="no number 'torque'"):
        RobotSetup(servo={"torque": 1.0})
