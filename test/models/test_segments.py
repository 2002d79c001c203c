# SPDX-License-Identifier: Apache-2.0
"""Models as segments that turn about one centre."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.models.conventions import Segment, segments_of
from humans_sim.models.points import ROS_FROM_HUMANS, to_humans


def placed(
    model: hs.Model, q: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray, Segment]]:
    """Origins and orientations of all segments in the world, HuMAnS axes."""
    turn = Rotation.from_quat(q[3:7]).as_matrix()
    poses: dict[str, tuple[np.ndarray, np.ndarray, Segment]] = {}
    for segment in segments_of(model).values():
        if not segment.parent:
            rotation = ROS_FROM_HUMANS.T @ turn @ ROS_FROM_HUMANS
            poses[segment.name] = to_humans(q[:3]), rotation, segment
            continue
        origin, rotation, _ = poses[segment.parent]
        own = segment.turn(q[[7 + j for j in segment.joints]][None]).as_matrix()[0]
        poses[segment.name] = (
            origin + rotation @ segment.centre,
            rotation @ own,
            segment,
        )
    return poses


def test_segments_move_as_the_model(model: hs.Model, rng: np.random.Generator) -> None:
    """Origins and orientations are pinocchio's, in any posture of any model."""
    data = model.data()
    for _ in range(5):
        q = model.random_configuration(rng)
        pin.forwardKinematics(model.pin, data, q)
        for origin, rotation, segment in placed(model, q).values():
            pose = data.oMi[segment.pin_joint]
            np.testing.assert_allclose(origin, to_humans(pose.translation), atol=1e-12)
            expected = ROS_FROM_HUMANS.T @ pose.rotation @ ROS_FROM_HUMANS
            np.testing.assert_allclose(rotation, expected, atol=1e-12)


def test_nothing_is_lost(model: hs.Model, rng: np.random.Generator) -> None:
    """Every joint turns one segment, and masses make the model's centre of mass."""
    segments = segments_of(model).values()
    joints = sorted(j for segment in segments for j in segment.joints)
    assert joints == list(range(len(model.joint_names)))
    q = model.random_configuration(rng)
    mass = sum(segment.mass for segment in segments)
    assert mass == pytest.approx(model.mass)
    centre = sum(s.mass * (o + r @ s.com) for o, r, s in placed(model, q).values())
    np.testing.assert_allclose(centre / mass, to_humans(model.tags(q)[-1]), atol=1e-12)


def test_a_hip_is_one_joint(human: hs.Model) -> None:
    """Rotations about one centre belong to one segment, whose link has the mass."""
    segments = segments_of(human)
    assert len(segments) == 17
    hip = segments["r_thigh"]
    assert hip.parent == "base_link"
    assert [human.joint_names[j] for j in hip.joints] == [
        "r_hip_pitch",
        "r_hip_yaw",
        "r_hip_roll",
    ]
    np.testing.assert_allclose(hip.axes, [[0, 0, 1], [0, -1, 0], [-1, 0, 0]])
    # the scapula has no mass either, but the shoulder is elsewhere
    assert segments["r_arm"].parent == "r_scapula"
