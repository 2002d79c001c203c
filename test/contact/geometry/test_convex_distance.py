# SPDX-License-Identifier: Apache-2.0
"""Separations of convex solids against all separating axes, and against coal."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin
import pytest

from humans_sim.contact.geometry.convex_cores import ConvexSolid, SolidTable
from humans_sim.contact.geometry.convex_distance import (
    core_distance,
    solid_separation,
)
from humans_sim.contact.geometry.link_pairs import coal_solid

WHICH = np.array([0, 1])


def box(size: np.ndarray) -> ConvexSolid:
    """A box around the origin."""
    corners = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
    return ConvexSolid.of(corners * size)


def poses_of(*poses: pin.SE3) -> np.ndarray:
    """Poses as kernels take them."""
    return np.array([np.append(p.rotation.T.ravel(), p.translation) for p in poses])


def edges(solid: ConvexSolid) -> np.ndarray:
    """Directions of all edges (n, 3)."""
    loops = np.split(solid.loops, solid.loop_ends[:-1])
    return np.vstack([np.diff(solid.vertices[[*p, p[0]]], axis=0) for p in loops])


def by_axes(solids: list[ConvexSolid], poses: list[pin.SE3]) -> float:
    """Largest separation along normals of faces and products of edges [m]."""
    (a, b), (p, q) = solids, poses
    cross = np.cross(
        (edges(a) @ p.rotation.T)[:, None], (edges(b) @ q.rotation.T)[None]
    ).reshape(-1, 3)
    length = np.linalg.norm(cross, axis=1)
    cross = cross[length > 1e-9] / length[length > 1e-9, None]
    axes = np.vstack(
        [-a.normals @ p.rotation.T, b.normals @ q.rotation.T, cross, -cross]
    )
    one = a.vertices @ p.rotation.T + p.translation
    other = b.vertices @ q.rotation.T + q.translation
    return float(((axes @ one.T).min(axis=1) - (axes @ other.T).max(axis=1)).max())


def separation(
    solids: list[ConvexSolid], poses: list[pin.SE3], near: float = 1e-3
) -> tuple[float, np.ndarray, np.ndarray]:
    """Separation, normal, and where the solids are nearest."""
    table = tuple(SolidTable.of(solids, [0, 1]))
    normal, at = np.zeros(3), np.zeros(3)
    apart = solid_separation(table, WHICH, poses_of(*poses), near, normal, at)
    return apart, normal, at


@pytest.mark.parametrize("gap", [0.0, 1e-9, -1e-9, 1e-6, -1e-5, -3e-4])
def test_solids_that_touch(gap: float) -> None:
    """Boxes and hulls at random: exact at, above and below zero."""
    rng = np.random.default_rng(3)
    for k in range(12):
        cloud = ConvexSolid.of(rng.normal(size=(12, 3)) * rng.uniform(0.02, 0.1, 3))
        solids = [box(rng.uniform(0.05, 0.3, 3)), cloud if k % 2 else box(np.ones(3))]
        poses = [pin.SE3(pin.exp3(rng.normal(size=3)), np.zeros(3)) for _ in range(2)]
        if k % 4 == 0:
            poses[1].rotation = poses[0].rotation
        way = rng.normal(size=3)
        way /= np.linalg.norm(way)
        low, high = 0.0, 2.0
        for _ in range(50):
            poses[1].translation = 0.5 * (low + high) * way
            if by_axes(solids, poses) < gap:
                low = 0.5 * (low + high)
            else:
                high = 0.5 * (low + high)
        expected = by_axes(solids, poses)
        assert expected == pytest.approx(gap, abs=1e-12)
        apart, normal, _ = separation(solids, poses)
        assert apart == pytest.approx(expected, abs=2e-12)
        assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-14)


def test_a_bound_where_solids_are_apart() -> None:
    """Never more than coal's distance; it where round solids are in the pair."""
    rng = np.random.default_rng(4)
    for k in range(60):
        round_ = ConvexSolid.of(rng.normal(size=(1 + k % 2, 3)) * 0.05, 0.04)
        hull = ConvexSolid.of(rng.normal(size=(14, 3)) * 0.06)
        solids = [round_ if k % 3 else box(np.array([0.1, 0.2, 0.05])), hull]
        poses = [pin.SE3(pin.exp3(rng.normal(size=3)), np.zeros(3)) for _ in range(2)]
        poses[1].translation = rng.normal(size=3) * 0.25
        places = []
        for solid, pose in zip(solids, poses, strict=True):
            shape, own = coal_solid(solid)
            whole = pose * own
            places += [shape, coal.Transform3s(whole.rotation, whole.translation)]
        result = coal.DistanceResult()
        distance = coal.distance(*places, coal.DistanceRequest(), result)
        if distance < 1e-3:
            continue
        apart, _, at = separation(solids, poses)
        assert apart <= distance + 1e-9
        if k % 3:
            assert apart == pytest.approx(distance, abs=1e-9)
            ends = result.getNearestPoint1(), result.getNearestPoint2()
            # half way between the hulls, so that balls shift it
            assert np.linalg.norm(at - 0.5 * (ends[0] + ends[1])) < 0.021


def test_deep_overlaps_keep_the_side_they_came_from() -> None:
    """A box pushed half into another one goes back where it came from."""
    solids = [box(np.array([0.1, 0.1, 0.1])), box(np.array([1.0, 1.0, 0.2]))]
    table = tuple(SolidTable.of(solids, [0, 1]))
    still, normal, at = pin.SE3.Identity(), np.zeros(3), np.zeros(3)
    for height in (0.149, 0.12, 0.09):
        above = pin.SE3(np.eye(3), np.array([0.01, 0.02, height]))
        apart = solid_separation(table, WHICH, poses_of(above, still), 1e-3, normal, at)
        assert apart == pytest.approx(height - 0.15, abs=1e-12)
        np.testing.assert_allclose(normal, [0, 0, 1], atol=1e-12)


def test_hulls_that_overlap_have_no_distance() -> None:
    """Zero, and the direction stays what it was."""
    solid = box(np.ones(3))
    normal, at = np.array([0.0, 1.0, 0.0]), np.zeros(3)
    starts = np.array([0, 8, 16])
    vertices = np.vstack([solid.vertices, solid.vertices + 0.3])
    poses = poses_of(pin.SE3.Identity(), pin.SE3.Identity())
    assert core_distance(vertices, starts, WHICH, poses, normal, at) == 0.0
    assert normal.tolist() == [0.0, 1.0, 0.0]
