# SPDX-License-Identifier: Apache-2.0
"""Tests of convex solids, their faces and their cores."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from humans_sim.contact.geometry.convex_cores import ConvexSolid, SolidTable


def box(*size: float) -> np.ndarray:
    """Corners of a box."""
    return np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T * size


def test_a_box_keeps_its_corners_and_its_core_lies_inside() -> None:
    """Faces of the core are a millimetre further inwards."""
    solid = ConvexSolid.of(box(0.2, 0.3, 0.4))
    assert len(solid.vertices) == 8 and solid.radius == 0.0
    np.testing.assert_allclose(np.ptp(solid.vertices, axis=0), [0.2, 0.3, 0.4])
    np.testing.assert_allclose(np.ptp(solid.core, axis=0), [0.198, 0.298, 0.398])
    assert len(solid.normals) == 6
    assert np.diff(solid.loop_ends, prepend=0).tolist() == [4] * 6


def test_thin_solids_have_near_cores() -> None:
    """That of a plate lies a quarter of half its thickness inside."""
    core = ConvexSolid.of(box(0.1, 0.1, 2e-3)).core
    assert np.ptp(core[:, 2]) == pytest.approx(1.5e-3)


def test_cores_of_smooth_solids_lie_inside() -> None:
    """A ball of many triangles: all of the core is inside all of its faces."""
    ball = np.asarray(trimesh.creation.icosphere(3, radius=0.1).vertices)
    solid = ConvexSolid.of(ball)
    inside = (solid.normals @ solid.core.T).max(axis=1)
    outside = (solid.normals @ solid.vertices.T).max(axis=1)
    assert (outside - inside).min() > 5e-4
    assert (outside - inside).max() < 1.1e-3


@pytest.mark.parametrize("count", [1, 2])
def test_balls_and_capsules(count: int) -> None:
    """A point or a segment with a radius is its own core."""
    solid = ConvexSolid.of(np.eye(3)[:count], 0.05)
    assert len(solid.vertices) == len(solid.core) == count
    assert solid.radius == 0.05
    assert not len(solid.normals)


def test_flat_solids_get_two_sides() -> None:
    """A sheet becomes a thin solid; a chain of points in line a segment."""
    solid = ConvexSolid.of(box(0.1, 0.2, 0.0))
    assert 0.0 < np.ptp(solid.vertices, axis=0).min() < 3e-4
    line = ConvexSolid.of(np.outer(np.linspace(0, 1, 5), [1.0, 2.0, 3.0]))
    assert len(line.vertices) == 2


def test_loops_run_around_their_normals() -> None:
    """The corners of a face are in order, seen from outside."""
    rng = np.random.default_rng(1)
    solid = ConvexSolid.of(rng.normal(size=(30, 3)))
    for normal, loop in zip(
        solid.normals, np.split(solid.loops, solid.loop_ends[:-1]), strict=True
    ):
        a, b, c = solid.vertices[loop[:3]]
        assert np.cross(b - a, c - b) @ normal > 0.0


def test_tables_keep_solids_apart() -> None:
    """Faces of the second solid of a table use its own vertices; planes have one."""
    plane = ConvexSolid.half_space(np.array([0.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0]))
    solids = [ConvexSolid.of(box(1, 1, 1)), ConvexSolid.of(box(1, 2, 3)), plane]
    table = SolidTable.of(solids, [1, 2, 0])
    second = table.loops[table.loop_start[table.face_start[1]] :]
    assert second.min() == table.vertex_start[1]
    assert second.max() == table.vertex_start[2] - 1
    np.testing.assert_allclose(table.length, [1, 3, np.inf])
    np.testing.assert_allclose(table.reach, [0.75**0.5, 3.5**0.5, np.inf])
    assert table.plane.tolist() == [False, False, True]
