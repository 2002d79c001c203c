# SPDX-License-Identifier: Apache-2.0
"""Ball models: exact reconstruction, counts, covers, files, errors in space."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh
from bone_volumes import of_rough_ellipsoid, surface_count
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.anatomy import (
    BallModel,
    Volume,
    ball_model,
    fill_balls,
    load_ball_model,
    octree_cover,
    of_ball,
    of_box,
    of_ellipsoid,
    reduce_cover,
    surface_error,
)
from humans_sim.anatomy.volumes.volume import of_field

MM = 1e-3
METRICS = ["3-4-5", "5-7-9", "5-7-11 (3-D)", "euclidean"]


def bumpy() -> Volume:
    """An ellipsoid with bumps."""

    def field(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        bumps = 0.15 * np.sin(900 * x) * np.cos(700 * y) * np.sin(800 * z)
        return (x / 0.012) ** 2 + (y / 0.016) ** 2 + (z / 0.01) ** 2 - 1 + bumps

    return of_field(field, (-0.02,) * 3, (0.02,) * 3, MM)


SHAPES = {
    "ball": of_ball(12 * MM, MM),
    "ellipsoid": of_ellipsoid((15 * MM, 10 * MM, 8 * MM), MM),
    "bumpy": bumpy(),
    "rough": of_rough_ellipsoid((16 * MM, 12 * MM, 10 * MM), MM, 0.9 * MM),
}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", SHAPES)
def test_balls_rebuild_the_volume(shape: str, metric: str) -> None:
    """Voxel for voxel, for every shape and metric, whole and reduced."""
    volume = SHAPES[shape]
    model = ball_model(volume, metric)
    assert np.array_equal(model.reconstruct().inside, volume.inside)
    fewer = reduce_cover(model)
    assert np.array_equal(fewer.reconstruct().inside, volume.inside)
    assert len(fewer) < len(model)


def test_counts_of_the_reference_shapes() -> None:
    """Ball of 20 voxels: 3 133 medial balls of 33 401 voxels, a third left or fewer."""
    volume = of_ball(20 * MM, MM)
    model = ball_model(volume)
    assert (volume.count, len(model)) == (33401, 3133)
    assert 3 * len(reduce_cover(model)) <= len(model)
    exact = ball_model(volume, "euclidean")
    assert len(exact) < len(model) / 5 and len(reduce_cover(exact)) == 1


def test_shares_of_smooth_and_rough_shapes() -> None:
    """Up to 11 % of a smooth bone's voxels are medial, up to 40 % of a rough one's."""
    smooth = of_ellipsoid((40 * MM, 25 * MM, 18.6 * MM), MM)
    assert (smooth.count, surface_count(smooth)) == (77859, 7922)
    model = ball_model(smooth)
    assert len(model) == 6589 <= 0.11 * smooth.count
    fewer = reduce_cover(model)
    assert 3 * len(fewer) <= len(model) and len(fewer) < 1810
    assert np.array_equal(fewer.reconstruct().inside, smooth.inside)
    rough = of_rough_ellipsoid((30 * MM, 20 * MM, 15 * MM), MM, 1.5 * MM)
    share = len(ball_model(rough)) / rough.count
    assert 0.11 < share <= 0.40


def test_medial_balls_of_a_box_by_hand() -> None:
    """A box of 5 x 5 x 9 voxels has the cube balls that one finds by hand."""
    model = ball_model(of_box((5 * MM, 5 * MM, 9 * MM), MM))
    assert model.grid is not None
    deepest = model.grid.voxels[model.grid.distances == 9]
    # the middle line, two voxels from every face
    assert sorted(map(tuple, deepest)) == [(3, 3, k) for k in range(3, 8)]
    corners = {(1, 1, 1), (5, 5, 9), (1, 5, 9), (5, 1, 1)}
    assert corners <= set(map(tuple, model.grid.voxels[model.grid.distances == 3]))


def test_balls_touch_where_the_bones_do() -> None:
    """Two balls of 20 voxels, turned at random, touch at 40 voxels to one voxel."""
    model = ball_model(of_ball(20 * MM, MM))
    errors = []
    for seed in range(30):
        turn = Rotation.random(2, random_state=seed).as_matrix()
        a, b = model.centres @ turn[0].T, model.centres @ turn[1].T
        # along x: the distance at which the first pair of balls touches
        left, right = a[:, 0] + model.radii, model.radii - b[:, 0]
        i, j = left > left.max() - 2 * MM, right > right.max() - 2 * MM
        a, b = a[i], b[j]
        reach = model.radii[i, None] + model.radii[j]
        across = (a[:, 1, None] - b[:, 1]) ** 2 + (a[:, 2, None] - b[:, 2]) ** 2
        meets = reach**2 > across
        along = a[:, 0, None] - b[:, 0] + np.sqrt(np.maximum(reach**2 - across, 0))
        errors.append(along[meets].max() / MM - 40)
    assert 0.2 < min(errors) and max(errors) < 1.0
    assert np.mean(errors) == pytest.approx(0.54, abs=0.1)


def test_octree_covers_the_bone() -> None:
    """Balls around the cubes of an octree hold every voxel, and more."""
    volume = SHAPES["bumpy"]
    cover = octree_cover(volume)
    filled = fill_balls(cover, MM)
    start = np.rint((volume.origin - filled.origin) / MM).astype(int)
    places = volume.indices() + start
    assert filled.inside[tuple(places.T)].all()
    assert filled.count > volume.count > len(cover)


def test_deviation_from_the_mesh() -> None:
    """The balls are within a voxel of the mesh that the volume came from."""
    mesh = trimesh.creation.icosphere(4, 20 * MM)
    for metric in ("3-4-5", "euclidean"):
        error = surface_error(ball_model(of_ball(20 * MM, MM), metric), mesh)
        assert error.short < MM and error.beyond < MM
    far = surface_error(BallModel(np.zeros((1, 3)), np.array([18 * MM])), mesh)
    assert far.mean == pytest.approx(2 * MM, rel=0.01)


@pytest.mark.parametrize("metric", ["3-4-5", "euclidean"])
def test_files(tmp_path: Path, metric: str) -> None:
    """A saved model is the same when it is loaded, and rebuilds the same volume."""
    model = reduce_cover(ball_model(SHAPES["bumpy"], metric))
    again = load_ball_model(model.save(tmp_path / "bone.npz"))
    assert np.array_equal(again.centres, model.centres)
    assert np.array_equal(again.radii, model.radii) and again.notes == model.notes
    assert np.array_equal(again.reconstruct().inside, SHAPES["bumpy"].inside)
    plain = BallModel(model.centres, model.radii)
    assert load_ball_model(plain.save(tmp_path / "plain.npz")).grid is None
    with pytest.raises(hs.errors.AnatomyError, match="no grid"):
        reduce_cover(plain)


def test_refuses_what_is_no_model(tmp_path: Path) -> None:
    """Models without balls, with wrong radii, and files of other kinds are refused."""
    for centres, radii in (
        (np.zeros((0, 3)), np.zeros(0)),
        (np.zeros((2, 3)), np.ones(1)),
        (np.zeros((1, 3)), np.zeros(1)),
        (np.full((1, 3), np.nan), np.ones(1)),
        (np.zeros((1, 2)), np.ones(1)),
    ):
        with pytest.raises(hs.errors.AnatomyError):
            BallModel(centres, radii)
    np.savez(tmp_path / "other.npz", header=np.array("{}"), centres=1.0, radii=1.0)
    (tmp_path / "broken.npz").write_bytes(b"PK nothing")
    for name in ("other.npz", "broken.npz", "missing.npz"):
        with pytest.raises(hs.errors.BallModelFileError):
            load_ball_model(tmp_path / name)
    with pytest.raises(hs.errors.AnatomyError, match="no mask"):
        ball_model(SHAPES["ball"], "1-1-1")
