# SPDX-License-Identifier: Apache-2.0
"""Implicit surfaces: values of the thesis, gradients, blending, closed meshes."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim.soft as soft

POINT = np.array([[1.0, 0.7, 0.0]])


def test_segments_add_up_and_distances_bulge() -> None:
    """Cut segments give 1.3394021891 again; sums of distance fields double."""
    whole = soft.SegmentField((0, 0, 0), (2, 0, 0))
    halves = [soft.SegmentField((i, 0, 0), (i + 1, 0, 0)) for i in range(2)]
    assert whole.value(POINT)[0] == pytest.approx(1.3394021891, abs=1e-10)
    assert sum(h.value(POINT)[0] for h in halves) == pytest.approx(1.3394021891)
    parts = [soft.DistanceField((i, 0, 0), (i + 1, 0, 0), 2.0) for i in range(2)]
    one = parts[0].value(POINT)[0]
    assert one == pytest.approx(0.728, abs=1e-3)
    assert soft.Blend(parts).value(POINT)[0] == pytest.approx(1.456, abs=1e-3)
    half = soft.DistanceField((0, 0, 0), (0, 0, 0), 2.0)
    assert half.value(np.array([[1.0, 0, 0]]))[0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    "surface",
    [
        soft.Blob((0.1, 0, 0), 1.3, 0.8),
        soft.DistanceField((0, 0, 0), (1, 0.5, 0), 2.0),
        soft.SegmentField((0, 0, 0), (1, 0.5, 0), 0.6, 1.2),
        soft.Blend([soft.Blob((0, 0, 0)), soft.Blob((5, 0, 0)), soft.Blob((1, 0, 0))]),
    ],
)
def test_gradients_are_differences(surface: soft.Field) -> None:
    """Gradients are those of finite differences, to 1e-6."""
    points = np.random.default_rng(0).normal(0, 0.7, (50, 3))
    steps = 1e-5 * np.eye(3)
    differences = np.stack(
        [(surface.value(points + s) - surface.value(points - s)) / 2e-5 for s in steps],
        axis=1,
    )
    np.testing.assert_allclose(surface.gradient(points), differences, atol=1e-6)


def two_blobs(distance: float, spacing: float = 0.05):
    """The mesh of two blobs at a level of a half."""
    half = distance / 2
    field = soft.Blend([soft.Blob((-half, 0, 0)), soft.Blob((half, 0, 0))])
    bounds = np.array([[-2.6, -1.21, -1.21], [2.6, 1.2, 1.2]])
    return soft.mesh_of(field, 0.5, bounds, spacing)


def test_two_blobs_merge() -> None:
    """Euler's number is 4 beyond 2.35482 and 2 below; meshes are closed."""
    assert 2 * np.sqrt(np.log(2 / 0.5)) == pytest.approx(2.35482, abs=1e-5)
    for distance, number in ((2.40, 4), (2.31, 2)):
        mesh = two_blobs(distance)
        assert mesh.is_watertight and mesh.is_winding_consistent
        assert mesh.euler_number == number and mesh.volume > 0


def test_sphere_area_and_normals() -> None:
    """A blob's sphere of radius 0.83255 at R / h = 20: area within 1 %, facing out."""
    radius = np.sqrt(np.log(2))
    assert radius == pytest.approx(0.83255, abs=1e-5)
    bounds = np.array([[-1.01, -1, -1], [1, 1.02, 1]])
    blob = soft.Blob((0, 0, 0))
    mesh = soft.mesh_of(blob, 0.5, bounds, radius / 20)
    assert mesh.is_watertight and mesh.euler_number == 2
    assert mesh.area == pytest.approx(4 * np.pi * radius**2, rel=0.01)
    outwards = -blob.gradient(mesh.triangles_center)
    assert np.sum(mesh.face_normals * outwards, axis=1).min() > 0


def test_only_neighbours_blend() -> None:
    """A limb that is no neighbour leaves the surface alone where another rules."""
    thigh = soft.SegmentField((0, 0, 0), (0, 0, 1), 0.2)
    shank = soft.SegmentField((0, 0, -1), (0, 0, 0), 0.2)
    hand = soft.SegmentField((0.5, 0, 0.5), (0.5, 0, 0.7), 0.2)
    leg = soft.Blend([thigh, shank], [(0, 1)])
    body = soft.Blend([thigh, shank, hand], [(0, 1)])
    points = np.random.default_rng(1).uniform(-0.2, 0.2, (200, 3))
    np.testing.assert_array_equal(leg.value(points), body.value(points))
    assert (
        soft.Blend([thigh, shank, hand]).value(points).max() > leg.value(points).max()
    )


def test_faults_are_typed() -> None:
    """Boxes that cut the surface or miss it, and fields that are none, are errors."""
    with pytest.raises(soft.SoftError, match="leaves the box"):
        box = np.array([[-0.5] * 3, [2.0] * 3])
        soft.mesh_of(soft.Blob((0, 0, 0)), 0.5, box, 0.1)
    with pytest.raises(soft.SoftError, match="nowhere above"):
        soft.mesh_of(soft.Blob((0, 0, 0)), 2.0, np.array([[-2.0] * 3, [2.0] * 3]), 0.2)
    with pytest.raises(soft.SoftError, match="decay"):
        soft.Blob((0, 0, 0), decay=-1.0)
    with pytest.raises(soft.SoftError, match="2 elements"):
        soft.Blend([soft.Blob((0, 0, 0))] * 2, [(0, 5)])
