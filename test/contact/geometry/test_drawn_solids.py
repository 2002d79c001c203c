# SPDX-License-Identifier: Apache-2.0
"""Tests of the signed distance of convex solids, against other ways to compute it."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from humans_sim.contact.geometry.drawn_solids import (
    DrawnSolid,
    least_distance,
    signed_distance,
)

UP = np.array([0.0, 0.0, 1.0])


def pose(turn: np.ndarray, place: np.ndarray) -> np.ndarray:
    """A rotation and a place side by side."""
    return np.column_stack([turn, place])


def turned(rng: np.random.Generator) -> np.ndarray:
    """A random rotation."""
    return np.asarray(Rotation.random(random_state=rng.integers(1 << 30)).as_matrix())


def separation(first: np.ndarray, second: np.ndarray) -> float:
    """Largest distance along normals of faces and products of all edges."""
    hulls = ConvexHull(first), ConvexHull(second)
    edges = [
        np.vstack([p[h.simplices[:, k]] - p[h.simplices[:, k - 1]] for k in range(3)])
        for h, p in zip(hulls, (first, second), strict=True)
    ]
    products = np.cross(edges[0][:, None], edges[1][None]).reshape(-1, 3)
    length = np.linalg.norm(products, axis=1)
    products = products[length > 1e-12] / length[length > 1e-12, None]
    faces = np.vstack([hulls[0].equations[:, :3], -hulls[1].equations[:, :3]])
    normals = np.vstack([faces, products, -products])
    gaps = (second @ normals.T).min(axis=0) - (first @ normals.T).max(axis=0)
    return float(gaps.max())


@pytest.mark.parametrize("count", [8, 30])
def test_depths_are_those_of_all_separating_axes(count: int) -> None:
    """Random hulls that overlap: the least over all axes there are."""
    rng = np.random.default_rng(count)
    for _ in range(40):
        first, second = (rng.normal(size=(count, 3)) * 0.05 for _ in range(2))
        turn, place = turned(rng), rng.normal(size=3) * 0.03
        expected = separation(first, second @ turn.T + place)
        if expected < 0.0:
            distance, normal = signed_distance(
                DrawnSolid(first),
                np.eye(3, 4),
                DrawnSolid(second),
                pose(turn, place),
            )
            assert distance == pytest.approx(expected, abs=1e-13)
            moved = second @ turn.T + place - 1.000001 * distance * normal
            assert separation(first, moved) > 0.0


@pytest.mark.parametrize("depth", [0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3])
def test_faces_that_touch_have_no_error(depth: float) -> None:
    """Box on box, aligned or not, anywhere in space: the depth to 1e-12 m."""
    rng = np.random.default_rng(1)
    for aligned in (True, False) * 20:
        sizes = rng.uniform(0.02, 0.2, (2, 3))
        spin = 0.0 if aligned else rng.uniform(0.0, 6.0)
        twist = Rotation.from_euler("z", spin).as_matrix()
        between = np.array([*rng.uniform(-0.005, 0.005, 2), sizes[:, 2].sum() / 2])
        turn, place = turned(rng), rng.normal(size=3)
        distance, _ = signed_distance(
            DrawnSolid.box(sizes[0]),
            pose(turn, place),
            DrawnSolid.box(sizes[1]),
            pose(turn @ twist, place + turn @ (between - depth * UP)),
        )
        assert distance == pytest.approx(-depth, abs=1e-12)


@pytest.mark.parametrize("gap", [1e-9, 1e-7, 1e-5, 1e-3, 0.1])
def test_solids_that_are_apart_do_not_overlap(gap: float) -> None:
    """No rounding makes an overlap of a small gap between edges that cross."""
    rng = np.random.default_rng(2)
    ridge = np.array([[-0.1, 0, 0], [0.1, 0, 0], [0, 0.05, -0.1], [0, -0.05, -0.1]])
    for _ in range(40):
        twist = Rotation.from_euler("z", rng.uniform(0.3, 2.8)).as_matrix()
        upper = (ridge * [1, 1, -1]) @ twist.T + gap * UP
        turn, place = turned(rng), rng.normal(size=3)
        distance, _ = signed_distance(
            DrawnSolid(ridge), pose(turn, place), DrawnSolid(upper), pose(turn, place)
        )
        assert 0.0 < distance == pytest.approx(gap, abs=1e-3 * gap + 1e-9)


@pytest.mark.parametrize("distance", [-0.03, -1e-5, -1e-9, 1e-6, 0.02])
def test_balls_and_capsules(distance: float) -> None:
    """Their distances are those of points and segments, less the radii."""
    rng = np.random.default_rng(3)
    box, ball = DrawnSolid.box([0.2, 0.3, 0.1]), DrawnSolid.ball(0.05)
    ends = np.array([[-0.1, 0.0, 0.0], [0.1, 0.0, 0.0]])
    capsule = DrawnSolid(ends, 0.02)
    for _ in range(20):
        turn, place = turned(rng), rng.normal(size=3)
        corner = np.array([0.1, 0.15, 0.05])
        outwards = np.abs(rng.normal(size=3)) + 0.1
        outwards /= np.linalg.norm(outwards)
        crossed = np.array([[0.0, -0.1, 0.0], [0.0, 0.1, 0.0]])
        for one, other, between in (
            (ball, DrawnSolid.ball(0.04), (0.09 + distance) * outwards),
            (box, ball, [0.01, 0.02, 0.1 + distance]),
            (box, ball, corner + (0.05 + distance) * outwards),
            (capsule, DrawnSolid(crossed, 0.03), [0.01, -0.02, 0.05 + distance]),
            (capsule, ball, [0.1 + 0.07 + distance, 0.0, 0.0]),
            (box, capsule, [0.0, 0.0, 0.07 + distance]),
        ):
            at = pose(turn, place + turn @ np.asarray(between))
            result, _ = signed_distance(one, pose(turn, place), other, at)
            assert result == pytest.approx(distance, abs=1e-12)


def test_axes_and_centres_that_meet() -> None:
    """A ball around a point of an axis, capsules that cross, a ball in a triangle."""
    ends = np.array([[-0.1, 0.0, 0.0], [0.1, 0.0, 0.0]])
    capsule, ball = DrawnSolid(ends, 0.02), DrawnSolid.ball(0.03)
    crossed = DrawnSolid(ends[:, [1, 0, 2]], 0.01)
    corners = np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 1.0, 0.0]])
    triangle = DrawnSolid(corners)
    rng = np.random.default_rng(6)
    for _ in range(20):
        turn, place = turned(rng), rng.normal(size=3)
        for one, other, between, expected in (
            (capsule, ball, [0.01, 0.0, 0.0], -0.05),
            (capsule, crossed, [0.02, 0.01, 0.0], -0.03),
            (triangle, ball, [0.02, 0.01, 0.0], -0.03),
            (triangle, capsule, [0.02, 0.01, 0.0], -0.02),
        ):
            at = pose(turn, place + turn @ between)
            distance, _ = signed_distance(one, pose(turn, place), other, at)
            assert distance == pytest.approx(expected, abs=1e-12)


def test_a_ball_in_the_middle_of_another() -> None:
    """There is no normal; the depth is known all the same."""
    ball = DrawnSolid.ball(0.1)
    distance, normal = signed_distance(ball, np.eye(3, 4), ball, np.eye(3, 4))
    assert distance == pytest.approx(-0.2)
    assert np.linalg.norm(normal) == pytest.approx(1.0)


def test_the_least_of_many_poses_is_found() -> None:
    """As by looking at every pose; with a bound, only what is below it."""
    rng = np.random.default_rng(4)
    one, other = (DrawnSolid(rng.normal(size=(20, 3)) * 0.05) for _ in range(2))
    for _ in range(5):
        steps = np.cumsum(rng.normal(size=(200, 3)) * 0.01, axis=0)
        spins = np.cumsum(rng.normal(size=(200, 3)) * 0.1, axis=0)
        turns = Rotation.from_rotvec(spins).as_matrix()
        poses = np.concatenate([turns, steps[:, :, None]], axis=2)
        still = np.broadcast_to(np.eye(3, 4), poses.shape)
        each = [signed_distance(one, np.eye(3, 4), other, p)[0] for p in poses]
        least = least_distance(one, still, other, poses)
        if min(each) >= 0.0:
            assert least is None
            continue
        assert least is not None and least[1] == int(np.argmin(each))
        assert least[0] == pytest.approx(min(each), abs=1e-12)
        assert least_distance(one, still, other, poses, min(each) - 1e-9) is None
