# SPDX-License-Identifier: Apache-2.0
"""Distance maps against shortest paths, and against Euclid's distance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

import humans_sim as hs
from humans_sim.anatomy import MASKS, chamfer_map, of_ellipsoid, squared_distance_map
from humans_sim.anatomy.balls.distance_maps import padded_grid, shortest_paths

NAMES = sorted(MASKS)


def blobs(axes: int, seed: int = 3) -> np.ndarray:
    """A random set with holes."""
    noise = np.random.default_rng(seed).normal(size=(24,) * axes)
    inside = ndimage.gaussian_filter(noise, 1.5) > -0.05
    inside[(0,) * axes] = False
    return inside


def relaxed(inside: np.ndarray, name: str) -> np.ndarray:
    """Lengths of shortest paths, relaxed until nothing changes."""
    mask = MASKS[name]
    reach = mask.reach
    values = np.pad(np.where(inside, 1e9, 0.0), reach, constant_values=1e9)
    core = tuple(slice(reach, -reach) for _ in inside.shape)
    steps = [(s, w) for s, w in mask.steps()]
    steps += [(tuple(-n for n in s), w) for s, w in mask.steps()]
    while True:
        before = values.copy()
        for step, weight in steps:
            shifted = tuple(
                slice(reach + n, values.shape[a] - reach + n)
                for a, n in enumerate(step)
            )
            values[core] = np.minimum(values[core], before[shifted] + weight)
        if np.array_equal(before, values):
            return values[core]


@pytest.mark.parametrize("name", NAMES)
def test_maps_are_shortest_paths(name: str) -> None:
    """Two scans give the fixed point of all relaxations, for every mask."""
    inside = blobs(MASKS[name].axes)
    assert np.array_equal(chamfer_map(inside, name), relaxed(inside, name))


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("3-4", -0.0572, 0.0541),
        ("5-7-11", -0.0162, 0.0199),
        ("3-4-5", -0.0572, 0.1056),
    ],
)
def test_errors_in_free_space(name: str, low: float, high: float) -> None:
    """Relative errors of the masks are those of their geometry, not the thesis' 2 %."""
    mask = MASKS[name]
    size = 90
    free = np.ones((size,) * mask.axes, dtype=bool)
    free[(0,) * mask.axes] = False
    length = chamfer_map(free, name) / mask.unit
    exact = np.sqrt(sum(g.astype(float) ** 2 for g in np.indices(free.shape)))
    far = exact > size / 2
    error = length[far] / exact[far] - 1
    assert low - 1e-3 < error.min() < low + 2e-3
    assert high - 2e-3 < error.max() < high + 1e-3


def test_a_third_scan_changes_nothing() -> None:
    """Two scans suffice."""
    inside = blobs(3, 5)
    mask = MASKS["3-4-5"]
    grid, place = padded_grid(inside.shape, mask)
    values = np.full(grid.shape, 1 << 29, dtype=np.int32)
    values[place] = chamfer_map(inside, mask)
    again = values.copy()
    shortest_paths(again.reshape(-1), grid)
    assert np.array_equal(again, values)


@pytest.mark.parametrize("axes", [2, 3])
def test_squared_map_is_exact(axes: int) -> None:
    """It is the square of scipy's Euclidean map, in integers."""
    inside = blobs(axes, 7)
    exact = np.rint(ndimage.distance_transform_edt(inside) ** 2)
    assert np.array_equal(squared_distance_map(inside), exact)


def test_chamfer_error_inside_a_bone() -> None:
    """Inside an ellipsoid the mask 3-4-5 is wrong by a voxel at most."""
    inside = of_ellipsoid((26e-3, 20e-3, 18e-3), 1e-3).inside
    exact = np.sqrt(squared_distance_map(inside))
    error = chamfer_map(inside) / 3 - exact
    assert np.abs(error).max() < 1.2


def test_refuses_what_has_no_map() -> None:
    """Unknown masks, other axes and grids without an outside are refused."""
    full = np.ones((4, 4, 4), dtype=bool)
    with pytest.raises(hs.errors.AnatomyError, match="nothing is outside"):
        chamfer_map(full)
    with pytest.raises(hs.errors.AnatomyError, match="no mask is called"):
        chamfer_map(full, "7-8-9")
    with pytest.raises(hs.errors.AnatomyError, match="has 2 axes"):
        chamfer_map(full, "3-4")
    with pytest.raises(hs.errors.AnatomyError, match="nothing is outside"):
        squared_distance_map(full)
