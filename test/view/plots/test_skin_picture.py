# SPDX-License-Identifier: Apache-2.0
"""A skin in a flat picture: where it is, its colours, near parts over far ones."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
import humans_sim.soft as soft
from humans_sim.contact.geometry.ground import Ground
from humans_sim.view.plots.side_view import SideView, skin_picture
from humans_sim.view.raster import Raster, draw_triangles


def test_the_nearer_triangle_is_in_front() -> None:
    """Two triangles over each other: the one nearer to the eye is seen, whole."""
    points = np.array(
        [[0, 0, -2], [9, 0, -2], [0, -9, -2], [0, 0, -1], [4, 0, -1], [0, -4, -1]],
        float,
    )
    faces = np.array([[0, 1, 2], [3, 4, 5]])
    colours = np.repeat([[1.0], [0.5]], 3, axis=0)
    picture, depth = np.zeros((10, 10, 1)), np.full((10, 10), -np.inf)
    raster = Raster(-0.5, 0.5, 1.0, np.zeros(3))
    draw_triangles(points, faces, colours, raster, picture, depth)
    assert picture[1, 1, 0] == pytest.approx(0.5) and depth[1, 1] == pytest.approx(-1)
    assert picture[1, 6, 0] == pytest.approx(1.0)
    assert picture[9, 9, 0] == 0.0


def test_the_person_fills_its_picture(human: hs.Model) -> None:
    """Seen from the right: as high as the person, hair above shirt above trousers."""
    skin = soft.skin_of(human)
    vertices = skin.posed(human, human.neutral())
    window = (-0.4, 0.4, -0.1, 1.9)
    picture = skin_picture(skin, vertices, window, 200.0)
    assert picture.shape == (400, 160, 4)
    rows = np.flatnonzero(picture[..., 3].any(axis=1))
    top, bottom = 1.9 - rows[[0, -1]] / 200.0
    assert top == pytest.approx(vertices[:, 2].max(), abs=0.01)
    assert bottom == pytest.approx(0.0, abs=0.01)
    blue = (picture[..., 2] > picture[..., 0] + 0.15) & (picture[..., 3] > 0)
    assert 60 < np.flatnonzero(blue.any(axis=1)).mean() < 200


def test_side_views_draw_the_skin(human: hs.Model) -> None:
    """A human is drawn as a picture, a robot as outlines."""
    from matplotlib.figure import Figure

    for model, images in ((human, 1), (hs.load_model("khr1"), 0)):
        view = SideView(model, Ground())
        window, _ = view.window(model.neutral()[None])
        panel = Figure().add_axes((0, 0, 1, 1))
        view.draw(panel, window, model.neutral(), np.zeros((0, 2, 3)))
        assert len(panel.images) == images
        assert panel.get_xlim() == pytest.approx((window.left, window.right))
