# SPDX-License-Identifier: Apache-2.0
"""Markers that move together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from humans_sim.observation.draft.draft_set import assign_segments, distance_spreads
from humans_sim.observation.markers.trial import MarkerTrial


@pytest.fixture
def swing(rng: np.random.Generator) -> MarkerTrial:
    """Two limbs with four markers each: one at rest, one that turns about its end."""
    angles = 0.6 * np.sin(np.linspace(0.0, 12.0, 200))
    limb = np.array([[0.03, 0, -0.1], [-0.03, 0, -0.2], [0, 0.03, -0.3], [0, 0, -0.02]])
    turned = Rotation.from_euler("y", angles[:, None]).as_matrix() @ limb.T
    positions = np.concatenate(
        [np.tile(limb + [0, 0, 0.4], (200, 1, 1)), turned.transpose(0, 2, 1)], axis=1
    )
    positions += rng.normal(scale=0.001, size=positions.shape)
    positions[20:60, 2] = np.nan
    times = np.arange(200) / 100
    return MarkerTrial(tuple("abcdefgh"), times, positions, np.arange(200))


def test_distances_on_one_body_stay(swing: MarkerTrial) -> None:
    """Spreads within a body are the noise, those across are the motion."""
    names = ("h", "a", "b", "e", "f", "none")
    spreads = distance_spreads([swing], names)
    assert spreads[1, 2] < 0.003 and spreads[3, 4] < 0.003
    assert spreads[1, 4] > 0.006
    assert np.isnan(spreads[5]).all() and np.isnan(np.diag(spreads)).all()
    assert np.isnan(distance_spreads([], names)).all()


def test_rigidity_goes_before_place(swing: MarkerTrial) -> None:
    """A marker between two segments is on the one that it moves with."""
    spreads = distance_spreads([swing], swing.names)
    places = np.where(np.arange(8)[:, None] < 4, [0.01, 0.3], [0.3, 0.01])
    places[7] = [0.02, 0.04]  # nearer to the limb that it does not move with
    begun = np.array([0, 0, 0, 0, 1, 1, 1, 0])
    fixed = np.zeros(8, dtype=bool)
    # The marker at the joint hardly moves: one further out shows more.
    members, costs = assign_segments(places, spreads, begun, fixed)
    assert members[:7].tolist() == [0, 0, 0, 0, 1, 1, 1]
    places[5], places[7] = [0.02, 0.04], [0.3, 0.01]
    begun = np.array([0, 0, 0, 0, 1, 0, 1, 1])
    members, costs = assign_segments(places, spreads, begun, fixed)
    assert members.tolist() == [0] * 4 + [1] * 4
    assert costs[5, 0] > costs[5, 1] + 2.0
    kept, _ = assign_segments(places, spreads, begun, np.ones(8, dtype=bool))
    assert kept.tolist() == begun.tolist()
