# SPDX-License-Identifier: Apache-2.0
"""Pictures of a page as a browser draws it: it renders, the server keeps them."""

from __future__ import annotations

import io

import numpy as np
import viser
from PIL import Image

from humans_sim.core.errors import HumansError
from humans_sim.view.browser.incoming import Incoming

WIDEST_PICTURE, WIDEST_FILM = 1600, 720
"""Largest widths [pixels]."""
_SMALLEST = 64
PATIENCE = 30.0
"""How long a browser may take for a picture [s]."""


def picture_size(client: viser.ClientHandle, widest: int) -> tuple[int, int]:
    """Width and height of a picture of what a browser shows [pixels]."""
    width, height = client.camera.image_width, client.camera.image_height
    if not (width > 0 and height > 0):
        raise HumansError("the browser has not said yet how large its picture is")
    scale = min(1.0, widest / max(width, height))
    sides = (max(_SMALLEST, round(scale * side)) for side in (width, height))
    wide, high = sides
    return wide, high


def render_in_browser(
    client: viser.ClientHandle,
    incoming: Incoming,
    size: tuple[int, int],
    patience: float = PATIENCE,
) -> Image.Image:
    """What a browser sees, as it draws it.

    Args:
        client: the browser.
        incoming: judges what it says, and lets this picture pass.
        size: width and height [pixels].
        patience: how long it may take [s].

    Raises:
        HumansError: it does not answer, or with something else.
    """
    width, height = size
    try:
        with incoming.expecting_picture():
            pixels = client.get_render(
                height, width, transport_format="png", timeout=patience
            )
    except (RuntimeError, TimeoutError, OSError, ValueError) as error:
        raise HumansError(f"the browser gave no picture: {error}") from error
    if pixels.ndim != 3 or pixels.shape[2] not in (3, 4) or pixels.size > 64_000_000:
        raise HumansError("the browser gave something that is no picture")
    picture = Image.fromarray(np.ascontiguousarray(pixels, dtype=np.uint8))
    white = Image.new("RGBA", picture.size, "white")
    return Image.alpha_composite(white, picture.convert("RGBA")).convert("RGB")


def png_of(picture: Image.Image) -> bytes:
    """A picture as a file."""
    stream = io.BytesIO()
    picture.save(stream, format="PNG")
    return stream.getvalue()
