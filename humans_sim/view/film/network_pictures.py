# SPDX-License-Identifier: Apache-2.0
"""Runs of networks in flat pictures: a film strip (PNG) and a film (GIF)."""

from __future__ import annotations

import io

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from humans_sim.results.run import Run
from humans_sim.view.looping_film import looping_film
from humans_sim.view.network_picture import NetworkPicture

STANCES, FRAMES = 8, 80
"""Pictures of a film strip, and most frames of a film."""
_HEIGHT, _DPI = 4.8, 100
"""Of a film [inch, 1/inch]."""


def network_strip(run: Run, count: int = STANCES) -> bytes:
    """Samples at even times side by side, as a PNG."""
    picture = NetworkPicture(run)
    chosen = np.unique(np.linspace(0, len(run.t) - 1, count).astype(int))
    width = 12.0 / len(chosen)
    figure = Figure(figsize=(12.0, width / picture.ratio + 0.3), dpi=110)
    share = 0.3 / figure.get_figheight()
    for place, k in enumerate(chosen):
        left = place / len(chosen)
        panel = figure.add_axes((left, share, 1 / len(chosen), 1 - share))
        picture.draw(panel, int(k))
        text = f"{run.t[k]:.2f} s"
        middle = left + 0.5 / len(chosen)
        figure.text(middle, share / 2, text, ha="center", va="center", fontsize=9)
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()


def network_film(run: Run, frames: int = FRAMES) -> bytes:
    """A small film that loops, as a GIF."""
    picture = NetworkPicture(run)
    chosen = np.unique(np.linspace(0, len(run.t) - 1, frames).astype(int))
    figure = Figure(figsize=(_HEIGHT * picture.ratio, _HEIGHT), dpi=_DPI)
    canvas = FigureCanvasAgg(figure)
    pictures = []
    for k in chosen:
        figure.clear()
        panel = figure.add_axes((0, 0, 1, 1))
        picture.draw(panel, int(k))
        panel.text(0.03, 0.97, f"{run.t[k]:.2f} s", transform=panel.transAxes, va="top")
        canvas.draw()
        pictures.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3]))
    pause = float(run.t[-1] - run.t[0]) / max(len(chosen) - 1, 1)
    return looping_film(pictures, round(float(np.clip(pause, 0.04, 0.1)), 2))
