# SPDX-License-Identifier: Apache-2.0
"""Points that a time step leaves out are clear of the scene."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.time_stepping.model_step_kernels import (
    contacts_of_points,
    near_points,
)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold(khr1: hs.Model, seed: int) -> None:
    """The bound of each point is below its gaps with floor and boxes."""
    rng = np.random.default_rng(seed)
    ground = hs.Ground().with_solids(hs.Box((0.1, 0.1, 0.1), (0.1, 0.0, 0.05)))
    tags = [tag.name for tag in khr1.parts.tags]
    radii = dict.fromkeys(tags[::2], 0.01)
    system = ModelSystem(khr1, ground, contacts=tags, radii=radii)
    q = khr1.neutral()
    q[7:] = rng.uniform(khr1.lower_limits, khr1.upper_limits)
    q[3:7] = pin.Quaternion(pin.exp3(rng.normal(size=3))).coeffs()
    gaps = system.gaps(q)[: 2 * len(tags)].reshape(-1, 2).min(axis=1)
    moving, _, motions, _ = system.contact_arrays
    near, bound = near_points(moving[0], np.zeros_like(motions), 1e-3)
    assert (bound <= gaps + 1e-12).all()
    left_out = np.setdiff1d(np.arange(len(tags)), near)
    assert (gaps[left_out] > 4e-3).all()


def test_contacts_of_points_keep_their_order() -> None:
    """Each point with each solid, then all limits, then some of the pairs."""
    which = contacts_of_points(np.array([1, 3]), (5, 2, 3), np.array([0, 6]))
    assert which.tolist() == [2, 3, 6, 7, 10, 11, 12, 13, 19]
