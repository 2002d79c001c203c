# SPDX-License-Identifier: Apache-2.0
"""Tests of simulations in which all links touch."""

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.models.model import JointMemory


@pytest.fixture(scope="module")
def khr1() -> hs.Model:
    """The robot."""
    return hs.load_model("khr1")


@pytest.mark.parametrize("way", [(1, 0, 0), (0, 1, 0)])
def test_a_toppled_robot_lies_on_the_floor(khr1: hs.Model, way: tuple) -> None:
    """Pushed over it comes to rest lying, nothing of it in the floor, check clean."""
    push = hs.Push(time=0.05, impulse=way, duration=0.05)
    servos = hs.Servo(khr1)
    sim = hs.Simulation(khr1, servos, method="time_stepping", pushes=[push])
    run = sim.run(khr1.neutral(), t_end=1.5, sampling_period=0.05)
    assert run.check().ok
    assert min(khr1.tags(q)[:-1, 2].min() for q in run.q) > -1e-3
    assert run.q[-1, 2] < 0.1
    assert run.energy[-1, 0] < 1e-3
    closed = {run.table.names[k] for k in np.flatnonzero(run.contacts[-1])}
    assert any("/ground." in name and "foot" not in name for name in closed)


def test_events_put_a_body_on_the_floor(khr1: hs.Model) -> None:
    """The event-driven method takes the same contacts: one piece comes to rest."""
    q = khr1.neutral()
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.0, -0.6, 0.0)).coeffs()
    q[2] -= khr1.contact(q)[:, 2].min()
    run = hs.Simulation(khr1, locked=["*"]).run(q, t_end=1.0, sampling_period=0.1)
    assert run.check().ok and run.q[-1, 2] < 0.1
    assert run.energy[-1, 0] < 1e-6


@pytest.mark.parametrize("method", ["event_driven", "time_stepping"])
def test_what_is_far_changes_nothing(khr1: hs.Model, method: str) -> None:
    """A robot on its feet moves the same, bit for bit, whether its body may touch."""
    q = khr1.neutral()
    q[2] += 0.002
    runs = [
        hs.Simulation(
            khr1, hs.Servo(khr1), method=method, contacts=hs.Contacts(whole_body=whole)
        ).run(q, t_end=0.06)
        for whole in (True, False)
    ]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert np.array_equal(runs[0].forces[:, :8], runs[1].forces[:, :8])
    assert len(runs[0].table) > len(runs[1].table) + 50


def test_named_contacts_stay_alone(khr1: hs.Model) -> None:
    """Contacts that are given are all there are, unless the body is asked for."""
    tags = khr1.contact_names[:4]
    few = hs.Simulation(khr1, contacts=hs.Contacts(points=tags)).system
    assert isinstance(few, ModelSystem) and few.contact_points == tags
    both = hs.Simulation(
        khr1, contacts=hs.Contacts(points=tags, whole_body=True)
    ).system
    assert isinstance(both, ModelSystem) and both.contact_points[:4] == tags
    assert "r_hip.0" in both.contact_points
    assert "head/ground.0" in both.contacts.names


def test_links_that_cannot_move_have_no_contacts(khr1: hs.Model) -> None:
    """With its base held only what the free joints move may touch."""
    locked = ["base", *(j for j in khr1.joint_names if j != "l_elbow")]
    system = hs.Simulation(khr1, locked=locked).system
    assert isinstance(system, ModelSystem)
    assert system.contact_links[len(khr1.contact_names) :] == ()
    solids = [name for name in system.contacts.names if "/ground." in name]
    assert {name.partition("/")[0] for name in solids} == {"l_hand"}


def test_a_start_inside_the_ground_is_refused(khr1: hs.Model) -> None:
    """Which link is inside is said."""
    q = khr1.neutral()
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(3.14, 0.0, 0.0)).coeffs()
    q[2] = 0.1
    with pytest.raises(
        hs.errors.ConfigurationError, match=r"head/ground\.\d is .* inside"
    ):
        hs.Simulation(khr1, method="time_stepping").run(q, t_end=0.1)


def test_poses_of_many_joints_are_pinocchios(khr1: hs.Model) -> None:
    """What is read in one copy is what pinocchio gives joint by joint."""
    rng = np.random.default_rng(1)
    data, joints = khr1.data(), [1, 3, 7, 12]
    memory = JointMemory(data, joints)
    v = rng.normal(size=khr1.nv)
    pin.forwardKinematics(khr1.pin, data, khr1.random_configuration(rng), v)
    poses, motions = np.empty((4, 3, 4)), np.empty((4, 2, 6))
    memory.read_poses(poses)
    memory.read_velocities(motions)
    for k, joint in enumerate(joints):
        assert np.array_equal(poses[k], data.oMi[joint].homogeneous[:3])
        assert np.array_equal(motions[k, 0], data.v[joint].vector)
