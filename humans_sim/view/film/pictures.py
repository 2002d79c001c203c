# SPDX-License-Identifier: Apache-2.0
"""A run in flat pictures: a film strip (PNG) and a small looping film (GIF)."""

from __future__ import annotations

import io

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from humans_sim.view.browser.replay import Replay
from humans_sim.view.film.ground_pictures import GroundFromAbove
from humans_sim.view.looping_film import looping_film
from humans_sim.view.plots.side_view import SideView, Window

STANCES = 8
"""Stances of a film strip."""
FRAMES = 60
"""Most frames of a film."""
_FRAME_TIMES = (0.04, 0.10)
"""Shortest and longest time of a frame [s]; beyond, a film is slower or faster."""
_STRIP_WIDTH, _STRIP_DPI = 12.0, 110
"""Width of a film strip [inch] and its resolution [1/inch]."""
_LEAST_HEIGHT = 1.9
"""A strip whose stances would be lower than this has two rows [inch]."""
_LABEL = 0.28
"""Height of the line with the times below the stances [inch]."""
FILM_PIXELS, _FILM_SIZE = 640, 6.4
"""Height of a film, or its width where that is larger [pixels], [inch]."""
_FILM_RATIO = 0.75
"""Least width of a film over its height."""
_GROUND_COLOURS = 160
"""Colours of a film with a ground that gives way."""
_TITLE = 0.08
"""Room for the time above the figure, as a share of the film's height."""


def film_strip(replay: Replay, count: int = STANCES) -> bytes:
    """Stances at even times side by side, in one scale, as a PNG.

    Args:
        replay: the run.
        count: number of stances.
    """
    t = replay.run.t
    chosen = sorted(set(replay.nearest(np.linspace(t[0], t[-1], count))))
    view = SideView(replay.model, replay.ground)
    window, follows = view.window(replay.run.q[chosen])
    height = _STRIP_WIDTH / len(chosen) / window.ratio
    rows = 2 if height < _LEAST_HEIGHT and len(chosen) > 3 else 1
    columns = -(-len(chosen) // rows)
    height = min(_STRIP_WIDTH / columns / window.ratio, 2.5 * _LEAST_HEIGHT)
    size = (height * window.ratio * columns, (height + _LABEL) * rows)
    label = _LABEL / size[1]
    figure = Figure(figsize=size, dpi=_STRIP_DPI)
    for place, k in enumerate(chosen):
        row, column = divmod(place, columns)
        left, low = column / columns, 1 - (row + 1) / rows
        panel = figure.add_axes((left, low + label, 1 / columns, 1 / rows - label))
        _draw(view, panel, replay, k, window, follows)
        figure.text(
            left + 0.5 / columns,
            low + label / 2,
            f"{t[k]:.2f} s",
            ha="center",
            va="center",
            fontsize=9,
        )
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()


def film(replay: Replay, frames: int = FRAMES, pixels: int = FILM_PIXELS) -> bytes:
    """A small film that loops, as a GIF.

    It runs in real time where the frames allow it, else slower or faster; the time of
    the simulation is written into it.

    Args:
        replay: the run.
        frames: at most so many.
        pixels: height of the film, or its width where that is larger.
    """
    t = replay.run.t
    span = float(t[-1] - t[0])
    shortest, longest = _FRAME_TIMES
    count = int(np.clip(np.ceil(span / shortest), 2, frames))
    chosen = sorted(set(replay.nearest(np.linspace(t[0], t[-1], count))))
    pause = float(np.clip(span / max(len(chosen) - 1, 1), shortest, longest))
    pause = round(pause, 2)  # what the format can hold
    speed = span / (pause * max(len(chosen) - 1, 1))
    view = SideView(replay.model, replay.ground)
    window, follows = view.window(replay.run.q[chosen])
    window = window.with_headroom(_TITLE).widened(_FILM_RATIO)
    scale = _FILM_SIZE / max(1.0, window.ratio)
    above = None if replay.history is None else GroundFromAbove(replay.history)
    below = 0.0 if above is None else above.width / (window.top - window.bottom)
    high = scale * (1.0 + below)
    dpi = pixels / _FILM_SIZE
    figure = Figure(figsize=(scale * window.ratio, high), dpi=dpi)
    canvas = FigureCanvasAgg(figure)
    pictures = []
    for k in chosen:
        figure.clear()
        panel = figure.add_axes((0, below / (1 + below), 1, 1 / (1 + below)))
        _draw(view, panel, replay, k, window, follows)
        if above is not None:
            seen = _at(view, window, replay.run.q[k], follows)
            ground = figure.add_axes((0, 0, 1, below / (1 + below)))
            above.draw(ground, float(t[k]), (seen.left, seen.right))
            ground.text(
                0.03, 0.96, "from above", transform=ground.transAxes, va="top", size=8
            )
        text = f"{t[k]:.2f} s" + _speed_word(speed)
        panel.text(0.03, 0.97, text, transform=panel.transAxes, va="top", fontsize=9)
        canvas.draw()
        pictures.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3]))
    if above is not None:  # many shades of one colour, and others beside them
        return looping_film(pictures, pause, _GROUND_COLOURS)
    return looping_film(pictures, pause)


def _speed_word(speed: float) -> str:
    """How a film's speed differs from real time, if it does."""
    if speed > 1.15:
        return f"  ({speed:.2g} times faster)"
    return f"  ({1 / speed:.2g} times slower)" if 0 < speed < 0.87 else ""


def _at(view: SideView, window: Window, q: np.ndarray, follows: bool) -> Window:
    """What is seen at a posture."""
    if not follows:
        return window
    left, right, _, _ = view.extent(q)
    return window.centred((left + right) / 2)


def _draw(
    view: SideView, panel: object, replay: Replay, k: int, window: Window, follows: bool
) -> None:
    q = replay.run.q[k]
    window = _at(view, window, q, follows)
    arrows, cables = replay.arrows(k), replay.cables(k)
    view.draw(panel, window, q, arrows, cables, replay.footprints(k))
