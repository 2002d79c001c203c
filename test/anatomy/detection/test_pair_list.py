# SPDX-License-Identifier: Apache-2.0
"""The list of near pairs has every contact of the full search."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from humans_sim.anatomy import (
    AnatomyError,
    BallModel,
    ContactDetector,
    PairList,
    Poses,
    ball_model,
    of_ellipsoid,
)


def bones() -> list[BallModel]:
    """Six ellipsoids."""
    sizes = np.random.default_rng(0).uniform(5e-3, 9e-3, (6, 3))
    return [ball_model(of_ellipsoid(size, 1.5e-3)) for size in sizes]


def test_list_and_search_agree_along_a_motion():
    """Same pairs, depths, normals and points, by few searches."""
    chance = np.random.default_rng(1)
    models, roles = bones(), ["free"] * 3 + ["driven"] * 2 + ["fixed"]
    detector = ContactDetector(models, roles)
    near = PairList(models, roles, margin=8e-4)
    places = np.array([[k % 3, k // 3, 0] for k in range(6)]) * 0.013
    frames = Rotation.random(6, random_state=1).as_matrix()
    turn, shift = 0.3 * chance.normal(size=(6, 3)), 4e-3 * chance.normal(size=(6, 3))
    found = 0
    for share in np.linspace(0, 1, 120):
        frames_now = Rotation.from_rotvec(share * turn).as_matrix() @ frames
        poses = Poses(frames_now, places + share * shift)
        whole, kept = detector.detect(poses), near.contacts(poses)
        for name in ("body_i", "ball_i", "body_j", "ball_j"):
            assert (getattr(whole, name) == getattr(kept, name)).all()
        for name in ("depth", "normal", "point", "relative"):
            assert np.abs(getattr(whole, name) - getattr(kept, name)).max() < 1e-12
        found += whole.count
    assert found > 1000
    assert 2 < near.searches < 60


def test_bad_margins_and_poses_are_refused():
    """Typed errors."""
    with pytest.raises(AnatomyError, match="margin"):
        PairList(bones(), margin=0.0)
    poses = Poses.rest(6)
    near = PairList(bones())
    near.contacts(poses)
    poses.positions[0] = np.nan
    with pytest.raises(AnatomyError):
        near.contacts(poses)
