# SPDX-License-Identifier: Apache-2.0
"""Tests of the points in which convex solids touch."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin
import pytest

from humans_sim.contact.geometry.convex_cores import ConvexSolid, SolidTable
from humans_sim.contact.geometry.convex_distance import solid_separation
from humans_sim.contact.geometry.convex_pairs import _overlap, pair_points, spread_out
from humans_sim.contact.geometry.link_pairs import coal_solid

SIZE = np.array([0.2, 0.1, 0.04])
CORNERS = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T * SIZE


class Pair:
    """Two solids; the second stays, the first is put somewhere."""

    def __init__(self, one: np.ndarray = CORNERS, other: np.ndarray = CORNERS) -> None:
        solids = [ConvexSolid.of(one), ConvexSolid.of(other)]
        self.table = tuple(SolidTable.of(solids, [0, 1]))
        self.solids = [coal_solid(solid)[0] for solid in solids]

    def at(self, pose: pin.SE3) -> tuple[np.ndarray, np.ndarray, float]:
        """Points, gaps, and coal's distance."""
        result, still = coal.DistanceResult(), coal.Transform3s()
        place = coal.Transform3s(pose.rotation, pose.translation)
        request = coal.DistanceRequest()
        coal.distance(*self.solids[:1], place, self.solids[1], still, request, result)
        poses = np.array(
            [
                np.append(p.rotation.T.ravel(), p.translation)
                for p in (pose, pin.SE3.Identity())
            ]
        )
        which, normal, at = np.array([0, 1]), np.zeros(3), np.zeros(3)
        apart = solid_separation(self.table, which, poses, 1e9, normal, at)
        points = pair_points(self.table, which, poses, normal, at, apart)
        return 0.5 * (points[0] + points[1]), points[2], result.min_distance


def turned(axis: str, angle: float, *place: float) -> pin.SE3:
    """A pose."""
    return pin.SE3(pin.utils.rotate(axis, angle), np.array(place))


def test_flat_on_flat() -> None:
    """Turned by 90 degrees about the normal, the overlap has the corners of both."""
    points, gap, _ = Pair().at(turned("z", np.pi / 2, 0.0, 0.0, 0.0401))
    np.testing.assert_allclose(gap, 1e-4, atol=1e-9)
    assert len(gap) == 4
    np.testing.assert_allclose(np.abs(points[:, :2]), 0.05, atol=1e-9)


def test_edge_on_face() -> None:
    """An edge along a face has two points, its ends."""
    angle = np.radians(45)
    points, gap, distance = Pair().at(turned("x", angle, 0.0, 0.0, 0.08))
    assert len(gap) == 2
    np.testing.assert_allclose(gap, distance, atol=1e-8)
    np.testing.assert_allclose(np.sort(points[:, 0]), [-0.1, 0.1], atol=1e-6)


def test_corner_on_face() -> None:
    """A corner has one point, where coal has it."""
    turn = pin.rpy.rpyToMatrix(0.6, 0.7, 0.2)
    _, gap, distance = Pair().at(pin.SE3(turn, np.array([0.0, 0.0, 0.15])))
    assert len(gap) == 1
    assert gap[0] == pytest.approx(distance, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_least_gap_is_the_distance(seed: int) -> None:
    """In any pose, the nearest of the points is as near as the solids are."""
    rng = np.random.default_rng(seed)
    pair = Pair(CORNERS, rng.normal(size=(40, 3)) * 0.05)
    for _ in range(100):
        turn = pin.Quaternion(*(x := rng.normal(size=4)) / np.linalg.norm(x)).matrix()
        away = rng.normal(size=3)
        away *= rng.uniform(0.12, 0.3) / np.linalg.norm(away)
        _, gap, distance = pair.at(pin.SE3(turn, away))
        assert gap.min() <= distance + 1e-9
        if distance < 1e-4:
            continue
        assert gap.min() == pytest.approx(distance, rel=0.03)


def test_edge_across_edge() -> None:
    """Edges that cross have one point, where they do."""
    poses = turned("x", np.pi / 4, 0.0, 0.0, 0.0)
    _, gap, _ = Pair(CORNERS @ poses.rotation.T, CORNERS @ poses.rotation.T).at(
        turned("z", np.pi / 2, 0.0, 0.0, 0.12)
    )
    height = (CORNERS @ poses.rotation.T)[:, 2].max()
    assert len(gap) == 1
    assert gap[0] == pytest.approx(0.12 - 2 * height, abs=1e-12)


def test_few_points_of_many() -> None:
    """The lowest stays, and the others are far from each other."""
    ring = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    points = np.column_stack([np.cos(ring), np.sin(ring), 0 * ring])
    chosen = spread_out(points, np.where(np.arange(12) == 5, -1.0, 0.0), 4)
    assert chosen[0] == 5
    assert sorted(int(k) for k in chosen) == [2, 5, 8, 11]


def test_faces_without_an_area() -> None:
    """A face seen from its side and an edge seen along it give heights, no error."""
    square = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    side = np.array([[0.2, 0.5, 0.1], [0.8, 0.5, 0.1], [0.8, 0.5, 0.3]])
    rows = _overlap(side, square)
    assert np.isfinite(rows).all() and np.isfinite(_overlap(square, side)).all()
    edge, along = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 1.0]]), side[:2]
    assert np.isfinite(_overlap(edge, along)).all()
    assert np.isfinite(_overlap(along, edge)).all()
