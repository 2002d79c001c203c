# SPDX-License-Identifier: Apache-2.0
"""Pictures as a small looping film (GIF), drawn by painters or by a browser."""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image

_HOLD = 1.0
"""How long the last frame stays [s]."""
COLOURS = 64
"""Colours of a film."""


def looping_film(
    pictures: Sequence[Image.Image], pause: float, colours: int = COLOURS
) -> bytes:
    """The file of a film: frames, the time of each [s], up to 256 colours of all."""
    method = Image.Quantize.MEDIANCUT
    if colours > COLOURS:  # small things keep their own colours, too
        method = Image.Quantize.FASTOCTREE
    # one palette for all frames: what does not move does not flicker
    palette = pictures[len(pictures) // 2].quantize(colours, method)
    flat = [p.quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures]
    times = [round(1000 * pause)] * (len(flat) - 1) + [round(1000 * _HOLD)]
    stream = io.BytesIO()
    flat[0].save(
        stream,
        format="GIF",
        save_all=True,
        append_images=flat[1:],
        duration=times,
        loop=0,
        optimize=True,
    )
    return stream.getvalue()
