# SPDX-License-Identifier: Apache-2.0
"""Large arrays that need not be held in memory.

An array above :data:`LARGE` lies in a temporary file without a name, mapped into
memory: what was read or written may leave memory again (:func:`release`) and comes
back when it is used. Smaller ones are as any other, and so are all where no such file
can be had.
"""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

LARGE = 1 << 24
"""Smallest array that lies on the disk [bytes]."""
ROWS = 4096
"""Rows of a large array that are worked on at once."""


def new_array(shape: tuple[int, ...], dtype: Any = float) -> np.ndarray:
    """An array with any content, on the disk if it is large."""
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    if size < LARGE:
        return np.empty(shape, kind)
    try:
        with tempfile.TemporaryFile(prefix="humans-sim-") as file:
            # Reserved, since a full disk would end the process later.
            os.posix_fallocate(file.fileno(), 0, size)
            mapped = mmap.mmap(file.fileno(), size)
    except OSError:
        return np.empty(shape, kind)
    return np.frombuffer(mapped, kind).reshape(shape)


def release(*arrays: np.ndarray | None) -> None:
    """Let large arrays leave memory; their content stays."""
    for array in arrays:
        base: Any = array
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, memoryview):
            base = base.obj
        if isinstance(base, mmap.mmap):
            base.madvise(mmap.MADV_DONTNEED)


def row_slices(count: int) -> Iterator[slice]:
    """Slices that cover so many rows, some thousand each."""
    for first in range(0, count, ROWS):
        yield slice(first, min(first + ROWS, count))


def column_of(array: np.ndarray, column: int) -> np.ndarray:
    """A copy of one column, whose rows lie all over the array."""
    return by_rows(lambda rows: rows[:, column].copy(), array)


def put_column(array: np.ndarray, column: int, values: np.ndarray) -> None:
    """Write one column."""
    for rows in row_slices(len(array)):
        array[rows, column] = values[rows]
        release(array)


def by_rows(
    function: Callable[..., np.ndarray], *arrays: np.ndarray | None
) -> np.ndarray:
    """What a function makes of the rows of arrays, some thousand at a time.

    Args:
        function: takes rows of the arrays and returns as many.
        arrays: of one length.
    """
    count = len(next(array for array in arrays if array is not None))
    if count <= ROWS:
        return function(*arrays)
    out = np.empty(0)
    for rows in row_slices(count):
        part = function(*(None if a is None else a[rows] for a in arrays))
        if rows.start == 0:
            out = new_array((count, *part.shape[1:]), part.dtype)
        out[rows] = part
        release(out, *arrays)
    return out
