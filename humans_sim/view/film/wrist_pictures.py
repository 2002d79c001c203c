# SPDX-License-Identifier: Apache-2.0
"""Motions of a wrist in flat pictures: a film strip (PNG) and a film (GIF)."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
from matplotlib.font_manager import findfont
from PIL import Image, ImageDraw, ImageFont

from humans_sim.anatomy.wrist.wrist_run import WristRun
from humans_sim.view.looping_film import looping_film
from humans_sim.view.wrist_colours import CONTACT, tension_colours
from humans_sim.view.wrist_raster import WristRaster, view_of

STANCES, FRAMES = 4, 45
"""Pictures of a film strip, and most frames of a film."""
_PAUSE = 0.06
"""Time of a frame [s]."""
_COLOURS = 256
_HEAD, _SIDE = 24, 118
"""Heights of titles, width of the legend [pixels]."""


class WristPages:
    """Pictures of samples with names, titles and a legend.

    Args:
        run: the motion.
        views: sides from which it is seen, one beside the other.
        pixels: height of a picture.
    """

    def __init__(self, run: WristRun, views: tuple[str, ...], pixels: int) -> None:
        """Look at the motion from all sides."""
        self._run, self._views = run, views
        self._rasters = [WristRaster(run, view, pixels) for view in views]

    def page(self, k: int) -> Image.Image:
        """A sample from all sides."""
        tiles = [
            _tile(raster, k, f"{self._title(k)}, {view}")
            for raster, view in zip(self._rasters, self._views, strict=True)
        ]
        return _beside([*tiles, self.legend(tiles[0].height)])

    def tile(self, k: int) -> Image.Image:
        """A sample from the first side."""
        return _tile(self._rasters[0], k, self._title(k))

    def legend(self, height: int) -> Image.Image:
        """The legend of the colours."""
        return _legend(height, self._rasters[0].scale)

    def _title(self, k: int) -> str:
        run = self._run
        angle = np.degrees(run.angles[k])
        return f"{run.t[k]:.2f} s  {run.motion.kind} {angle:.0f}°"


def wrist_strip(run: WristRun, count: int = STANCES) -> bytes:
    """Samples at even angles of the hand side by side, as a PNG."""
    pages = WristPages(run, (view_of(run.motion.kind),), 460)
    angles = np.linspace(run.angles[0], run.angles[-1], count)
    chosen = sorted({int(np.argmin(np.abs(run.angles - angle))) for angle in angles})
    tiles = [pages.tile(k) for k in chosen]
    stream = io.BytesIO()
    _beside([*tiles, pages.legend(tiles[0].height)]).save(stream, format="PNG")
    return stream.getvalue()


def wrist_film(run: WristRun, frames: int = FRAMES) -> bytes:
    """A small film that loops, as a GIF: two sides, time and angle written into it."""
    main = view_of(run.motion.kind)
    pages = WristPages(run, (main, "dorsal" if main == "palmar" else "ulnar"), 440)
    times = np.linspace(run.t[0], run.t[-1], min(frames, len(run.t)))
    chosen = sorted({int(np.argmin(np.abs(run.t - t))) for t in times})
    return looping_film([pages.page(k) for k in chosen], _PAUSE, _COLOURS)


def _tile(raster: WristRaster, k: int, title: str) -> Image.Image:
    picture = raster.picture(k)
    height, width = picture.pixels.shape[:2]
    tile = Image.new("RGB", (width, height + _HEAD), "white")
    tile.paste(Image.fromarray(picture.pixels), (0, _HEAD))
    pen = ImageDraw.Draw(tile)
    pen.text((6, 5), title, fill="black", font=_font(13))
    for name, (x, y) in picture.labels.items():
        place = (x * width, _HEAD + y * height)
        pen.text(
            place,
            name,
            fill="white",
            font=_font(11),
            anchor="mm",
            stroke_width=2,
            stroke_fill="black",
        )
    return tile


def _legend(height: int, scale: float) -> Image.Image:
    image = Image.new("RGB", (_SIDE, height), "white")
    pen, font = ImageDraw.Draw(image), _font(11)
    top, bottom = _HEAD + 50, _HEAD + 250
    pen.text((6, top - 44), "ligaments:\ntension [N]", fill="black", font=font)
    rows = np.arange(bottom - top)
    colours = tension_colours(scale * (1 - rows / (bottom - top)), scale)
    for y, colour in zip(range(top, bottom), colours, strict=True):
        pen.line((6, y, 22, y), fill=_whole(colour))
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        place = (28, bottom - share * (bottom - top))
        pen.text(place, f"{share * scale:g}", fill="black", font=font, anchor="lm")
    slack = tension_colours(np.zeros(1), scale)[0]
    for line, colour, word in ((0, slack, "slack"), (1, np.array(CONTACT), "contact")):
        y = bottom + 22 + 20 * line
        pen.ellipse((8, y - 5, 18, y + 5), fill=_whole(colour))
        pen.text((28, y), word, fill="black", font=font, anchor="lm")
    return image


def _whole(colour: np.ndarray) -> tuple[int, int, int]:
    red, green, blue = (round(255 * float(c)) for c in colour)
    return red, green, blue


def _beside(tiles: list[Image.Image]) -> Image.Image:
    width, height = sum(tile.width for tile in tiles), max(t.height for t in tiles)
    page, left = Image.new("RGB", (width, height), "white"), 0
    for tile in tiles:
        page.paste(tile, (left, 0))
        left += tile.width
    return page


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(findfont("DejaVu Sans"), size)
