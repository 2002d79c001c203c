# SPDX-License-Identifier: Apache-2.0
"""Ordinary joints in the form of the contact joint, beside Pinocchio's."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from humans_sim.contact.joint.contact_joint import Joint
from humans_sim.contact.joint.joint_types import (
    AxisJoint,
    ball,
    cylindrical,
    fixed,
    prismatic,
    revolute,
    screw,
)
from humans_sim.contact.joint.surfaces import ForbiddenMotionError
from humans_sim.core.errors import ParameterError

FIRST = pin.SE3(pin.exp3(np.array([0.3, 0.5, -0.7])), np.array([0.1, 0.2, 0.3]))
SECOND = pin.SE3(pin.exp3(np.array([-0.2, 0.9, 0.4])), np.array([-0.4, 0.1, 0.0]))


def by_pinocchio(model: object, q: np.ndarray) -> pin.SE3:
    """Placement of body 2 in body 1 by Pinocchio's joint."""
    chain = pin.Model()
    chain.addJoint(0, model, FIRST, "joint")
    data = chain.createData()
    pin.forwardKinematics(chain, data, q)
    return data.oMi[1] * SECOND.inverse()


@pytest.mark.parametrize(
    ("joint", "model", "q"),
    [
        (revolute(FIRST, SECOND), pin.JointModelRZ(), [0.8]),
        (prismatic(FIRST, SECOND), pin.JointModelPZ(), [0.8]),
        (ball(FIRST, SECOND), pin.JointModelSpherical(), [0.3, -0.4, 0.5]),
        (screw(0.02, FIRST, SECOND), pin.JointModelHZ(0.02 / (2 * np.pi)), [7.3]),
    ],
)
def test_placement(joint: AxisJoint, model: object, q: list[float]) -> None:
    """The same placement from the same coordinates, all at once or in steps."""
    theirs = np.array(q)
    if model.nq == 4:
        theirs = pin.Quaternion(pin.exp3(theirs)).coeffs()
    expected = by_pinocchio(model, theirs)
    placed = joint.place(np.array(q))
    np.testing.assert_allclose(
        placed.relative.homogeneous, expected.homogeneous, atol=1e-14
    )
    state = joint.place(np.zeros(len(q)))
    for _ in range(1000):
        state = joint.step(state, joint.basis(state) @ q, 1e-3)
    np.testing.assert_allclose(
        state.relative.homogeneous, expected.homogeneous, atol=1e-12
    )
    if abs(q[0]) < np.pi:
        np.testing.assert_allclose(joint.coordinates(state), q, atol=1e-12)


@pytest.mark.parametrize(
    ("joint", "freedoms"),
    [
        (fixed(), 0),
        (revolute(), 1),
        (prismatic(), 1),
        (screw(0.1), 1),
        (cylindrical(), 2),
        (ball(), 3),
    ],
)
def test_basis_and_constraints(joint: AxisJoint, freedoms: int) -> None:
    """One type for all: freedoms, constraints that give no power, refused motions."""
    assert isinstance(joint, Joint)
    state = joint.place(np.full(freedoms, 0.3))
    basis, constraints = joint.basis(state), joint.constraints(state)
    assert basis.shape == (6, freedoms)
    assert constraints.shape == (6, 6 - freedoms)
    np.testing.assert_allclose(constraints.T @ basis, 0.0, atol=1e-15)
    for forbidden in constraints.T:
        with pytest.raises(ForbiddenMotionError):
            joint.step(state, forbidden, 0.1)
    rates = np.linspace(0.5, 1.0, freedoms)
    before = joint.step(state, basis @ rates, -1e-6).relative
    after = joint.step(state, basis @ rates, 1e-6).relative
    twist = pin.log6(before.actInv(after)) * (1 / 2e-6)
    np.testing.assert_allclose(
        state.second.actInv(twist).vector, basis @ rates, atol=1e-9
    )


def test_ten_thousand_turns_stay_rotations() -> None:
    """Round-off does not grow into shear."""
    joint = ball(FIRST, SECOND)
    state, rng = joint.place(np.zeros(3)), np.random.default_rng(3)
    for _ in range(10_000):
        state = joint.step(state, joint.basis(state) @ rng.normal(size=3), 0.3)
    turn = state.relative.rotation
    np.testing.assert_allclose(turn.T @ turn, np.eye(3), atol=1e-14)
    at_rest = state.relative.act(SECOND.translation) - FIRST.translation
    assert np.abs(at_rest).max() < 1e-13


@pytest.mark.parametrize(
    "bad",
    [
        lambda: AxisJoint(np.zeros((5, 1))),
        lambda: AxisJoint(np.ones((6, 2))),
        lambda: screw(float("inf")),
        lambda: revolute(np.eye(4)),
        lambda: revolute().place(np.zeros(2)),
        lambda: revolute().step(revolute().place(np.zeros(1)), np.zeros(3), 0.1),
    ],
)
def test_bad_input(bad: object) -> None:
    """Typed errors."""
    with pytest.raises(ParameterError):
        bad()
