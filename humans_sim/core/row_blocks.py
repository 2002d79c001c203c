# SPDX-License-Identifier: Apache-2.0
"""Long arrays in pieces, so that no copy of the whole is made.

Arrays that lie on the disk (:func:`humans_sim.core.npz_file.read_npz` with ``lazy``)
come to memory where they are looked at, and the system keeps them there; here they
leave again.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator

import numpy as np

_BLOCK = 1 << 23
"""Size of a piece [bytes]."""


def row_blocks(*arrays: np.ndarray) -> Iterator[slice]:
    """Rows of arrays of one length, some megabytes at a time, none of them empty."""
    count = len(arrays[0])
    size = max(1, sum(array.nbytes for array in arrays))
    step = max(1, _BLOCK * count // size)
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
        for array in arrays:
            release(array)


def release(array: np.ndarray) -> None:
    """Let go what was read of an array on the disk; one in memory stays."""
    base = array.base
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and not base.closed:
        base.madvise(mmap.MADV_DONTNEED)
