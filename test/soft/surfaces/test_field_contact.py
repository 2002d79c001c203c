# SPDX-License-Identifier: Apache-2.0
"""Contact of implicit surfaces: action is reaction, apart nothing, it pushes out."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

import humans_sim.soft as soft
from humans_sim.soft.skin.implicit_surfaces import FieldContact

RADIUS = float(np.sqrt(np.log(2)))
"""Of a blob at a level of a half."""


def pressed(distance: float) -> tuple[np.ndarray, np.ndarray]:
    """Total forces on a ball of points beside a blob, and on the blob."""
    ball = trimesh.creation.icosphere(3, RADIUS)
    points = np.asarray(ball.vertices) + [distance, 0.0, 0.0]
    areas = np.full(len(points), ball.area / len(points))
    contact = FieldContact(0.5, 1000.0)
    own, other = contact.forces(points, areas, soft.Blob((0, 0, 0)))
    np.testing.assert_array_equal(own, -other)
    return own.sum(axis=0), other.sum(axis=0)


def test_pairs_are_equal_and_opposite() -> None:
    """What one feels the other feels; they are pushed apart, along their centres."""
    own, other = pressed(1.5 * RADIUS)
    np.testing.assert_allclose(own, -other)
    assert own[0] > 1.0
    assert np.abs(own[1:]).max() < 1e-2 * own[0]


def test_apart_they_feel_nothing_and_deeper_more() -> None:
    """No force beyond twice the radius; it grows as they come nearer."""
    assert np.abs(pressed(2.05 * RADIUS)[0]).max() == 0.0
    sizes = [pressed(d * RADIUS)[0][0] for d in (1.9, 1.7, 1.5)]
    assert sizes == sorted(sizes) and sizes[0] > 0.0
    with pytest.raises(soft.SoftError, match="above 0"):
        FieldContact(0.5, 0.0).forces(
            np.zeros((1, 3)), np.ones(1), soft.Blob((0, 0, 0))
        )
