# SPDX-License-Identifier: Apache-2.0
"""Arrays: numbers of users, large arrays, rows in pieces.

*Numbers of users* become the arrays that pinocchio takes. Its converter takes arrays of
float64 and what casts to it safely. It refuses lists, float16, longdouble, objects and
complex numbers, with an error that names none of them, and misreads arrays of the other
byte order. Complex numbers come from ``numpy.linalg.eig``, which gives them always from
numpy 2.5 on, also where all eigenvalues are real.

Parents of dataclasses check numbers when they are given.

*Rows in pieces*: no copy of the whole is made. Arrays that lie on the disk
(:func:`humans_sim.core.npz_file.read_npz` with ``lazy``) come to memory where they are
looked at, and the system keeps them there; here they leave again.

*Large arrays* need not be held in memory. An array above :data:`LARGE` lies in a
temporary file without a name, mapped into memory: what was read or written may leave
memory again (:func:`release`) and comes back when it is used. Smaller ones are as any
other, and so are all where no such file can be had.
"""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from humans_sim.core.errors import HumansError, ParameterError

_FLOAT = np.dtype(float)


def real_array(
    values: object, what: str, error: type[HumansError] = ParameterError
) -> np.ndarray:
    """An array of float64; the given one where it is that already."""
    if type(values) is np.ndarray and values.dtype == _FLOAT:
        return values
    try:
        array = np.asarray(values)
        imaginary = array.dtype.kind == "c" and bool(np.any(array.imag))
        real = (array.real if array.dtype.kind == "c" else array).astype(_FLOAT)
    except (TypeError, ValueError, OverflowError):
        raise error(f"{what}: must be numbers, not {values!r}") from None
    if imaginary:
        raise error(f"{what}: must be real numbers, not complex ones")
    return real


def finite_array(
    values: object,
    shape: tuple[int, ...],
    what: str,
    error: type[HumansError] = ParameterError,
) -> np.ndarray:
    """An array of float64 of a shape, of finite numbers; ``what``: its name."""
    array = real_array(values, what, error)
    if array.shape != shape:
        size = " x ".join(str(n) for n in shape)
        raise error(f"{what}: must be {size} finite numbers, not {array.shape}")
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)][0]
        raise error(f"{what}: must be finite numbers, not {bad}")
    return array


class PositiveNumbers:
    """Parent of dataclasses whose fields are all finite numbers above zero.

    Attributes:
        MAY_BE_ZERO: names of the fields that may be zero.
    """

    MAY_BE_ZERO: ClassVar[Collection[str]] = ()

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            zero = name in self.MAY_BE_ZERO
            if not (math.isfinite(value) and (value > 0 or (zero and value == 0))):
                least = "0 or more" if zero else "above zero"
                raise ParameterError(f"{name} must be {least}, not {value}")


class NumbersInRange:
    """Parent of dataclasses with fields that have a least and a largest value.

    Attributes:
        RANGES: least and largest value of those fields, by name.
    """

    RANGES: ClassVar[Mapping[str, tuple[float, float]]] = {}

    def __post_init__(self) -> None:
        for name, (least, most) in self.RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise ParameterError(
                    f"{name} must be {least:g} to {most:g}, not {value}"
                )


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
        if isinstance(base, mmap.mmap) and not base.closed:
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
    """A function of the rows of arrays of one length, some thousand at a time."""
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
