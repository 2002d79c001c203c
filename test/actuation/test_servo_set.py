# SPDX-License-Identifier: Apache-2.0
"""Servos of their own for some joints: files, proposals from URDFs, torques."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation.robots import RobotSetup
from humans_sim.actuation.servo_set import LAG, ServoNumbers, ServoSet, proposed_servos
from humans_sim.core.yaml_file import parse_yaml


@pytest.fixture
def robot(khr1: hs.Model, tmp_path: Path) -> hs.Model:
    """The KHR-1 as a URDF that the package does not know."""
    path = khr1.save(tmp_path / "mine.urdf")
    path.write_text(path.read_text().replace('name="khr1"', 'name="mine"', 1))
    return hs.load_model(path)


def test_torques_of_different_servos(khr1: hs.Model) -> None:
    """Each joint pulls by its own gain, up to its own torque."""
    common = ServoNumbers(gain=10.0, damping=0.0, coulomb=0.0, viscous=0.0)
    strong = replace(common, gain=100.0, stall_torque=5.0)
    weak = replace(common, stall_torque=0.1)
    servo = hs.Servo(khr1, numbers=common, joints={"l_knee": strong, "r_knee": weak})
    q = khr1.neutral()
    servo.initialise(0.0, q, np.zeros(khr1.nv))
    servo.apply(0.0, np.full(len(khr1.joint_names), 0.03))
    nothing = np.zeros(0, dtype=bool)
    servo.handle(1.0, q, np.zeros(khr1.nv), np.zeros(0), nothing)
    torques = servo.dynamics(1.0, q, np.zeros(khr1.nv), np.zeros(0))[0][6:]
    for name, torque in zip(khr1.joint_names, torques, strict=True):
        expected = {"l_knee": 3.0, "r_knee": 0.1}.get(name, 0.3)
        assert torque == pytest.approx(expected), name


def test_set_points_run_at_their_own_speeds(khr1: hs.Model) -> None:
    """A slow servo takes longer to the same angle."""
    common = ServoNumbers(speed=2.0)
    servo = hs.Servo(
        khr1, numbers=common, joints={"l_knee": replace(common, speed=0.5)}
    )
    servo.initialise(0.0, khr1.neutral(), np.zeros(khr1.nv))
    servo.apply(0.0, np.ones(len(khr1.joint_names)))
    points = servo.set_point(0.4)[0]
    knee = khr1.joint_names.index("l_knee")
    assert points[knee] == pytest.approx(0.2)
    assert np.delete(points, knee) == pytest.approx(0.8)


def test_changes_are_of_all_joints(khr1: hs.Model) -> None:
    """A number that is given takes the place of every joint's."""
    own = {"l_knee": ServoNumbers(rotor_inertia=0.5)}
    servo = hs.Servo(khr1, joints=own, rotor_inertia=0.25)
    assert servo.armature[6:] == pytest.approx(0.25)
    assert hs.Servo(khr1, joints=own).armature[6:].max() == 0.5


def test_sections_of_files() -> None:
    """Joints differ from the others in what their lines say."""
    text = "{gain: 30, damping: 2, joints: {knee: {gain: 60}, hip: {speed: 3}}}"
    servos = ServoSet.of_section(parse_yaml(text))
    assert (servos.of_joint("knee").gain, servos.of_joint("knee").damping) == (60, 2)
    assert (servos.of_joint("hip").gain, servos.of_joint("hip").speed) == (30, 3)
    assert servos.of_joint("ankle") == servos.common


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{joints: {knee: {gain: -1}}}", "gain must be 0 or more"),
        ("{joints: {knee: {strength: 1}}}", "unknown key"),
        ("{joints: {knee: {play: 0.1}}}", "the play must be that of the others"),
        ("{speed: 0}", "speed must be above zero"),
    ],
)
def test_faults_in_files(text: str, why: str) -> None:
    """Numbers without meaning are refused, with their places."""
    with pytest.raises(hs.errors.ModelFileError, match=why):
        ServoSet.of_section(parse_yaml(text))


def test_joints_that_are_not_there(khr1: hs.Model) -> None:
    """A servo of an unknown joint is refused."""
    with pytest.raises(hs.errors.ParameterError, match="no joint 'tail'"):
        hs.Servo(khr1, joints={"tail": ServoNumbers()})


def test_proposals_from_a_urdf(robot: hs.Model) -> None:
    """Torque and speed of the URDF; gains near those the KHR-1 walks with."""
    servos = proposed_servos(robot)
    assert set(servos) == set(robot.joint_names)
    own = RobotSetup.from_file("khr1").servo
    for name, item in servos.items():
        j = 6 + robot.joint_names.index(name)
        assert item.stall_torque == robot.pin.effortLimit[j]
        assert item.no_load_speed == robot.pin.velocityLimit[j]
        assert item.damping == pytest.approx(LAG * item.gain)
    for name in ("l_knee", "r_ankle_roll", "l_hip_roll"):
        assert 0.5 * own.gain < servos[name].gain < 2.0 * own.gain
    assert servos["l_elbow"].gain < servos["l_knee"].gain
    assert hs.Servo(robot).armature[6:].min() > 0


def test_a_file_beside_the_urdf(robot: hs.Model) -> None:
    """Servos and floor of ``mine.robot.yaml`` take the place of proposals."""
    file = robot.parts.source.with_name("mine.robot.yaml")
    file.write_text("servo: {gain: 12, joints: {l_knee: {gain: 15}}}\nfriction: 0.4\n")
    setup = RobotSetup.of_model(robot)
    assert setup.friction == 0.4 and setup.servo.gain == 12.0
    assert setup.servo_joints["l_knee"].gain == 15.0
    assert hs.Servo(robot).numbers.gain == 12.0
    file.write_text("servo: {gain: strong}\n")
    with pytest.raises(hs.errors.ModelFileError, match="mine.robot.yaml:1"):
        RobotSetup.of_model(robot)
