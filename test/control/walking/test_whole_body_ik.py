# SPDX-License-Identifier: Apache-2.0
"""Postures of given feet and centre of mass."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.control.walking import WalkPattern
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.whole_body_ik import ReachError, WalkKinematics


@pytest.mark.parametrize("name", ["khr1", "human36"])
def test_the_compiled_search_finds_what_the_other_one_finds(name: str) -> None:
    """Both end in one posture, with the soles and the centre of mass where asked."""
    model = hs.load_model(name)
    settings = WalkSettings.of_model(model)
    kinematics = WalkKinematics(model, settings)
    assert kinematics._tree is not None
    joints = np.zeros(len(model.joint_names))
    for joint, angle in settings.posture.items():
        joints[model.joint_names.index(joint)] = angle
    q = model.standing(joints)
    com = model.tags(q)[-1] + 0.01 * model.tags(q)[-1, 2] * np.array([1.0, -1.0, -1.0])
    left = model.frame_pose(q, settings.left)
    right = model.frame_pose(q, settings.right)
    attitude = pin.rpy.rpyToMatrix(0.0, 0.05, 0.0)
    posture = kinematics.solve(q, com, left, right, attitude)
    start = q.copy()
    start[3:7] = pin.Quaternion(attitude).coeffs()
    other = kinematics._search(start, com, left, right, attitude)
    assert posture == pytest.approx(other, abs=1e-9)
    assert model.tags(posture)[-1] == pytest.approx(com, abs=1e-9)
    for sole, pose in ((settings.left, left), (settings.right, right)):
        there = model.frame_pose(posture, sole)
        assert there.translation == pytest.approx(pose.translation, abs=1e-9)


def test_postures_that_are_accepted_are_those_that_were_asked_for() -> None:
    """Feet go apart by millimetres until the legs reach no farther.

    Soles of accepted postures are where they were asked; what is beyond is refused, and
    the error says by how much.
    """
    model = hs.load_model("human36")
    settings = WalkSettings.of_model(model)
    kinematics = WalkKinematics(model, settings)
    q = WalkPattern(model, settings).standing()
    soles, com = (settings.left, settings.right), model.com(q)
    places = [model.frame_pose(q, sole) for sole in soles]
    refused: list[float] = []
    for part in np.arange(0.2, 0.26, 1e-3):
        poses = [place.copy() for place in places]
        for pose, way in zip(poses, (part, -part), strict=True):
            pose.translation = pose.translation + (way, 0.0, 0.0)
        try:
            q = kinematics.solve(q, com, *poses, np.eye(3))
        except ReachError as error:
            refused.append(error.missing)
            continue
        assert model.com(q) == pytest.approx(com, abs=1e-4)
        for sole, pose in zip(soles, poses, strict=True):
            there = model.frame_pose(q, sole).translation
            assert there == pytest.approx(pose.translation, abs=1e-4)
    assert refused
    assert min(refused) > 1e-4


@pytest.mark.parametrize("name", ["khr1", "human36"])
def test_compiled_rates_are_those_of_pinocchio(name: str) -> None:
    """Velocities of a walk, by kernels and by pinocchio's Jacobians."""
    pattern = WalkPattern(hs.load_model(name))
    pattern.command(0.05, 0.01, 0.1)
    kinematics = pattern._kinematics
    tree, largest = kinematics._tree, 0.0
    assert tree is not None
    for t in np.arange(0.0, 3.0, 0.13):
        point = pattern.tick(float(t))
        motion = (point.q, point.com_velocity, point.left, point.right, point.v[3:6])
        compiled = kinematics.rates(*motion)
        kinematics._tree = None
        np.testing.assert_allclose(compiled, kinematics.rates(*motion), atol=1e-9)
        kinematics._tree = tree
        largest = max(largest, float(np.abs(compiled).max()))
    assert largest > 0.1
