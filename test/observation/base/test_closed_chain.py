# SPDX-License-Identifier: Apache-2.0
"""Tests of what two feet on one floor say of rounded angles."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

import humans_sim as hs
from humans_sim.models.points import frame_index
from humans_sim.observation.base.base_fit import levelled, relative_motion

FEET = ("r_sole", "l_sole")


def crouched(model: hs.Model) -> np.ndarray:
    """Joint angles of a crouch with both feet flat."""
    joints = np.zeros(len(model.joint_names))
    for side in "rl":
        for joint, share in (("hip_pitch", 1), ("knee", -2), ("ankle_pitch", 1)):
            k = model.joint_names.index(f"{side}_{joint}")
            sign = 1.0 if model.upper_limits[k] > 1.0 else -1.0
            joints[k] = sign * abs(share) * math.radians(20)
    return joints


def seen(model: hs.Model, joints: np.ndarray) -> tuple[pin.SE3, pin.SE3, np.ndarray]:
    """The base with the first foot at the origin, the second foot, its motion."""
    q = pin.neutral(model.pin)
    q[7:] = joints
    data = model.pin.createData()
    pin.computeJointJacobians(model.pin, data, q)
    frames = tuple(frame_index(model.pin, name) for name in FEET)
    first, second = (
        pin.updateFramePlacement(model.pin, data, frame).copy() for frame in frames
    )
    base = first.inverse()
    return base, base * second, relative_motion(model.pin, data, frames)


def test_motion_is_the_derivative(khr1: hs.Model) -> None:
    """The Jacobian is that of finite differences, the first foot at rest."""
    rng = np.random.default_rng(0)
    joints = rng.uniform(-0.3, 0.3, len(khr1.joint_names))
    base, place, motion = seen(khr1, joints)
    for k in range(len(joints)):
        step = np.zeros(len(joints))
        step[k] = 1e-6
        ahead, behind = seen(khr1, joints + step)[1], seen(khr1, joints - step)[1]
        linear = (ahead.translation - behind.translation) / 2e-6
        angular = pin.log3(ahead.rotation @ behind.rotation.T) / 2e-6
        np.testing.assert_allclose(base.rotation @ motion[:3, k], linear, atol=1e-8)
        np.testing.assert_allclose(base.rotation @ motion[3:, k], angular, atol=1e-8)


def test_roundings_shrink(khr1: hs.Model) -> None:
    """Feet come back onto the floor, and nearer to their place along it."""
    rng = np.random.default_rng(1)
    joints = crouched(khr1)
    base, true, _ = seen(khr1, joints)
    floor, errors = true.translation[2], []
    assert abs(floor) < 1e-9 and np.abs(true.rotation - np.eye(3)).max() < 1e-9
    for _ in range(200):
        rounded = joints + np.radians(rng.uniform(-0.5, 0.5, len(joints)))
        base, place, motion = seen(khr1, rounded)
        better = levelled(place, base.rotation, motion, floor, 0.2)
        assert abs(better.translation[2] - floor) < 1e-4
        errors.append(
            [
                np.linalg.norm((pose.translation - true.translation)[:2])
                for pose in (place, better)
            ]
        )
    before, after = np.sqrt(np.mean(np.square(errors), axis=0))
    assert after < 0.7 * before
