# SPDX-License-Identifier: Apache-2.0
"""Compiled right-hand sides against pinocchio's, whole steps against their stages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.contact.problem.law import SLIDE, STICK
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.applied_loads import AppliedLoads
from humans_sim.dynamics.event_driven.smooth_motion import SmoothMotion
from humans_sim.dynamics.joints import JointDissipation
from humans_sim.dynamics.model_system import ModelSystem

LEGS = """<robot name="legs">
  <link name="base_link"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.3" ixy="0.01" ixz="0" iyz="0"/>
    </inertial></link>
  <link name="trunk"><inertial><origin xyz="0.1 0 0.2"/><mass value="2"/>
    <inertia ixx="0.2" iyy="0.1" izz="0.1" ixy="0" ixz="0.02" iyz="0"/>
    </inertial></link>
  <joint name="waist" type="fixed"><origin xyz="0 0.02 0.1" rpy="0.1 0 0.2"/>
    <parent link="base_link"/><child link="trunk"/></joint>
  <link name="leg"><inertial><origin xyz="0 0 -0.2"/><mass value="0.5"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
    </inertial></link>
  <joint name="hip" type="revolute"><origin xyz="0 0.1 0"/>
    <parent link="trunk"/><child link="leg"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
    <dynamics damping="0.3"/></joint>
  <link name="foot"><inertial><origin xyz="0.05 0 0"/><mass value="0.2"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
    </inertial></link>
  <joint name="ankle" type="fixed"><origin xyz="0 0 -0.4" rpy="0 0.3 0"/>
    <parent link="leg"/><child link="foot"/></joint>
  <link name="rod"><inertial><mass value="0.4"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
    </inertial></link>
  <joint name="slider" type="prismatic"><origin xyz="0 -0.1 0" rpy="0 0 0.4"/>
    <parent link="base_link"/><child link="rod"/><axis xyz="0 0.6 -0.8"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""
TIPS = """title: legs
tags:
  - {name: toe, link: foot, xyz: [0.1, 0, 0]}
  - {name: tip, link: rod, xyz: [0, 0, -0.3]}
contacts: [toe, tip]
"""


def model_of(name: str, folder: Path) -> hs.Model:
    """A built-in model, or one with fixed and sliding joints from its URDF."""
    if name != "urdf":
        return hs.load_model(name)
    (folder / "legs.urdf").write_text(LEGS)
    (folder / "legs.yaml").write_text(TIPS)
    return hs.load_model(folder / "legs.urdf")


def relative(value: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference over the largest value."""
    return float(np.abs(value - expected).max() / max(np.abs(expected).max(), 1e-300))


@pytest.mark.parametrize("creep_speed", [None, 1e-4])
@pytest.mark.parametrize("locked", [(), ("*",)])
@pytest.mark.parametrize("name", ["khr1", "bip", "human36", "urdf"])
def test_rates_agree_with_pinocchio(
    name: str, locked: tuple[str, ...], creep_speed: float | None, tmp_path: Path
) -> None:
    """Rates, forces, terms, gaps: with dampers, armatures, locks, in both laws."""
    model, rng = model_of(name, tmp_path), np.random.default_rng(3)
    joints = rng.uniform(0.0, 0.01, size=model.nv - 6)
    given = dict(zip(model.joint_names, joints, strict=True))
    system = ModelSystem(
        model,
        hs.Ground(friction=0.6),
        locked=locked,
        armature=np.concatenate([np.zeros(6), joints]),
        dissipation=JointDissipation.of(model, damping=given),
    )
    motion = SmoothMotion(system, AppliedLoads(system, Actuation()), creep_speed)
    q = model.neutral()
    q[7:] = 0.5 * (model.lower_limits + model.upper_limits)
    q[7:] += 0.1 * rng.uniform(-1, 1, size=len(joints))
    q[3:7] = rng.normal(size=4)
    q[3:7] /= np.linalg.norm(q[3:7])
    which = np.array([0, len(system.contact_points) - 1])
    q[2] -= system.gaps(q)[which].max() + 0.3  # both are pushed out, and loaded
    direction = np.array([[1.0, 0.0], [0.6, 0.8]])
    motion.close(q, which, np.array([STICK, SLIDE]), direction, np.zeros((2, 3)))
    y = np.concatenate([0.1 * rng.normal(size=model.nv), rng.normal(size=model.nv)])
    y[system.locked] = y[model.nv + system.locked] = 0.0
    chart = system.chart(q)
    rates, ours = motion.derivative(chart, 0.0, y), motion.last
    compiled, motion.compiled = motion.compiled, None
    assert compiled is not None
    expected, theirs = motion.derivative(chart, 0.0, y), motion.last
    assert relative(rates, expected) < 1e-11
    assert theirs.forces[:, 0].any()
    assert relative(ours.forces, theirs.forces) < 1e-11
    for own, other in zip(ours.terms, theirs.terms, strict=True):
        assert relative(own, other) < 1e-12
    q, v = theirs.q, theirs.v
    assert relative(compiled.gaps(q), system.gaps(q)) < 1e-12
    for own, other in zip(
        compiled.gap_rates(q, v), system.gap_rates(q, v), strict=True
    ):
        assert relative(own, other) < 1e-12


@pytest.mark.parametrize("integrator", ["dop853", "rosenbrock"])
def test_whole_steps_are_those_of_the_stages(
    integrator: str, khr1: hs.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servos hold a robot that lands: the same run, its events included."""
    q = khr1.neutral()
    q[2] += 1e-4
    runs = []
    for whole in (True, False):
        if not whole:
            monkeypatch.setattr(SmoothMotion, "whole_step", lambda *_: None)
        sim = hs.Simulation(khr1, hs.Servo(khr1), integrator=integrator)
        runs.append(sim.run(q, t_end=0.012, sampling_period=0.002))
    one, other = runs
    assert [event.kind for event in one.events] == [e.kind for e in other.events]
    assert one.contacts[-1, :8].all()
    np.testing.assert_allclose(one.q, other.q, atol=1e-11)
    np.testing.assert_allclose(one.v, other.v, atol=1e-8)


def test_pushes_and_other_actuations_are_made_stage_by_stage(khr1: hs.Model) -> None:
    """What is no table of drives acts: a push moves the robot as impulse over mass."""
    system = ModelSystem(khr1, hs.Ground())
    loads = AppliedLoads(system, hs.Servo(khr1))
    assert loads.drives() is not None
    loads.pushes.add("", np.zeros(3), np.array([1.0, 0.0, 0.0]), 0.0, 1.0)
    assert loads.drives() is None
    assert AppliedLoads(system, hs.Servo(khr1, play=0.01)).drives() is None

    class Pull(Actuation):
        def dynamics(
            self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            return np.ones(len(v)), z

    assert AppliedLoads(system, Pull()).drives() is None
    q = khr1.neutral()
    q[2] += 0.1
    sim = hs.Simulation(khr1, locked=["*"])
    stepper = sim.start(q)
    stepper.push("", np.zeros(3), np.array([0.1, 0.0, 0.0]), duration=0.01)
    stepper.advance(0.02)
    data = khr1.pin.createData()
    pin.centerOfMass(khr1.pin, data, stepper.q, stepper.v)
    assert data.vcom[0][0] == pytest.approx(0.1 / khr1.mass, rel=1e-6)
