# SPDX-License-Identifier: Apache-2.0
"""Tests of convex solids as cores with skins."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from humans_sim.contact.geometry.convex_cores import ConvexCore, CoreTable


def height(core: ConvexCore, directions: np.ndarray) -> np.ndarray:
    """How far a solid goes along unit vectors."""
    return (directions @ core.vertices.T).max(axis=1) + core.radius


def box(*size: float) -> np.ndarray:
    """Corners of a box."""
    return np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T * size


def test_faces_stay_and_corners_are_rounded() -> None:
    """A box keeps its faces to rounding; its corners lose (sqrt 3 - 1) radii."""
    core = ConvexCore.of(box(0.2, 0.3, 0.4))
    axes = np.vstack([np.eye(3), -np.eye(3)])
    np.testing.assert_allclose(height(core, axes), [0.1, 0.15, 0.2] * 2, atol=1e-12)
    corner = np.ones((1, 3)) / np.sqrt(3)
    lost = (box(0.2, 0.3, 0.4) @ corner[0]).max() - height(core, corner)[0]
    assert lost == pytest.approx((np.sqrt(3) - 1) * core.radius, rel=1e-9)
    assert core.radius == 1e-3
    assert len(core.normals) == 6
    assert np.diff(core.loop_ends, prepend=0).tolist() == [4] * 6


def test_thin_solids_get_a_thin_skin() -> None:
    """The skin of a plate is a quarter of half its thickness."""
    assert ConvexCore.of(box(0.1, 0.1, 2e-3)).radius == pytest.approx(2.5e-4)


def test_smooth_solids_stay_where_they_are() -> None:
    """A ball of many triangles loses less than a hundredth of its skin."""
    ball = trimesh.creation.icosphere(3, radius=0.1)
    core = ConvexCore.of(np.asarray(ball.vertices))
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(200, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    lost = (directions @ ball.vertices.T).max(axis=1) - height(core, directions)
    assert np.abs(lost).max() < 0.01 * core.radius


@pytest.mark.parametrize("count", [1, 2])
def test_balls_and_capsules(count: int) -> None:
    """A point or a segment with a radius is its own core."""
    core = ConvexCore.of(np.eye(3)[:count], 0.05)
    assert len(core.vertices) == count
    assert core.radius == 0.05
    assert not len(core.normals)


def test_flat_solids_get_two_sides() -> None:
    """A sheet becomes a thin solid; a chain of points in line a segment."""
    sheet = box(0.1, 0.2, 0.0)[:4] + box(0.1, 0.2, 0.0)[4:]
    core = ConvexCore.of(0.5 * sheet)
    assert np.ptp(core.vertices, axis=0).min() < 3e-4
    line = ConvexCore.of(np.outer(np.linspace(0, 1, 5), [1.0, 2.0, 3.0]))
    assert len(line.vertices) == 2


def test_loops_run_around_their_normals() -> None:
    """The corners of a face are in order, seen from outside."""
    rng = np.random.default_rng(1)
    core = ConvexCore.of(rng.normal(size=(30, 3)))
    for normal, loop in zip(
        core.normals, np.split(core.loops, core.loop_ends[:-1]), strict=True
    ):
        a, b, c = core.vertices[loop[:3]]
        assert np.cross(b - a, c - b) @ normal > 0.0


def test_tables_keep_cores_apart() -> None:
    """Faces of the second core of a table use its own vertices."""
    cores = [ConvexCore.of(box(1, 1, 1)), ConvexCore.of(box(1, 2, 3))]
    table = CoreTable.of(cores)
    second = table.loops[table.loop_start[table.face_start[1]] :]
    assert second.min() == table.vertex_start[1]
    assert second.max() == table.vertex_start[2] - 1
    np.testing.assert_allclose(table.length, [1, 3])
