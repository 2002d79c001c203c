# SPDX-License-Identifier: Apache-2.0
"""Tests of balls in place of convex bodies."""

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from humans_sim.contact.geometry.body_features import (
    Balls,
    cover,
    joined,
    left_out,
    outermost,
)

RNG = np.random.default_rng(5)
DIRECTIONS = RNG.normal(size=(4000, 3))
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1)[:, None]


def points(vertices: np.ndarray) -> Balls:
    """Vertices as balls of no size."""
    return Balls(np.asarray(vertices, float), np.zeros(len(vertices)))


def distance_to_hull(place: np.ndarray, vertices: np.ndarray) -> float:
    """Distance of a point to the convex hull of others, by least squares."""
    heavy = 1e4
    rows = np.vstack([vertices.T, np.full(len(vertices), heavy)])
    weights, _ = nnls(rows, np.append(place, heavy))
    return float(np.linalg.norm(vertices.T @ weights - place))


def test_a_box_keeps_its_corners() -> None:
    """The corners of a box, all of them and nothing else."""
    box = points(trimesh.creation.box((0.2, 0.3, 0.4)).vertices)
    chosen = cover(box, 0.005)
    assert not chosen.radii.any()
    assert {tuple(c) for c in chosen.centres} == {tuple(c) for c in box.centres}
    assert left_out(box, chosen) == pytest.approx(0.0, abs=1e-12)


def test_a_ball_is_one_and_a_capsule_two() -> None:
    """What is a ball or two already stays so."""
    ball = Balls(np.zeros((1, 3)), np.array([0.1]))
    assert len(cover(ball, 0.001).radii) == 1
    capsule = Balls(np.array([[0.0, 0, -0.2], [0, 0, 0.2]]), np.array([0.05, 0.05]))
    chosen = cover(capsule, 0.001)
    assert sorted(chosen.centres[:, 2]) == [-0.2, 0.2]
    assert left_out(capsule, chosen) == pytest.approx(0.0, abs=1e-12)


def test_a_round_mesh_is_few_balls() -> None:
    """The many vertices of a mesh of a ball become one ball inside it."""
    mesh = points(0.1 * trimesh.creation.icosphere(3).vertices)
    chosen = cover(mesh, 0.003)
    assert len(chosen.radii) == 1 and chosen.radii[0] > 0.096


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.005, 0.05))
def test_nothing_stands_out_further(seed: int, tolerance: float) -> None:
    """In no direction of many does a random body leave its cover by the tolerance."""
    rng = np.random.default_rng(seed)
    stretch = rng.uniform(0.3, 1.0, 3)
    body = outermost(points(rng.normal(size=(60, 3)) * stretch * 0.2))
    chosen = cover(body, tolerance)
    gaps = body.support(DIRECTIONS) - chosen.support(DIRECTIONS)
    assert gaps.max() <= 1.02 * tolerance
    assert gaps.min() > -1e-9
    assert gaps.max() <= left_out(body, chosen) + 1e-12
    assert len(chosen.radii) <= len(body.radii)


def test_left_out_is_the_distance_to_the_hull() -> None:
    """For points it is the largest distance of a vertex to the hull of the others."""
    body = points(RNG.normal(size=(30, 3)) * 0.1)
    some = body.some(np.arange(12))
    furthest = max(distance_to_hull(p, some.centres) for p in body.centres)
    assert left_out(body, some) == pytest.approx(furthest, rel=1e-6)
    assert left_out(body, body.some([])) == np.inf


def test_what_is_given_counts() -> None:
    """Corners that are there already are not chosen again."""
    box = points(trimesh.creation.box((0.2, 0.3, 0.4)).vertices)
    low = box.centres[:, 2] < 0.0
    chosen = cover(box, 0.005, box.some(low))
    assert len(chosen.radii) == 4 and (chosen.centres[:, 2] > 0.0).all()
    both = joined(chosen, box.some(low))
    assert left_out(box, both) == pytest.approx(0.0, abs=1e-12)


def test_rounding_chooses_nothing() -> None:
    """A symmetric body, rounded otherwise: the same balls, in the same order."""
    mesh = trimesh.creation.cylinder(radius=0.02, height=0.05, sections=24)
    chosen = cover(points(mesh.vertices), 5e-4)
    noise = RNG.uniform(-1e-16, 1e-16, mesh.vertices.shape)
    again = cover(points(mesh.vertices + noise), 5e-4)
    assert len(chosen.radii) > 4
    np.testing.assert_array_equal(again.centres, chosen.centres)
    np.testing.assert_array_equal(again.radii, chosen.radii)
