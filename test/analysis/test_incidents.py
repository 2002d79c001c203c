# SPDX-License-Identifier: Apache-2.0
"""Robots that are too weak, too heavy or at their limits: joint and time are told."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation.servo import SERVO_NUMBERS
from humans_sim.analysis.run_motion import RunMotion
from humans_sim.analysis.summary import (
    FALL,
    JOINT_LIMIT,
    TORQUE_LIMIT,
    incident_lines,
    incidents_of,
    saturated,
)
from humans_sim.applications.scenarios import read_scenario
from humans_sim.applications.walk_control import walking_robot
from humans_sim.control.walking import Velocity, Walker
from humans_sim.control.walking.walk import ScheduledCommand
from humans_sim.results.run import Run


@pytest.fixture(scope="module")
def sound() -> Run:
    """The KHR-1 as it is, its first steps."""
    return read_scenario("khr1-walk", {"time.end": "1.6"}).run()


@pytest.fixture(scope="module")
def weak() -> Run:
    """The same with a sixth of its torque."""
    settings = {"time.end": "2.6", "actuation.servo.stall_torque": "0.15"}
    return read_scenario("khr1-walk", settings).run()


def test_a_sound_walk_has_none(sound: Run) -> None:
    """Its servos have the torque that they want, but for moments."""
    assert incidents_of(sound) == ()
    assert saturated(RunMotion.of_run(sound)).mean() < 0.02


def test_a_robot_that_is_too_weak(weak: Run) -> None:
    """It falls, its knees before that at their torque limits: joint, share and time."""
    incidents = incidents_of(weak)
    (fall,) = [i for i in incidents if i.kind == FALL]
    limited = {i.joint: i for i in incidents if i.kind == TORQUE_LIMIT}
    assert {"l_knee", "r_knee"} <= set(limited)
    assert all(i.time < fall.time and i.share >= 0.3 for i in limited.values())
    assert limited["l_knee"].share > 0.6
    assert [i.time for i in incidents] == sorted(i.time for i in incidents)
    # The fall is when the base's own vertical leaves the cone of the robot's file.
    x, y = weak.q[:, 3], weak.q[:, 4]
    tilt = np.degrees(np.arccos(1 - 2 * (x * x + y * y)))
    assert fall.time == pytest.approx(weak.t[np.argmax(tilt > 35)], abs=1e-9)
    lines = incident_lines(incidents)
    assert any(
        line.startswith(f"fell at {fall.time:.2f} s (trunk tilt") for line in lines
    )
    assert any("l_knee at its torque limit" in line for line in lines)
    assert len(lines) <= 11


def test_torque_limits_are_those_of_the_torques(weak: Run) -> None:
    """Between commands, servos that want more than they have give all they have.

    The torques of the run itself are the oracle, sampled ten times as often as commands
    come; at the times of commands they jump.
    """
    settings = {
        "time.end": "1.2",
        "time.sampling_period": "0.002",
        "actuation.servo.stall_torque": "0.2",
    }
    run = read_scenario("khr1-walk", settings).run()
    motion = RunMotion.of_run(run)
    rows = [run.info[SERVO_NUMBERS][name] for name in motion.model.joint_names]
    _, _, stall, no_load, _, viscous, coulomb, slow = np.array(rows).T
    speed = run.v[:, 6:]
    motor = run.torques[:, 6:] + viscous * speed + coulomb * np.tanh(speed / slow)
    line = np.clip(stall * (1 - np.sign(motor) * speed / no_load), 0.0, stall)
    gives_all = (np.abs(motor) >= line * (1 - 1e-6)) & (np.abs(motor) > 1e-3)
    between = ~np.isclose((run.t + 1e-9) % 0.02, 0.0, atol=1e-6)
    assert gives_all[between].mean() > 0.05
    agree = gives_all[between] == saturated(motion)[between]
    assert agree.mean() > 0.99


def test_a_robot_that_is_too_heavy() -> None:
    """Four times its mass is more than its knees carry: that is told."""
    model = hs.load_model("khr1", mass=5.2)
    walker = Walker(model, period=0.02)
    schedule = [ScheduledCommand(0.3, Velocity(0.06, 0.0, 0.0))]
    simulation, _ = walking_robot(walker, schedule)
    run = simulation.run(walker.start(), t_end=1.6, sampling_period=0.02)
    incidents = incidents_of(run)
    legs = [i.joint for i in incidents if i.kind == TORQUE_LIMIT]
    assert any("knee" in name for name in legs), legs


def test_joint_limits(sound: Run) -> None:
    """The first time at an end of the range; a joint that begins there is left out."""
    model = hs.load_model("khr1")
    j = model.joint_names.index("l_ankle_pitch")
    k = model.joint_names.index("r_elbow")
    q = sound.q.copy()
    q[40:45, 7 + j] = model.upper_limits[j]
    q[:, 7 + k] = model.lower_limits[k]
    (told,) = [i for i in incidents_of(replace(sound, q=q)) if i.kind == JOINT_LIMIT]
    assert told.joint == "l_ankle_pitch" and told.time == sound.t[40]
    angle = math.degrees(model.upper_limits[j])
    assert told.text == (
        f"l_ankle_pitch at its upper joint limit ({angle:.0f} deg) at 0.80 s"
    )


def test_efforts_of_ideal_torques(sound: Run) -> None:
    """Without servos the effort limits of the model count."""
    info = {k: v for k, v in sound.info.items() if k != SERVO_NUMBERS}
    torques = np.zeros_like(sound.torques)
    model = hs.load_model("khr1")
    torques[30:, 6] = model.effort_limits[0]
    run = replace(sound, info=info, torques=torques)
    (told,) = incidents_of(run)
    assert told.joint == model.joint_names[0] and told.share == 1.0
    assert told.time == sound.t[30]


def test_what_is_no_biped() -> None:
    """Balls do not fall, and damaged records raise nothing."""
    assert incidents_of(read_scenario("bounce", {"time.end": "0.2"}).run()) == ()


def test_damaged_records(sound: Run) -> None:
    """A run whose record of servos is damaged has no incidents, and no error."""
    for record in ({}, {"l_knee": [1.0]}, [], None):
        run = replace(sound, info={**sound.info, SERVO_NUMBERS: record})
        assert incidents_of(run) == ()
