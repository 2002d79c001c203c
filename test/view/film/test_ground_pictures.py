# SPDX-License-Identifier: Apache-2.0
"""A ground that gives way in films, on pages and in reports."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario
from humans_sim.soft import GroundHistory
from humans_sim.view.browser.page import BipedView, silence
from humans_sim.view.browser.replay import Replay
from humans_sim.view.browser.scene_layers import touched_pins
from humans_sim.view.film.pictures import GroundFromAbove


@pytest.fixture(scope="module")
def run() -> hs.Run:
    """The KHR-1 sinks into mud."""
    return read_scenario("mud-stand").with_changes(end=0.2).run(progress=False)


def history_of(heights: np.ndarray) -> GroundHistory:
    """A series 0.1 s apart, of pins 10 mm apart."""
    times = 0.1 * np.arange(len(heights))
    return GroundHistory(times, heights, 0.01, np.array([-0.2, -0.1, 0.0]))


def test_what_was_touched_is_shown() -> None:
    """The picture is cut to the prints, and is as wide as they are."""
    heights = np.zeros((3, 40, 20))
    heights[1:, 12:20, 8:12] = -0.004
    assert touched_pins(heights) == (12, 19, 8, 11)
    above = GroundFromAbove(history_of(heights))
    assert above.history.heights.shape == (3, 16, 12)
    assert above.width == pytest.approx(0.11)
    np.testing.assert_allclose(above.history.origin, (-0.12, -0.06, 0.0))
    flat, marked = above.picture(0.0), above.picture(0.2)
    assert (flat == flat[0, 0]).all() and (marked[0, 0] == flat[0, 0]).all()
    assert (marked != flat[0, 0]).any()
    picture = Image.open(io.BytesIO(above.png(0.2)))
    assert picture.width > 800 and picture.width > picture.height


def test_mesh_follows_the_heights(run: hs.Run) -> None:
    """On a page the ground takes the place of the floor, and sinks with the run."""
    replay = Replay(run)
    with silence():
        view = BipedView(replay, port=0)
    scene = view.scene
    try:
        depths = []
        for k in (0, len(run.t) - 1):
            view.show(k)
            assert scene._soft is not None and scene._soft._mesh is not None
            depths.append(float(scene._soft._mesh.vertices[:, 2].min()))
        assert depths[0] == 0.0
        assert depths[1] == pytest.approx(replay.footprints(-1).heights.min(), abs=1e-6)
        assert not scene._floors
    finally:
        with silence():
            scene.stop()


@pytest.mark.study
def test_films_have_the_ground_from_above(run: hs.Run, tmp_path: Path) -> None:
    """A film is higher by the picture from above; a report has one, too."""
    path = hs.animate(run, tmp_path / "mud.gif")
    with Image.open(path) as film:
        last = film.n_frames - 1
        film.seek(last)
        end = np.asarray(film.convert("RGB"))
    lower = end[int(0.8 * len(end)) :]
    sand = np.abs(lower.astype(int) - (205, 170, 110)).sum(axis=2) < 60
    assert sand.mean() > 0.8
    hs.report(run, tmp_path / "mud.html", animation=False)
    text = (tmp_path / "mud.html").read_text()
    assert 'alt="footprints"' in text
