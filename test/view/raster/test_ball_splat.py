# SPDX-License-Identifier: Apache-2.0
"""Ball pictures: silhouettes and depths of spheres, rays, cost, meshes."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from humans_sim.core.errors import ParameterError
from humans_sim.view.raster import Camera, DepthImage, ball_splat, camera_around

WINDOW = (np.array([-1.0, -1.0]), np.array([1.0, 1.0]))


def square(pixels: int, axes: np.ndarray | None = None) -> Camera:
    """A view of two metres."""
    return Camera(np.eye(3) if axes is None else axes, *WINDOW, 2.0 / pixels)


def rays(centres: np.ndarray, radii: np.ndarray, camera: Camera) -> tuple:
    """Depths and numbers by the equation of every ray with every ball."""
    rows, columns = camera.shape
    x = camera.low[0] + (np.arange(columns) + 0.5) * camera.pixel
    y = camera.high[1] - (np.arange(rows) + 0.5) * camera.pixel
    places = centres @ camera.axes.T
    depth, ids = np.full((rows, columns), -np.inf), np.full((rows, columns), -1)
    for n, (place, radius) in enumerate(zip(places, radii, strict=True)):
        # (p + s e - c)^2 = r^2, of the point p of the ray in the plane of the picture
        half = -place[2]
        rest = (x - place[0]) ** 2 + (y[:, None] - place[1]) ** 2
        disc = half**2 - (rest + place[2] ** 2 - radius**2)
        hit = -half + np.sqrt(np.where(disc >= 0, disc, np.nan))
        nearer = np.nan_to_num(hit, nan=-np.inf) > depth
        depth, ids = np.where(nearer, hit, depth), np.where(nearer, n, ids)
    return depth, ids


def test_silhouette_and_depth_of_a_sphere() -> None:
    """Its area is pi r^2 within 1 %, its depth that of the sphere to 1e-9."""
    centre, radius, camera = np.array([[0.1, -0.2, 3.0]]), 0.6, square(400)
    image = ball_splat(centre, np.array([radius]), 7, camera)
    area = (image.ids == 7).sum() * camera.pixel**2
    assert area == pytest.approx(np.pi * radius**2, rel=0.01)
    rows, columns = np.nonzero(image.ids == 7)
    x = -1 + (columns + 0.5) * camera.pixel - 0.1
    y = 1 - (rows + 0.5) * camera.pixel + 0.2
    exact = 3.0 + np.sqrt(radius**2 - x**2 - y**2)
    assert np.abs(image.depth[rows, columns] - exact).max() < 1e-9
    assert (image.depth[image.ids < 0] == -np.inf).all()


def test_the_nearer_of_two_spheres_is_seen() -> None:
    """Overlapping spheres part where their surfaces meet."""
    centres, radii = np.array([[-0.2, 0, 0], [0.2, 0, 0.1]]), np.array([0.5, 0.4])
    image = ball_splat(centres, radii, np.array([3, 5]), square(200))
    depth, ids = rays(centres, radii, square(200))
    expected = np.where(ids == 0, 3, np.where(ids == 1, 5, -1))
    assert (image.ids == expected).all() and {3, 5} <= set(np.unique(image.ids))
    swapped = ball_splat(centres[::-1], radii[::-1], np.array([5, 3]), square(200))
    assert (swapped.ids == image.ids).all()


@pytest.mark.parametrize("seed", range(3))
def test_equals_rays_pixel_for_pixel(seed: int) -> None:
    """Random balls from a random side: what every ray meets first."""
    chance = np.random.default_rng(seed)
    centres = chance.uniform(-1.2, 1.2, (150, 3))
    radii = chance.uniform(0.002, 0.3, 150)
    camera = square(120, Rotation.from_rotvec(chance.normal(size=3)).as_matrix())
    image = ball_splat(centres, radii, np.arange(150), camera)
    depth, ids = rays(centres, radii, camera)
    assert (image.ids == ids).all()
    seen = ids >= 0
    assert np.abs(image.depth[seen] - depth[seen]).max() < 1e-9


def test_cost_is_linear_in_the_balls() -> None:
    """Each ball costs the pixels of its own square, however many there are."""
    chance = np.random.default_rng(0)
    centres = chance.uniform(-0.9, 0.9, (2000, 3))
    few = ball_splat(centres, np.full(2000, 0.02), 0, square(400))
    many = ball_splat(np.tile(centres, (10, 1)), np.full(20000, 0.02), 0, square(400))
    assert many.looked_at == 10 * few.looked_at
    assert few.looked_at < 2000 * 12**2


def test_a_mesh_covers_what_its_balls_cover() -> None:
    """A fine mesh of a sphere has its depth, and hides what is inside it."""
    image = DepthImage(square(200))
    mesh = trimesh.creation.icosphere(5, 0.7)
    half = Rotation.from_rotvec([0.3, 0.1, 0.2]).as_matrix()
    image.add_balls(np.zeros((1, 3)), np.array([0.6]), 2)
    image.add_mesh(mesh, 1, (half, np.array([0.05, 0.0, 0.0])))
    ball = ball_splat(np.array([[0.05, 0, 0]]), np.array([0.7]), 1, square(200))
    both = (image.ids == 1) & (ball.ids == 1)
    assert both.sum() > 0.99 * (ball.ids == 1).sum()
    inner = ball.depth > 0.3
    assert np.abs(image.depth - ball.depth)[inner].max() < 2e-3
    assert np.abs(image.shade - ball.shade)[inner].max() < 2e-2
    assert 2 not in image.ids[inner]


def test_colours_and_borders() -> None:
    """Nothing is white, a ball has its colour, dark at its border."""
    picture = ball_splat(np.zeros((1, 3)), np.array([0.5]), 0, square(100)).coloured(
        [[1.0, 0.0, 0.0]], rim=0.3
    )
    assert (picture[0, 0] == 255).all()
    assert picture[50, 50, 0] > 200 and (picture[50, 50, 1:] == 0).all()
    row = picture[50, :, 0][picture[50, :, 1] == 0]
    assert row[0] < 0.7 * row[1] and row[-1] < 0.7 * row[-2]


def test_what_shows_nothing_is_refused() -> None:
    """Views that are none, balls without a size."""
    with pytest.raises(ParameterError, match="orthogonal"):
        Camera(np.ones((3, 3)), *WINDOW, 0.1)
    with pytest.raises(ParameterError, match="pixel"):
        Camera(np.eye(3), *WINDOW, 0.0)
    with pytest.raises(ParameterError, match="pixels along"):
        Camera(np.eye(3), *WINDOW, 1e-9)
    with pytest.raises(ParameterError, match="radii"):
        ball_splat(np.zeros((1, 3)), np.array([0.0]), 0, square(10))
    seen = camera_around(np.array([[0, 0, 0], [2.0, 1.0, 5.0]]), np.eye(3), 100)
    assert max(seen.shape) == 100
