# SPDX-License-Identifier: Apache-2.0
"""The painter of a wrist's motion: bones, ligaments, titles and a legend."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache

import numpy as np
from matplotlib.font_manager import findfont
from PIL import Image, ImageDraw, ImageFont

from humans_sim.anatomy.wrist.wrist_run import WristRun
from humans_sim.view.film.film import Pace
from humans_sim.view.wrist_colours import CONTACT, tension_colours, whole_colour
from humans_sim.view.wrist_raster import WristRaster, view_of

_PIXELS = {True: 440, False: 460}
"""Height of a picture in a film, and in a strip."""
_HEAD, _SIDE = 24, 118
"""Heights of titles, width of the legend [pixels]."""


class WristPainter:
    """Draws a motion of a wrist; a strip goes by even angles, a film shows two sides.

    A film has its own pace: all of a motion is seen in some seconds.
    """

    stances = 4
    pace = Pace(frames=45, least=45, shortest=0.06, longest=0.06, colours=256)

    def __init__(self, run: WristRun) -> None:
        self._run, self.t, self.course = run, run.t, run.angles

    def look_at(self, samples: Sequence[int], captioned: bool) -> None:
        """Look from the best side, and for a film from the one behind it, too."""
        views = [view_of(self._run.motion.kind)]
        if captioned:
            views.append("dorsal" if views[0] == "palmar" else "ulnar")
        pixels = _PIXELS[captioned]
        self._rasters = {view: WristRaster(self._run, view, pixels) for view in views}

    def frame(self, k: int, caption: str) -> Image.Image:
        """A sample from all sides."""
        title = self._title(k, caption)
        return self._beside(
            [_tile(r, k, f"{title}, {view}") for view, r in self._rasters.items()]
        )

    def strip(self, samples: Sequence[int], captions: Sequence[str]) -> bytes:
        """Samples from the first side."""
        (raster,), stream = self._rasters.values(), io.BytesIO()
        tiles = [
            _tile(raster, k, self._title(k, caption))
            for k, caption in zip(samples, captions, strict=True)
        ]
        self._beside(tiles).save(stream, format="PNG")
        return stream.getvalue()

    def _title(self, k: int, caption: str) -> str:
        angle = np.degrees(self._run.angles[k])
        return f"{caption}  {self._run.motion.kind} {angle:.0f}°"

    def _beside(self, tiles: list[Image.Image]) -> Image.Image:
        """Tiles beside each other, and the legend."""
        scale = next(iter(self._rasters.values())).scale
        tiles = [*tiles, _legend(tiles[0].height, scale)]
        size = sum(tile.width for tile in tiles), max(t.height for t in tiles)
        page, left = Image.new("RGB", size, "white"), 0
        for tile in tiles:
            page.paste(tile, (left, 0))
            left += tile.width
        return page


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
        pen.line((6, y, 22, y), fill=whole_colour(colour))
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        place = (28, bottom - share * (bottom - top))
        pen.text(place, f"{share * scale:g}", fill="black", font=font, anchor="lm")
    slack = tension_colours(np.zeros(1), scale)[0]
    for line, colour, word in ((0, slack, "slack"), (1, np.array(CONTACT), "contact")):
        y = bottom + 22 + 20 * line
        pen.ellipse((8, y - 5, 18, y + 5), fill=whole_colour(colour))
        pen.text((28, y), word, fill="black", font=font, anchor="lm")
    return image


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(findfont("DejaVu Sans"), size)
