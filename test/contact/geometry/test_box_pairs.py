# SPDX-License-Identifier: Apache-2.0
"""Where two boxes touch, beside another library's distances."""

from __future__ import annotations

import coal
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from humans_sim.contact.geometry.convex_pairs import (
    BOX_SLOTS,
    CHOICE,
    FAR,
    BoxPlaces,
    box_contacts,
    choose,
)
from humans_sim.contact.geometry.solids import Box


def contacts(one: Box, other: Box) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gaps, points and normals."""
    choice = np.zeros(CHOICE, np.int64)
    places = BoxPlaces(
        np.zeros(BOX_SLOTS, np.bool_),
        np.empty(BOX_SLOTS),
        np.zeros((BOX_SLOTS, 3)),
        np.zeros((BOX_SLOTS, 3)),
    )
    choose(one.row(), other.row(), choice)
    box_contacts(one.row(), other.row(), choice, False, places)
    np.testing.assert_array_equal(places.active, places.gap < FAR)
    return places.gap, places.point, places.normal


def oracle(one: Box, other: Box) -> float:
    """Signed distance by coal."""
    shapes, poses = [], []
    for box in (one, other):
        shapes.append(coal.Box(*box.size))
        turn = np.eye(3) if box.rotation is None else box.rotation
        poses.append(coal.Transform3s(turn, np.array(box.centre)))
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    return float(
        coal.distance(shapes[0], poses[0], shapes[1], poses[1], request, result)
    )


def random_pair(rng: np.random.Generator) -> tuple[Box, Box]:
    """Two boxes about as far from each other as they are large."""
    turns = Rotation.random(2, random_state=int(rng.integers(1 << 30))).as_matrix()
    sizes = rng.uniform(0.1, 0.3, (2, 3))
    direction = rng.normal(size=3)
    away = direction / np.linalg.norm(direction) * rng.uniform(0.15, 0.3)
    return (
        Box(tuple(sizes[0]), tuple(away), turns[0]),
        Box(tuple(sizes[1]), (0.0, 0.0, 0.0), turns[1]),
    )


def test_random_pairs_beside_coal() -> None:
    """Inside where coal says so, and as deep; outside, often at the same distance."""
    rng = np.random.default_rng(11)
    same = inside = 0
    for _ in range(400):
        one, other = random_pair(rng)
        expected = oracle(one, other)
        least = contacts(one, other)[0].min()
        if expected < -1e-6:
            inside += 1
            # the axis of least depth: a face is preferred by 0.1 mm
            assert least <= -0.9 * abs(expected) + 2e-4
        elif least < FAR:
            assert least > 0.0
            same += abs(least - expected) < 1e-6
    assert inside > 50
    assert same > 20


def test_a_box_on_a_box() -> None:
    """Four corners, their gap and normal; the overlap's where it hangs over."""
    below = Box((0.4, 0.4, 0.2), (0.0, 0.0, 0.1))
    gap, point, normal = contacts(Box((0.2, 0.2, 0.1), (0.0, 0.0, 0.251)), below)
    near = np.flatnonzero(gap < FAR)
    assert len(near) == 4
    np.testing.assert_allclose(gap[near], 1e-3, atol=1e-12)
    np.testing.assert_allclose(normal[near], np.tile([0, 0, 1.0], (4, 1)), atol=1e-12)
    np.testing.assert_allclose(np.abs(point[near, :2]), 0.1)
    np.testing.assert_allclose(point[near, 2], 0.2005)
    # turned by 45 degrees, hanging over: the overlap has eight corners
    turn = Rotation.from_euler("z", 45, degrees=True).as_matrix()
    gap, point, _ = contacts(Box((0.4, 0.4, 0.1), (0.0, 0.0, 0.25), turn), below)
    near = np.flatnonzero(gap < FAR)
    assert len(near) == 8
    np.testing.assert_allclose(gap[near], 0.0, atol=1e-12)
    assert point[near, :2].max() == pytest.approx(0.2)
    # far beside it: nothing
    assert contacts(Box((0.2, 0.2, 0.1), (0.36, 0.0, 0.25)), below)[0].min() == FAR


def test_crossed_edges() -> None:
    """Two boxes on their edges, one across the other: one point in the middle."""
    half = np.sqrt(2) * 0.1
    lower = Box(
        (0.6, 0.2, 0.2),
        (0, 0, 0),
        Rotation.from_euler("x", 45, degrees=True).as_matrix(),
    )
    upper = Box(
        (0.2, 0.6, 0.2),
        (0.01, 0.02, 2 * half + 0.003),
        Rotation.from_euler("y", 45, degrees=True).as_matrix(),
    )
    gap, point, normal = contacts(upper, lower)
    assert list(np.flatnonzero(gap < FAR)) == [32]
    assert gap[32] == pytest.approx(0.003)
    np.testing.assert_allclose(normal[32], [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(point[32], [0.01, 0.0, half + 0.0015], atol=1e-12)
    flipped, _, back = contacts(lower, upper)
    assert flipped[32] == pytest.approx(0.003)
    np.testing.assert_allclose(back[32], [0, 0, -1], atol=1e-12)
