# SPDX-License-Identifier: Apache-2.0
"""Terrain as it is drawn."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

import humans_sim as hs
from humans_sim.view.browser.page import page_of
from humans_sim.view.browser.replay import Replay
from humans_sim.view.browser.scene_layers import lay_terrain, side_profile, terrain_of
from humans_sim.view.film.film import film_strip
from humans_sim.view.film.pictures import BipedPainter


def test_profile_of_stairs() -> None:
    """From the side stairs have the area of their steps, and upright risers."""
    mesh = terrain_of(hs.Ground().with_stairs(3, 0.1, 0.3, 1.0))[0]
    x, z = side_profile(mesh).T
    area = 0.5 * abs(np.dot(x, np.roll(z, 1)) - np.dot(z, np.roll(x, 1)))
    assert area == pytest.approx(0.3 * (0.1 + 0.2 + 0.3), rel=1e-6)


def test_profile_of_a_field() -> None:
    """The profile is the highest of a field along each line of sight."""
    field = hs.HeightField(np.array([[0.0, 0.1], [0.3, 0.2], [0.0, 0.0]]), 1.0)
    profile = side_profile(field)
    top = profile[: len(profile) // 2]
    at = np.interp([0.0, 0.5, 1.0, 2.0], *top.T)
    np.testing.assert_allclose(at, [0.1, 0.15, 0.3, 0.0], atol=1e-3)


def test_a_run_on_terrain_is_drawn(khr1: hs.Model) -> None:
    """Its page and its film strip have the terrain."""
    ground = hs.Ground(solids=()).with_rubble(1, 0.003, (0.6, 0.6), 0.05, -0.3)
    q = khr1.neutral()
    q[2] += 0.004
    run = hs.Simulation(khr1, ground=ground, method="time_stepping").run(q, t_end=0.02)
    replay = Replay(run)
    nodes: list[str] = []

    class Recorder:
        """Takes meshes as a page does."""

        def add_mesh_simple(self, name: str, vertices, faces, **rest: object) -> None:
            """Note what comes."""
            nodes.append(name)
            assert vertices.shape[1] == faces.shape[1] == 3

    lay_terrain(Recorder(), replay.ground, "/stage")  # type: ignore[arg-type]
    assert nodes == ["/stage/terrain_0"]
    assert page_of(replay.run).startswith("<!doctype html>")
    picture = np.asarray(
        Image.open(io.BytesIO(film_strip(BipedPainter(replay)))).convert("RGB")
    )
    near = np.abs(picture.astype(int) - np.array([168, 158, 140])).max(axis=2) < 4
    assert near.mean() > 0.005
