# SPDX-License-Identifier: Apache-2.0
"""Joint torques on the axes of a convention."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.models.angles import joint_angles, joint_moments

STEP = 1e-6


@pytest.mark.study
@pytest.mark.parametrize("convention", ["humans", "opensim", "rajagopal"])
def test_power_is_the_same(
    human: hs.Model, rng: np.random.Generator, convention: str
) -> None:
    """Torques times rates of the joints are forces times rates of the angles."""
    q = np.array([human.random_configuration(rng) for _ in range(10)])
    q[:, 7:] *= 0.5
    rates = rng.normal(size=(10, len(human.joint_names)))
    torques = rng.normal(size=rates.shape)
    names, forces = joint_moments(human, q, torques, convention)
    ahead, behind = q.copy(), q.copy()
    ahead[:, 7:] += STEP * rates
    behind[:, 7:] -= STEP * rates
    moving = np.zeros(len(q))
    for name, force in zip(names, forces.T, strict=True):
        turn = joint_angles(human, ahead, convention)[name]
        turn = turn - joint_angles(human, behind, convention)[name]
        moving += force * ((turn + np.pi) % (2 * np.pi) - np.pi) / (2 * STEP)
    np.testing.assert_allclose(moving, (torques * rates).sum(axis=1), rtol=1e-6)
    assert len(names) == len(human.joint_names)


def test_what_is_no_coordinate_has_no_force(human: hs.Model) -> None:
    """The arm seen from the trunk is moved by two joints: no force belongs to it."""
    q = np.tile(human.neutral(), (3, 1))
    torques = np.ones((3, len(human.joint_names)))
    names, forces = joint_moments(human, q, torques, "isb")
    assert forces.shape == (3, len(names))
    assert "left_hip_flexion" in names
    assert not any("shoulder" in name for name in names)
    knee = names.index("right_knee_flexion")
    np.testing.assert_allclose(forces[:, knee], -1.0)
