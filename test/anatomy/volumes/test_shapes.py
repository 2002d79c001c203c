# SPDX-License-Identifier: Apache-2.0
"""Volumes of formulas and meshes against their known contents."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh
from bone_volumes import dice

import humans_sim as hs
from humans_sim.anatomy import Volume, of_ball, of_box, of_ellipsoid, voxelise

MM = 1e-3


def test_volume_of_an_ellipsoid() -> None:
    """At 20 voxels a semi-axis and more the volume is right to 1 % (0.34 %)."""
    volume = of_ellipsoid((25 * MM, 20 * MM, 30 * MM), MM)
    exact = 4 / 3 * math.pi * 25 * 20 * 30 * MM**3
    assert volume.size == pytest.approx(exact, rel=0.01)
    assert np.allclose(volume.points().mean(axis=0), 0.0, atol=1e-12)


def test_voxels_of_a_ball_are_those_that_one_can_count() -> None:
    """A ball of 20 voxels has the 33 401 grid points of its formula."""
    assert of_ball(20 * MM, MM).count == 33401
    assert of_box((4 * MM, 5 * MM, 6 * MM), MM).count == 120


@pytest.mark.parametrize("turn", [0.0, 0.4])
def test_mesh_and_formula_agree(turn: float) -> None:
    """The voxels of a fine mesh of an ellipsoid are those of its formula."""
    mesh = trimesh.creation.icosphere(5)
    mesh.apply_scale([12.3 * MM, 9.2 * MM, 15.1 * MM])
    volume = voxelise(mesh, MM)
    exact = of_ellipsoid((12.3 * MM, 9.2 * MM, 15.1 * MM), MM)
    assert dice(volume, exact) > 0.99
    mesh.apply_transform(trimesh.transformations.rotation_matrix(turn, [1, 2, 3]))
    assert voxelise(mesh, MM).size == pytest.approx(mesh.volume, rel=0.01)


def test_columns_through_vertices_and_edges_count_once() -> None:
    """A box whose corners, edges and faces lie on voxel centres is full, no more."""
    mesh = trimesh.creation.box((4 * MM, 6 * MM, 8 * MM))
    volume = voxelise(mesh, MM)
    assert set(volume.inside.any(axis=(1, 2)).nonzero()[0].tolist())
    counts = volume.inside.sum()
    assert 4 * 6 * 8 <= counts <= 5 * 7 * 9
    filled = volume.inside[volume.inside.any(axis=(1, 2))]
    assert (filled.sum(axis=(1, 2)) == filled[0].sum()).all()


def test_parts_that_overlap_count_once_and_hollows_stay_hollow() -> None:
    """The winding number makes unions of parts and keeps cavities."""
    one = trimesh.creation.icosphere(3, 10 * MM)
    two = one.copy()
    two.apply_translation([8 * MM, 0, 0])
    both = voxelise(trimesh.util.concatenate([one, two]), MM)
    single = voxelise(one, MM)
    assert single.count < both.count < 2 * single.count
    core = trimesh.creation.icosphere(3, 5 * MM)
    core.invert()
    hollow = voxelise(trimesh.util.concatenate([one, core]), MM)
    assert hollow.size == pytest.approx(one.volume + core.volume, rel=0.03)


def test_refuses_what_is_no_volume() -> None:
    """Empty grids, grids without margin, millimetres for metres are refused."""
    full = np.ones((4, 4, 4), dtype=bool)
    for inside, spacing, why in (
        (np.zeros((4, 4, 4), dtype=bool), MM, "empty"),
        (full, MM, "border"),
        (full.astype(int), MM, "truth values"),
        (full[0], MM, "3 axes"),
        (full, 0.25, "metres"),
        (full, -1.0, "positive"),
    ):
        with pytest.raises(hs.errors.AnatomyError, match=why):
            Volume(inside, spacing, np.zeros(3))
    assert Volume.padded(full, MM, np.zeros(3)).count == 64
    with pytest.raises(hs.errors.AnatomyError, match="smaller spacing"):
        voxelise(
            trimesh.creation.box((4e-3,) * 3).apply_translation((0.5e-2,) * 3), 9e-3
        )
    with pytest.raises(hs.errors.AnatomyError, match="take a larger spacing"):
        of_ball(0.5, 1e-4)
