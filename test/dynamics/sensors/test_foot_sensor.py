# SPDX-License-Identifier: Apache-2.0
"""Sensors in the soles against weight and statics."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.dynamics.sensors import SoleWrenches, wrenches_on_soles
from humans_sim.dynamics.soles import Soles
from humans_sim.results.run import Run

G = 9.81
SOLES = ("l_sole", "r_sole")


def vector(run: Run, name: str) -> np.ndarray:
    """A signal of three axes (n, 3)."""
    return np.column_stack([run.signal(f"{name}_{axis}") for axis in "xyz"])


@pytest.mark.parametrize("method", ["event_driven", "time_stepping"])
def test_standing(khr1: hs.Model, method: str) -> None:
    """Both feet carry the weight; pressed where its line meets the ground."""
    sim = hs.Simulation(
        khr1,
        locked=["*"],
        method=method,
        sensors=[hs.FootSensor(sole) for sole in SOLES],
    )
    run = sim.run(khr1.neutral(), t_end=0.1)
    q = run.q[-1]
    load, point = 0.0, np.zeros(2)
    for sole in SOLES:
        pose = khr1.frame_pose(q, sole)
        force = pose.rotation @ vector(run, f"{sole}/force")[-1]
        torque = pose.rotation @ vector(run, f"{sole}/torque")[-1]
        pressed = pose.act(vector(run, f"{sole}/centre_of_pressure")[-1])
        # About its centre of pressure the ground's wrench has no tilting moment.
        tilt = torque - np.cross(pressed - pose.translation, force)
        assert np.abs(tilt[:2]).max() < 1e-9
        load += force[2]
        point += force[2] * pressed[:2]
    assert load == pytest.approx(khr1.mass * G, rel=1e-6)
    np.testing.assert_allclose(point / load, khr1.com(q)[:2], atol=1e-6)


def test_in_the_air(khr1: hs.Model) -> None:
    """Nothing presses: no force, and no centre of pressure."""
    sim = hs.Simulation(
        khr1,
        locked=["*"],
        ground=hs.Ground.empty(),
        sensors=[hs.FootSensor("l_sole", name="foot")],
    )
    run = sim.run(t_end=0.03)
    assert not vector(run, "foot/force").any()
    assert np.isnan(vector(run, "foot/centre_of_pressure")).all()


def test_noise_reaches_the_centre_of_pressure(khr1: hs.Model) -> None:
    """The centre of pressure is that of what is measured, not of what is true."""
    errors = hs.SignalErrors(bias=0.01)
    sim = hs.Simulation(
        khr1,
        locked=["*"],
        sensors=[hs.FootSensor("l_sole", torque=errors)],
    )
    run = sim.run(khr1.neutral(), t_end=0.02)
    force, torque = vector(run, "l_sole/force")[-1], vector(run, "l_sole/torque")[-1]
    pressed = vector(run, "l_sole/centre_of_pressure")[-1]
    expected = np.array([-torque[1], torque[0]]) / force[2]
    np.testing.assert_allclose(pressed[:2], expected, atol=1e-12)


def test_torsional_friction_is_felt(khr1: hs.Model) -> None:
    """On ice, a robot that spins feels the moment l m g against it, nothing else."""
    length = 5e-3
    sim = hs.Simulation(
        khr1,
        locked=["*"],
        contacts=hs.Contacts(whole_body=False),
        method="time_stepping",
        ground=hs.Ground(friction=0.0, torsional=length),
        sensors=[hs.FootSensor(sole) for sole in SOLES],
    )
    v = np.zeros(khr1.nv)
    v[5] = 2.0
    run = sim.run(khr1.neutral(), v, t_end=0.03)
    felt = [run.signal(f"{sole}/torque_z")[-1] for sole in SOLES]
    assert sum(felt) == pytest.approx(-length * khr1.mass * G, rel=1e-4)


def test_wrenches_on_soles() -> None:
    """Forces where they act and moments, of each sole's contacts, in its own frame."""
    rng = np.random.default_rng(3)
    place, force, moment = rng.normal(size=(3, 7, 3))
    soles = [pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3)) for _ in "lr"]
    poses = np.array([sole.homogeneous for sole in soles])
    wrenches = wrenches_on_soles(poses, np.array([3, 7]), place, force, moment)
    for sole, rows, wrench in zip(
        soles, (slice(3), slice(3, 7)), wrenches, strict=True
    ):
        arms = place[rows] - sole.translation
        about = (np.cross(arms, force[rows]) + moment[rows]).sum(axis=0)
        expected = [sole.rotation.T @ x for x in (force[rows].sum(axis=0), about)]
        np.testing.assert_allclose(wrench, expected, atol=1e-13)


def test_wrenches_are_the_loads(khr1: hs.Model) -> None:
    """What sensors feel is what the page and topics show of the same sample."""
    simulation = hs.Simulation(khr1, Servo(khr1), method="time_stepping")
    stepper = simulation.start(khr1.standing(khr1.neutral()[7:]))
    stepper.advance(0.1)
    sample, soles = stepper.sample(), Soles(simulation.system)
    measured = SoleWrenches(simulation.system)
    loads = soles.loads(sample, soles.points(sample))
    assert measured.names == tuple(load.name for load in loads)
    assert sum(load.force[2] for load in loads) > 0.5 * 9.81 * khr1.mass
    expected = [(load.force, load.moment) for load in loads]
    np.testing.assert_allclose(measured.measure(sample), expected, rtol=1e-12)
