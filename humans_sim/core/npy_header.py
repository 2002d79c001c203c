# SPDX-License-Identifier: Apache-2.0
"""Headers of ``.npy`` files, checked before anything is made as large as they say."""

from __future__ import annotations

import math
from typing import IO, Any, Literal, NamedTuple

import numpy as np

_LONGEST = 4096
"""Longest header [bytes]."""


class NpyHeader(NamedTuple):
    """What numbers follow a header.

    Attributes:
        shape: of their array.
        order: "F" where the first axis runs fastest, else "C".
        kind: of each number.
    """

    shape: tuple[int, ...]
    order: Literal["C", "F"]
    kind: np.dtype[Any]

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return math.prod(self.shape)


def read_npy_header(stream: IO[bytes], axes: int, most: int) -> NpyHeader:
    """Read the header of an array of numbers.

    Args:
        stream: at the beginning of the file.
        axes: that the array must have.
        most: numbers that it may have.

    Raises:
        ValueError: it is another array, or none.
    """
    version = np.lib.format.read_magic(stream)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, fortran, kind = read(stream, max_header_size=_LONGEST)
    header = NpyHeader(shape, "F" if fortran else "C", kind)
    if len(shape) != axes or header.size > most:
        raise ValueError(f"an array {shape}; up to {most} numbers in {axes} axes")
    if kind.kind not in "biuf":
        raise ValueError(f"an array of {kind}, not of numbers")
    return header
