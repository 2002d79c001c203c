# SPDX-License-Identifier: Apache-2.0
"""Archives of arrays (``.npz``) from arrays in memory and from rows on disk.

A small archive is compressed. In a large one the arrays lie as they are, from an
address that is a multiple of 64: so they can be used from the file itself, without
being read (:func:`humans_sim.core.npz_file.read_npz` with ``lazy``), and writing many
gigabytes takes as long as copying them.
"""

from __future__ import annotations

import json
import math
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from humans_sim.core.disk_arrays import release
from humans_sim.core.errors import FileWriteError
from humans_sim.core.files import atomic_stream, fault_reason
from humans_sim.core.npz_file import LARGEST_ARCHIVE, LARGEST_HEADER

COMPRESSED = 1 << 26
"""Largest content of an archive that is compressed [bytes]."""
_ALIGNMENT = 64
_CHUNK = 1 << 20
_DATE = (1980, 1, 1, 0, 0, 0)
"""Earliest that an archive knows: equal arrays give equal files."""


class Member(NamedTuple):
    """An array as it is written.

    Attributes:
        dtype: of its numbers.
        shape: of the whole.
        parts: its bytes in C order, piece by piece.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    parts: Iterable[Any]

    @classmethod
    def of(cls, array: np.ndarray) -> Member:
        """A member that holds an array."""
        return cls(array.dtype, array.shape, _pieces(array))

    @property
    def size(self) -> int:
        """Of its numbers [bytes]."""
        return math.prod(self.shape) * self.dtype.itemsize


def write_npz(
    path: Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> Path:
    """Write arrays with a header, whole or not at all.

    Raises:
        FileWriteError: the file cannot be written, or nobody could read it.
    """
    return write_members(
        path, header, {name: Member.of(array) for name, array in arrays.items()}
    )


def write_members(
    path: Path, header: Mapping[str, Any], members: Mapping[str, Member]
) -> Path:
    """Write an archive of a header and members, one after the other.

    Raises:
        FileWriteError: the file cannot be written, or nobody could read it.
    """
    text = np.array(json.dumps(dict(header)))
    held = sum(member.size for member in members.values())
    if text.nbytes > LARGEST_HEADER:
        raise FileWriteError("it has too many events, or names that are too long", path)
    if held + text.nbytes > LARGEST_ARCHIVE - _CHUNK:
        raise FileWriteError(f"{held} bytes are more than is read again", path)
    packed = zipfile.ZIP_DEFLATED
    kind = packed if held <= COMPRESSED else zipfile.ZIP_STORED
    with atomic_stream(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        _write_member(archive, stream, "header", Member.of(text), packed)
        for name, member in members.items():
            _write_member(archive, stream, name, member, kind)
    return path


def _write_member(
    archive: zipfile.ZipFile, stream: BinaryIO, name: str, member: Member, kind: int
) -> None:
    place = zipfile.ZipInfo(f"{name}.npy", _DATE)
    place.compress_type = kind
    place.external_attr = 0o600 << 16
    with archive.open(place, "w", force_zip64=True) as out:
        start = stream.tell() if kind == zipfile.ZIP_STORED else 0
        out.write(_form(member, start))
        written = 0
        for part in member.parts:
            written += out.write(part)
    if written != member.size:
        raise ValueError(f"{name}: {written} bytes instead of {member.size}")


def _form(member: Member, start: int) -> bytes:
    """The head of an array, padded so that its numbers lie at a round address."""
    form = {
        "descr": np.lib.format.dtype_to_descr(member.dtype),
        "fortran_order": False,
        "shape": member.shape,
    }
    # As numpy writes it, which also is what the reader takes.
    items = "".join(f"'{key}': {value!r}, " for key, value in form.items())
    text = f"{{{items}}}".encode("latin-1")
    pad = -(start + 10 + len(text) + 1) % _ALIGNMENT
    text += b" " * pad + b"\n"
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text


def _pieces(array: np.ndarray) -> Iterator[Any]:
    """The bytes of an array in C order."""
    if array.ndim == 0 or array.nbytes <= _CHUNK:
        yield array.tobytes()
        return
    rows = max(1, _CHUNK * len(array) // array.nbytes)
    for row in range(0, len(array), rows):
        yield array[row : row + rows].tobytes()
        release(array)


class RowSpool:
    """Rows of an array in a file without a name, which a killed process takes along.

    Args:
        path: file that they will go to; they are kept in its folder.
        dtype: of the numbers.
        shape: of a row.
        newest: how many rows are kept, the newest; None for all.
    """

    def __init__(
        self,
        path: Path,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        newest: int | None = None,
    ) -> None:
        """No rows yet."""
        self._path, self.dtype, self.shape, self._newest = path, dtype, shape, newest
        self._size = math.prod(shape) * dtype.itemsize
        self._count = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=path.parent, buffering=0)
        except (OSError, ValueError) as fault:
            raise FileWriteError(fault_reason(fault), path) from fault

    def __len__(self) -> int:
        """Rows that are kept."""
        newest = self._count if self._newest is None else self._newest
        return min(self._count, newest)

    def write(self, rows: np.ndarray) -> None:
        """Append rows.

        Raises:
            FileWriteError: they cannot be written.
        """
        rows = np.ascontiguousarray(rows, self.dtype)
        if rows.shape[1:] != self.shape:
            raise ValueError(f"rows of {rows.shape[1:]}, not {self.shape}")
        if self._newest is not None and len(rows) > self._newest:
            self._count += len(rows) - self._newest
            rows = rows[-self._newest :]
        place = self._count if self._newest is None else self._count % self._newest
        first = len(rows) if self._newest is None else self._newest - place
        self._put(place, rows[:first])
        self._put(0, rows[first:])
        self._count += len(rows)

    def _put(self, row: int, rows: np.ndarray) -> None:
        data, at = rows.tobytes(), row * self._size
        try:
            self._file.seek(at)
            while data:
                data = data[self._file.write(data) :]
        except OSError as fault:
            raise FileWriteError(fault_reason(fault), self._path) from fault

    @property
    def nbytes(self) -> int:
        """Size of the rows that are kept."""
        return len(self) * self._size

    def first(self) -> np.ndarray:
        """The oldest row that is kept."""
        self._file.seek(self._oldest() * self._size)
        data = self._file.read(self._size)
        return np.frombuffer(data, self.dtype).reshape(self.shape)

    def _oldest(self) -> int:
        """Where the oldest row lies."""
        full = self._newest is not None and self._count > self._newest
        return self._count % len(self) if full else 0

    def member(self) -> Member:
        """The rows in their order; the file is closed once they are read."""
        return Member(self.dtype, (len(self), *self.shape), self._read())

    def array(self) -> np.ndarray:
        """The rows in memory; the file is closed."""
        shape = (len(self), *self.shape)
        data = bytearray().join(self._read())
        return np.frombuffer(data, self.dtype).reshape(shape)

    def _read(self) -> Iterator[bytes]:
        count, oldest = len(self), self._oldest()
        with self._file as file:
            for start, end in ((oldest, count), (0, oldest)):
                file.seek(start * self._size)
                left = (end - start) * self._size
                while left and (data := file.read(min(left, _CHUNK))):
                    left -= len(data)
                    yield data

    def close(self) -> None:
        """Forget the rows."""
        self._file.close()
