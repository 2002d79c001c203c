# SPDX-License-Identifier: Apache-2.0
"""A film strip (PNG) and a small looping film (GIF) of anything that moves.

What moves is drawn by a :class:`Painter`. Samples, captions and files are chosen and
written here, the same for all.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from humans_sim.view.looping_film import COLOURS, looping_film

_STRIP_WIDTH, _STRIP_DPI = 12.0, 110
"""Width of a film strip [inch] and its resolution [1/inch]."""
_LEAST_HEIGHT = 1.9
"""A strip whose stances would be lower than this has two rows [inch]."""
_LABEL = 0.28
"""Height of the line with the times below the stances [inch]."""


class Pace(NamedTuple):
    """Frames of a film.

    Attributes:
        frames: at most so many.
        least: so many also of a short motion, which then is shown slower.
        shortest, longest: time of a frame [s]; beyond, a film is slower or faster.
        colours: of all frames, up to 256.
    """

    frames: int = 60
    least: int = 2
    shortest: float = 0.04
    longest: float = 0.10
    colours: int = COLOURS


class Painter(Protocol):
    """Draws samples of something that moves, all in one scale.

    Attributes:
        t: times of the samples (n,) [s].
        course: in even steps of which a strip goes (n,), the times or an angle.
        stances: of a film strip.
    """

    t: np.ndarray
    course: np.ndarray
    stances: int
    pace: Pace

    def look_at(self, samples: Sequence[int], captioned: bool) -> None:
        """Choose the scale for samples; captioned: with room for a line above."""

    def frame(self, k: int, caption: str) -> Image.Image:
        """A sample as a frame of a film."""

    def strip(self, samples: Sequence[int], captions: Sequence[str]) -> bytes:
        """Samples side by side, as a PNG."""


class FigurePainter:
    """A painter that draws onto axes of matplotlib.

    Attributes:
        ratio: width over height of a sample.
        below: height of what :meth:`draw_below` adds to a frame, over that of a sample.
        size: the longer edge of a frame [inch].
        dpi: resolution of a frame [1/inch].
    """

    ratio: float
    below, size, dpi = 0.0, 6.4, 100.0
    stances, pace = 8, Pace()

    def __init__(self, t: np.ndarray) -> None:
        self.t = self.course = t

    def draw(self, panel: Any, k: int) -> None:
        """Draw a sample into empty axes."""
        raise NotImplementedError

    def draw_below(self, panel: Any, k: int) -> None:
        """Draw what is seen below a sample into empty axes."""

    def look_at(self, samples: Sequence[int], captioned: bool) -> None:
        """The scale is that of the whole motion."""

    def frame(self, k: int, caption: str) -> Image.Image:
        """A sample with its caption in a corner."""
        width = self.size * min(1.0, self.ratio)
        whole = 1.0 + self.below
        figure = Figure(figsize=(width, whole * width / self.ratio), dpi=self.dpi)
        canvas = FigureCanvasAgg(figure)
        panel = figure.add_axes((0, self.below / whole, 1, 1 / whole))
        self.draw(panel, k)
        if self.below:
            self.draw_below(figure.add_axes((0, 0, 1, self.below / whole)), k)
        panel.text(0.03, 0.97, caption, transform=panel.transAxes, va="top", fontsize=9)
        canvas.draw()
        return Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])

    def strip(self, samples: Sequence[int], captions: Sequence[str]) -> bytes:
        """Samples in one row or two, with their captions below them."""
        low = _STRIP_WIDTH / len(samples) / self.ratio < _LEAST_HEIGHT
        rows = 2 if low and len(samples) > 3 else 1
        columns = -(-len(samples) // rows)
        height = min(_STRIP_WIDTH / columns / self.ratio, 2.5 * _LEAST_HEIGHT)
        size = (height * self.ratio * columns, (height + _LABEL) * rows)
        label = _LABEL / size[1]
        figure = Figure(figsize=size, dpi=_STRIP_DPI)
        for place, (k, caption) in enumerate(zip(samples, captions, strict=True)):
            row, column = divmod(place, columns)
            left, bottom = column / columns, 1 - (row + 1) / rows
            box = (left, bottom + label, 1 / columns, 1 / rows - label)
            self.draw(figure.add_axes(box), k)
            middle = (left + 0.5 / columns, bottom + label / 2)
            figure.text(*middle, caption, ha="center", va="center", fontsize=9)
        stream = io.BytesIO()
        figure.savefig(stream, format="png")
        return stream.getvalue()


def even_samples(values: np.ndarray, count: int) -> list[int]:
    """Samples nearest to even steps between the first and the last value."""
    steps = np.linspace(values[0], values[-1], count)
    return sorted({int(np.argmin(np.abs(values - step))) for step in steps})


def film_strip(painter: Painter, count: int | None = None) -> bytes:
    """Stances side by side, in one scale, as a PNG; as many as its painter has."""
    chosen = even_samples(painter.course, count or painter.stances)
    painter.look_at(chosen, captioned=False)
    return painter.strip(chosen, [f"{painter.t[k]:.2f} s" for k in chosen])


def film(painter: Painter, frames: int | None = None) -> bytes:
    """A small film that loops, as a GIF.

    It runs in real time where the frames allow it, else slower or faster; the time of
    the motion is written into it, and how its speed differs.

    Args:
        painter: draws the motion.
        frames: at most so many; those of its pace by default.
    """
    t, pace = painter.t, painter.pace
    span, most = float(t[-1] - t[0]), frames or pace.frames
    least = min(max(pace.least, 2), most)
    count = int(np.clip(np.ceil(span / pace.shortest), least, most))
    chosen = even_samples(t, count)
    gaps = max(len(chosen) - 1, 1)
    pause = float(np.clip(span / gaps, pace.shortest, pace.longest))
    pause = round(pause, 2)  # what the format can hold
    speed, pace_text = span / (pause * gaps), ""
    if speed > 1.15:
        pace_text = f"  ({speed:.2g} times faster)"
    elif 0 < speed < 0.87:
        pace_text = f"  ({1 / speed:.2g} times slower)"
    painter.look_at(chosen, captioned=True)
    pictures = [painter.frame(k, f"{t[k]:.2f} s{pace_text}") for k in chosen]
    return looping_film(pictures, pause, pace.colours)
