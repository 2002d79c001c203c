# SPDX-License-Identifier: Apache-2.0
"""Heights of a screen as short text, for the record of a run."""

from __future__ import annotations

import base64
import zlib

import numpy as np

from humans_sim.soft.errors import SoftError

_UNIT = 1e-7
"""Of a packed height [m]."""


def packed_heights(heights: np.ndarray) -> str:
    """Heights to a tenth of a micrometre, compressed, as text."""
    whole = np.rint(np.asarray(heights) / _UNIT).astype("<i4")
    return base64.b64encode(zlib.compress(whole.tobytes(), 9)).decode("ascii")


def unpacked_heights(text: str, shape: tuple[int, ...]) -> np.ndarray:
    """The heights of :func:`packed_heights` [m].

    Raises:
        SoftError: it is no such text, or of another shape.
    """
    size = 4 * int(np.prod(shape))
    try:
        raw = zlib.decompressobj().decompress(base64.b64decode(text), size + 1)
    except (ValueError, zlib.error) as error:
        raise SoftError(f"heights of a ground are damaged: {error}") from None
    if len(raw) != size:
        raise SoftError(f"heights of a ground are not of {shape} pins")
    heights: np.ndarray = _UNIT * np.frombuffer(raw, "<i4").reshape(shape)
    return heights


_STEP = 1e-5
"""Of a height in a series [m]."""


def rounded_heights(heights: np.ndarray) -> np.ndarray:
    """Heights as small whole numbers, to 10 um, for a series."""
    whole = np.clip(np.rint(np.asarray(heights) / _STEP), -32768, 32767)
    rounded: np.ndarray = whole.astype("<i2")
    return rounded


def packed_series(series: list[np.ndarray]) -> str:
    """Many :func:`rounded_heights`, each as what changed, compressed, as text."""
    stack = np.array(series, dtype="<i2")
    stack[1:] -= stack[:-1].copy()
    return base64.b64encode(zlib.compress(stack.tobytes(), 6)).decode("ascii")


def unpacked_series(text: str, shape: tuple[int, int, int]) -> np.ndarray:
    """The heights of :func:`packed_series` (k, n, m) [m].

    Raises:
        SoftError: it is no such text, or of another shape.
    """
    size = 2 * int(np.prod(shape))
    try:
        raw = zlib.decompressobj().decompress(base64.b64decode(text), size + 1)
    except (ValueError, zlib.error) as error:
        raise SoftError(f"heights of a ground are damaged: {error}") from None
    if len(raw) != size:
        raise SoftError(f"heights of a ground are not {shape[0]} of {shape[1:]} pins")
    changes = np.frombuffer(raw, "<i2").reshape(shape)
    heights: np.ndarray = _STEP * np.cumsum(changes, axis=0, dtype=np.int16)
    return heights
