# SPDX-License-Identifier: Apache-2.0
"""Tests of robots that fall on a chair: nothing overlaps, and it counts if it does."""

import shutil
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from press import hand_above, press
from typer.testing import CliRunner

import humans_sim as hs
from humans_sim.cli.commands import app
from humans_sim.models.collision_shapes import collision_shapes

NAME = "deepest overlap of solids"


def lowest(model: hs.Model, q: np.ndarray) -> float:
    """Height of the lowest point of all solids [m]."""
    data, heights = model.data(), []
    pin.forwardKinematics(model.pin, data, q)
    for shape in collision_shapes(model):
        pose = data.oMi[shape.joint]
        up = shape.vertices @ pose.rotation[2] + pose.translation[2]
        heights.append(up.min() - shape.radius)
    return min(heights)


def falls_back(
    model: hs.Model, seat: float, actuation: hs.Servo, lies: bool = False
) -> hs.Run:
    """A robot that stands in front of a chair and tips over, or lies above its seat."""
    ground = hs.Ground(friction=0.7).with_chair(x=-0.1, seat_height=seat)
    q = model.neutral()
    q[7:] = np.clip(q[7:], model.lower_limits, model.upper_limits)
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.0, np.radians(-14.0), 0.0)).coeffs()
    if lies:
        q[3:7] = pin.Quaternion(pin.exp3(np.array([0.0, -np.pi / 2, 0.0]))).coeffs()
    q[2] += (seat + 0.05 if lies else 0.0) - lowest(model, q)
    sim = hs.Simulation(model, actuation, ground=ground, method="time_stepping")
    return sim.run(q, t_end=1.0, sampling_period=0.01)


def judge(run: hs.Run) -> None:
    """It lies on the chair, in which nothing is, and its check is clean."""
    touched = {n for k, n in enumerate(run.table.names) if run.contacts[:, k].any()}
    assert any("/chair_" in name for name in touched)
    check = run.check()
    assert check[NAME].ok and check[NAME].value < 1e-5
    assert check.ok, [f for f in check.findings if f.ok is False]


def test_human36_falls_on_a_chair() -> None:
    """Limp but for some dry friction."""
    human = hs.load_model("human36")
    limp = hs.Servo(
        human,
        gain=0.0,
        damping=0.0,
        coulomb=1.0,
        coulomb_speed=0.5,
        viscous=1.0,
        rotor_inertia=0.003,
    )
    judge(falls_back(human, 0.42, limp))


def test_a_robot_of_its_urdf_falls_on_a_chair(
    shared_data: Path, tmp_path: Path
) -> None:
    """The Unitree G1, of which shoulders and feet are solid."""
    urdf = shared_data / "robots" / "g1" / "g1_29dof.urdf"
    if not urdf.is_file():
        pytest.skip(f"the URDF of the Unitree G1 not found at {urdf}")
    own = tmp_path / "g1.urdf"
    shutil.copy(urdf, own)
    done = CliRunner().invoke(app, ["init-robot", str(own), "--no-trial"])
    assert done.exit_code == 0, done.output
    robot = hs.load_model(own)
    limp = hs.Servo(
        robot,
        gain=0.0,
        damping=0.0,
        coulomb=0.5,
        coulomb_speed=0.5,
        viscous=0.5,
        rotor_inertia=0.01,
    )
    judge(falls_back(robot, 0.35, limp, lies=True))


@pytest.mark.parametrize("touch", [True, False])
def test_a_pair_that_is_switched_off_fails(tmp_path: Path, touch: bool) -> None:
    """A hand falls on a plate; where they do not touch, the check says so."""
    model = press(tmp_path)
    off = {"exclude": [] if touch else [["base_link", "hand"]]}
    sim = hs.Simulation(
        model,
        method="time_stepping",
        locked=["base"],
        ground=hs.Ground.empty(),
        contacts=hs.Contacts(self_collision=off),
    )
    run = sim.run(hand_above(model, 0.03, 0.1), t_end=0.3)
    found = run.check()[NAME]
    assert found.ok is touch
    assert touch or (found.value > 1e-3 and "base_link and hand" in found.where)


@pytest.mark.parametrize("method", ["time_stepping", "event_driven"])
def test_a_body_that_is_switched_off_fails(method: str) -> None:
    """A robot that falls on its feet alone is in the floor, and the check says so."""
    khr1 = hs.load_model("khr1")
    q = khr1.neutral()
    q[3:7] = pin.Quaternion(pin.exp3(np.array([0.0, 0.6, 0.0]))).coeffs()
    for whole in (True, False):
        contacts = hs.Contacts(whole_body=whole)
        sim = hs.Simulation(khr1, method=method, locked=["*"], contacts=contacts)
        start = q.copy()
        start[2] += 0.05
        run = sim.run(start, t_end=0.5, sampling_period=0.01)
        assert run.check()[NAME].ok is whole
