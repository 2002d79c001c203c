# SPDX-License-Identifier: Apache-2.0
"""Pictures of wrists: strip, film, plot, raster and colours."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from small_wrists import small_run

import humans_sim as hs
from humans_sim.anatomy import WristRun
from humans_sim.core.errors import ParameterError
from humans_sim.view.film.film import film, film_strip
from humans_sim.view.film.wrist_pictures import WristPainter
from humans_sim.view.reports.wrist_report import plot_wrist
from humans_sim.view.wrist_colours import bone_colours, tension_colours, tension_scale
from humans_sim.view.wrist_raster import WristRaster, view_of


@pytest.fixture(scope="module")
def run() -> WristRun:
    """A motion of three balls."""
    return small_run()


def near(pixels: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """Where pixels have the hue of a colour, however bright."""
    unit = pixels / np.maximum(np.linalg.norm(pixels, axis=-1), 1e-9)[..., None]
    return np.abs(unit - colour / np.linalg.norm(colour)).max(axis=-1) < 0.03


def test_bones_are_where_they_are(run: WristRun) -> None:
    """The free bone's pixels lie in its silhouette; its name lies on it."""
    raster = WristRaster(run, "palmar", 300, whole=True)
    left, right, bottom, top = raster.extent
    free = run.wrist.number("lunate")
    for k in (0, len(run.t) - 1):
        picture = raster.picture(k)
        rows, columns = np.nonzero(near(picture.pixels, bone_colours(run.wrist)[free]))
        height, width = picture.pixels.shape[:2]
        x = left + (columns + 0.5) / width * (right - left)
        y = top - (rows + 0.5) / height * (top - bottom)
        away = np.hypot(x - 1e3 * run.x[k, free, 0], y - 1e3 * run.x[k, free, 1])
        assert len(rows) > 500 and away.max() < 5.3
        across, down = picture.labels["lunate"]
        place = [left + across * (right - left), top - down * (top - bottom)]
        assert np.hypot(*(np.array(place) - 1e3 * run.x[k, free, :2])) < 3.0


def test_sides_mirror_each_other(run: WristRun) -> None:
    """Palmar from the right is dorsal from the left; balls are drawn, too."""
    palmar = WristRaster(run, "palmar", 200, "balls", whole=True)
    dorsal = WristRaster(run, "dorsal", 200, "balls", whole=True)
    assert palmar.extent[0] == pytest.approx(-dorsal.extent[1], abs=0.3)
    one, other = (r.picture(0).pixels for r in (palmar, dorsal))
    seen = [(picture < 255).any(axis=-1) for picture in (one, other)]
    assert (seen[0] != seen[1][:, ::-1]).mean() < 0.02
    assert view_of("extension") == "radial" and view_of("abduction") == "palmar"
    for words in (("above", "bones"), ("palmar", "skin")):
        with pytest.raises(ParameterError):
            WristRaster(run, words[0], 100, words[1])


def test_tensions_have_colours(run: WristRun) -> None:
    """Slack is grey, taut ones are redder the stronger; the scale is round."""
    slack, weak, strong = tension_colours(np.array([0.0, 20.0, 100.0]), 100.0)
    assert np.ptp(slack) < 0.1
    assert weak[1] > strong[1] and strong[0] > 2 * strong[1]
    for largest, scale in ((0.3, 1.0), (7.0, 10.0), (145.0, 200.0), (200.0, 200.0)):
        tensions = np.full_like(run.tensions, largest)
        assert tension_scale(replace(run, tensions=tensions)) == scale


@pytest.mark.study
def test_strip_film_and_plot(run: WristRun, tmp_path: Path) -> None:
    """Files of their kinds; the film moves."""
    strip = Image.open(io.BytesIO(film_strip(WristPainter(run), 3)))
    assert strip.format == "PNG" and strip.width > 2 * strip.height
    moving = Image.open(io.BytesIO(film(WristPainter(run), 5)))
    assert moving.format == "GIF" and moving.n_frames == 5
    frames = []
    for k in (0, 4):
        moving.seek(k)
        frames.append(np.asarray(moving.convert("RGB")).astype(int))
    assert (np.abs(frames[0] - frames[1]).max(axis=2) > 60).mean() > 0.005
    assert hs.animate(run, tmp_path / "strip.png").stat().st_size > 10_000
    plot_wrist(run, tmp_path / "plot.png")
    assert Image.open(tmp_path / "plot.png").height > 1000
    with pytest.raises(ParameterError):
        hs.animate(run, tmp_path / "film.mp4")
