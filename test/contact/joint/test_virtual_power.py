# SPDX-License-Identifier: Apache-2.0
"""Contact forces by virtual power: the same power in every set of coordinates."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.contact.joint.contact_joint import ContactJoint, JointState
from humans_sim.contact.joint.joint_types import (
    body_wrenches,
    generalized_force,
    relative_jacobian,
    relative_velocity,
)
from humans_sim.contact.joint.surface_shapes import Plane, Sphere
from humans_sim.contact.joint.surfaces import Ellipsoid
from humans_sim.core.errors import ParameterError


def contact() -> tuple[ContactJoint, JointState]:
    """Two ellipsoids that roll and pivot on each other, without sliding."""
    joint = ContactJoint(
        Ellipsoid((0.6, 0.5, 0.7)), Ellipsoid((0.5, 0.4, 0.3)), sliding=False
    )
    return joint, joint.start((0.3, 0.2, 0.5), (0.2, 0.3, 0.2), 0.4)


def test_power_is_the_same_for_bodies_and_joint() -> None:
    """Wrenches on both bodies against the wrench in the contact frame."""
    _, state = contact()
    rng = np.random.default_rng(2)
    for _ in range(20):
        wrench, one, two = rng.normal(size=(3, 6))
        first, second = body_wrenches(state, wrench)
        power = wrench @ relative_velocity(state, one, two)
        assert first @ one + second @ two == pytest.approx(power, abs=1e-13)


def test_velocity_of_the_bodies_is_the_joints() -> None:
    """Body 2 moves as the joint says, body 1 at rest; then both carried along."""
    joint, state = contact()
    velocity, dt = joint.basis(state) @ [0.4, -0.3, 0.8], 1e-6
    ahead, behind = (joint.step(state, velocity, t).relative for t in (dt, -dt))
    two = (pin.log6(behind.actInv(ahead)) * (1 / (2 * dt))).vector
    np.testing.assert_allclose(
        relative_velocity(state, np.zeros(6), two), velocity, atol=1e-8
    )
    carried = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    with_one = state.relative.actInv(pin.Motion(carried)).vector
    np.testing.assert_allclose(
        relative_velocity(state, carried, two + with_one), velocity, atol=1e-8
    )


def test_forces_of_constraints_give_no_power() -> None:
    """Normal force and friction of a rolling contact do no work."""
    joint, state = contact()
    rng = np.random.default_rng(4)
    wrench = joint.constraints(state) @ rng.normal(size=3)
    velocity = joint.basis(state) @ rng.normal(size=3)
    assert np.abs(wrench[[0, 1, 2]]).min() > 0.0
    assert wrench @ velocity == pytest.approx(0.0, abs=1e-15)


def test_forces_on_the_coordinates_of_a_biped() -> None:
    """A ball on one limb of the KHR-1 rolls on another limb: power of the contact.

    The rates of the coordinates know nothing of contact frames; their power against the
    generalised force is that of the wrench against the relative velocity of two bodies,
    which Pinocchio finds by itself.
    """
    robot = hs.load_model("khr1").pin
    data, rng = robot.createData(), np.random.default_rng(5)
    q = pin.integrate(robot, pin.neutral(robot), rng.normal(size=robot.nv))
    pin.computeJointJacobians(robot, data, q)
    limbs = (robot.njoints - 1, 2)
    first, second = (
        pin.getJointJacobian(robot, data, joint, pin.LOCAL) for joint in limbs
    )
    state = ContactJoint(Sphere(0.03), Plane()).start(
        (0.0, 0.0, -0.03), (0.1, 0.2, 0.0)
    )
    for _ in range(5):
        v, wrench = rng.normal(size=robot.nv), rng.normal(size=6)
        pin.forwardKinematics(robot, data, q, v)
        apart = relative_velocity(state, *(data.v[joint].vector for joint in limbs))
        np.testing.assert_allclose(
            relative_jacobian(state, first, second) @ v, apart, atol=1e-12
        )
        force = generalized_force(state, wrench, first, second)
        assert force @ v == pytest.approx(wrench @ apart, abs=1e-12)


def test_bad_input() -> None:
    """Shapes that do not fit."""
    _, state = contact()
    with pytest.raises(ParameterError, match="wrench"):
        body_wrenches(state, np.zeros(3))
    with pytest.raises(ParameterError, match="body 2"):
        relative_velocity(state, np.zeros(6), np.full(6, np.nan))
    with pytest.raises(ParameterError, match="Jacobians"):
        relative_jacobian(state, np.zeros((6, 3)), np.zeros((6, 4)))
