# SPDX-License-Identifier: Apache-2.0
"""Limbs: lines from joint to joint, found in robots without names."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.control.retargeting.person_motion import person_limbs, robot_limbs
from humans_sim.control.retargeting.upper_body import UpperBody


def test_limbs_of_the_khr1_turn_with_their_joints() -> None:
    """A knee bent by 90 degrees turns the shank by 90 degrees, and nothing else."""
    model = hs.load_model("khr1")
    limbs = robot_limbs(model)
    parts = ("upper_arm", "forearm", "thigh", "shank")
    assert set(limbs.limbs) == {f"{side}_{part}" for side in "lr" for part in parts}
    assert limbs.waist == ()
    names = tuple(sorted(limbs.limbs))
    q, data = model.neutral(), model.data()
    pin.forwardKinematics(model.pin, data, q)
    before = limbs.directions(data, names)
    assert np.allclose(before, [0, 0, -1], atol=1e-9)
    q[7 + model.joint_names.index("l_knee")] = 0.5 * np.pi
    pin.forwardKinematics(model.pin, data, q)
    after = limbs.directions(data, names)
    changed = [n for n, a, b in zip(names, after, before, strict=True) if a @ b < 0.99]
    assert changed == ["l_shank"]
    assert after[names.index("l_shank")] @ [0, 0, -1] == pytest.approx(0.0, abs=1e-9)


def test_a_person_is_wanted() -> None:
    """A robot's joints are no person's."""
    with pytest.raises(hs.errors.RetargetError, match="a person has a joint"):
        person_limbs(hs.load_model("khr1"))


def test_arms_take_the_directions_that_they_can() -> None:
    """From directions of a posture the search finds that posture's directions."""
    model = hs.load_model("khr1")
    upper = UpperBody(robot_limbs(model))
    rng, data = np.random.default_rng(3), model.data()
    low, high = model.lower_limits[upper.joints], model.upper_limits[upper.joints]
    for _ in range(5):
        q = model.neutral()
        q[7 + upper.joints] = low + rng.uniform(0.2, 0.8, len(low)) * (high - low)
        pin.forwardKinematics(model.pin, data, q)
        wanted = robot_limbs(model).directions(data, upper.names)
        guess = model.neutral()
        found = upper.first(guess, np.eye(3), np.eye(3), wanted)
        guess[7 + upper.joints] = found
        assert (found >= low).all() and (found <= high).all()
        assert upper.worst(guess, wanted) < np.radians(1.0)


def test_waists_turn_as_the_person_does() -> None:
    """Shoulders on a waist take an attitude; one that is rounded does no harm."""
    model = hs.load_model("human36")
    limbs = person_limbs(model)
    upper = UpperBody(limbs)
    torso = pin.rpy.rpyToMatrix(0.1, 0.2, -0.3)
    data = model.data()
    pin.forwardKinematics(model.pin, data, model.neutral())
    hanging = limbs.directions(data, upper.names)
    for turn in (torso, np.eye(3) * (1.0 + 1e-15)):
        q = model.neutral()
        for _ in range(5):
            q[7 + upper.joints] = upper.solve(q, np.eye(3), turn, hanging)
        pin.forwardKinematics(model.pin, data, q)
        assert np.allclose(data.oMi[limbs.torso].rotation, turn, atol=1e-3)


def test_a_persons_limbs_are_found_without_names() -> None:
    """By kinematics alone the limbs are those that the names say."""
    model = hs.load_model("human36")
    named, found = person_limbs(model), robot_limbs(model)
    assert found.torso == named.torso
    rng, data = np.random.default_rng(5), model.data()
    pin.forwardKinematics(model.pin, data, model.random_configuration(rng))
    for name in named.limbs:
        one, other = (limbs.directions(data, (name,)) for limbs in (named, found))
        assert np.allclose(one, other, atol=1e-6), name
