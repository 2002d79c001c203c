# SPDX-License-Identifier: Apache-2.0
"""Heights and tracks as short text, for the record of a run."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from humans_sim.core.errors import MALFORMED_CONTENT, RunFileError
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
    return _UNIT * _unpacked(text, "<i4", shape, f"of {shape} pins")


def _unpacked(text: str, kind: str, shape: tuple[int, ...], words: str) -> np.ndarray:
    """Whole numbers from compressed text, read no further than their size."""
    size = np.dtype(kind).itemsize * int(np.prod(shape))
    try:
        raw = zlib.decompressobj().decompress(base64.b64decode(text), size + 1)
    except (ValueError, zlib.error) as error:
        raise SoftError(f"heights of a ground are damaged: {error}") from None
    if len(raw) != size:
        raise SoftError(f"heights of a ground are not {words}")
    return np.frombuffer(raw, kind).reshape(shape)


_STEP = 1e-5
"""Of a height in a series [m]."""


def rounded_heights(heights: np.ndarray) -> np.ndarray:
    """Heights as small whole numbers, to 10 um, for a series."""
    whole = np.clip(np.rint(np.asarray(heights) / _STEP), -32768, 32767)
    return whole.astype("<i2")


def packed_series(series: list[np.ndarray]) -> str:
    """Many :func:`rounded_heights`, each as what changed, compressed, as text."""
    stack = np.array(series, dtype="<i2")
    stack[1:] -= stack[:-1].copy()
    return base64.b64encode(zlib.compress(stack.tobytes(), 6)).decode("ascii")


def unpacked_series(text: str, shape: tuple[int, int, int]) -> np.ndarray:
    """The heights of :func:`packed_series` (k, n, m) [m]; errors are the same."""
    changes = _unpacked(text, "<i2", shape, f"{shape[0]} of {shape[1:]} pins")
    return _STEP * np.cumsum(changes, axis=0, dtype=np.int16)


class CoatTracks:
    """The coat of a run over time, from its record; nothing where there is none.

    Attributes:
        times: of the positions (n,) [s].
        places: of all masses (n, masses, 3) [m].
        lines: masses that are linked (k, 2).

    Raises:
        RunFileError: what is recorded of the coat is damaged.
    """

    def __init__(self, info: Mapping[str, Any]) -> None:
        self.times, self.places = np.zeros(0), np.zeros((0, 0, 3))
        self.lines = np.zeros((0, 2), dtype=int)
        coat = info.get("coat", {})
        if "tracks" not in coat:
            return
        try:
            shape = tuple(int(n) for n in coat["shape"])
            if len(shape) != 3 or shape[2] != 3 or min(shape) < 1:
                raise ValueError("the shape must be three counts")
            steps = unpacked_heights(str(coat["tracks"]), shape)
            self.places = np.cumsum(steps, axis=0)
            self.times = np.array(coat["times"], dtype=float)
            self.lines = np.array(coat["lines"], dtype=int).reshape(-1, 2)
            linked = ((self.lines >= 0) & (self.lines < shape[1])).all()
            if len(self.times) != shape[0] or not linked:
                raise ValueError("times or lines do not fit")
        except MALFORMED_CONTENT as error:
            damaged = f"the run's record of its coat is damaged: {error}"
            raise RunFileError(damaged) from error

    def at(self, t: float) -> np.ndarray:
        """Links as lines at a time (k, 2, 3) [m]; none without a coat."""
        if not len(self.times):
            return np.zeros((0, 2, 3))
        return self.places[int(np.argmin(np.abs(self.times - t)))][self.lines]
