# SPDX-License-Identifier: Apache-2.0
"""Archives of arrays (``.npz``) with a header of JSON, written by anybody.

numpy's own reader trusts sizes, compression and headers. This one knows the members it
wants, compares what a member says of its size with the limits and with what it holds,
reads headers by their form instead of as Python, and takes numbers only.

*Written* are arrays in memory and rows on disk. A small archive is compressed. In a
large one the arrays lie as they are, from an address that is a multiple of 64: so they
can be used from the file itself, without being read
(:func:`humans_sim.core.npz_file.read_npz` with ``lazy``), and writing many gigabytes
takes as long as copying them.
"""

from __future__ import annotations

import json
import math
import mmap
import re
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, NamedTuple

import numpy as np

from humans_sim.core.arrays import release
from humans_sim.core.bounded_text import parse_json
from humans_sim.core.budget import check_expansion
from humans_sim.core.errors import FileWriteError
from humans_sim.core.files import ErrorOf, atomic_stream, fault_reason, open_regular

LARGEST_ARCHIVE = 1 << 33
"""Archives above this size are refused [bytes]."""
_MEMBERS = 64
LARGEST_HEADER = 1 << 26
"""Longest header of JSON, of four bytes a character [bytes]."""
_MAGIC = b"\x93NUMPY"
_FORM = re.compile(
    r"\{'descr': '([<>|=]?(?:b1|[iu][1248]|f[248]|U\d{1,9}))', "
    r"'fortran_order': (True|False), 'shape': \(([\d, ]{0,200})\), ?\} *\n?"
)
_LONGEST_FORM = 4096
_ENCRYPTED = 0x1
_CHUNK = 1 << 20


def read_npz(
    path: Path,
    error: ErrorOf,
    what: str,
    names: Sequence[str],
    optional: Sequence[str] = (),
    lazy: bool = False,
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the header and arrays of numbers: ``names``, and ``optional`` where there.

    ``lazy`` leaves arrays that are not compressed on the disk: they are compared with
    their check sums, and read again where they are used. Such arrays cannot be written
    to. Nobody may change the file meanwhile; one that is exchanged for another, as all
    writers of this package do, remains as it was.
    """
    with open_regular(path, error, LARGEST_ARCHIVE) as stream:
        try:
            return _read(stream, names, optional, lazy)
        except (
            ArithmeticError,
            EOFError,
            LookupError,
            MemoryError,
            OSError,
            RuntimeError,  # NotImplementedError and RecursionError among them
            TypeError,
            ValueError,
            struct.error,
            zipfile.BadZipFile,
            zlib.error,
        ) as fault:
            reason = str(fault) or type(fault).__name__
            raise error(f"not {what}: {reason}", path) from None


def _read(
    stream: BinaryIO, names: Sequence[str], optional: Sequence[str], lazy: bool
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    size = stream.seek(0, 2)
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        if len(members) > _MEMBERS:
            raise ValueError(f"{len(members)} members")
        by_name: dict[str, zipfile.ZipInfo] = {}
        for member in members:
            if member.filename in by_name:
                raise ValueError(f"'{member.filename}' is there twice")
            by_name[member.filename] = member
        optional = [name for name in optional if f"{name}.npy" in by_name]
        needed = ["header", *names, *optional]
        missing = [name for name in needed if f"{name}.npy" not in by_name]
        if missing:
            raise ValueError(f"'{missing[0]}' is missing")
        chosen = {name: by_name[f"{name}.npy"] for name in needed}
        held = sum(member.file_size for member in chosen.values())
        check_expansion(held, size)
        if chosen["header"].file_size > LARGEST_HEADER:
            raise ValueError("its header is too long")
        on_disk = (
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if lazy else None
        )
        arrays = {
            name: _array(archive, member, on_disk) for name, member in chosen.items()
        }
    header = _text(arrays.pop("header"))
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf":
            raise ValueError(f"'{name}' holds no numbers")
    return parse_json(header), arrays


def _array(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, on_disk: mmap.mmap | None
) -> np.ndarray:
    name = member.filename
    if member.flag_bits & _ENCRYPTED:
        raise ValueError(f"'{name}' is encrypted")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"'{name}' is compressed in a way that is not known")
    with archive.open(member) as stream:
        dtype, shape, order, start = _form(stream, member)
        held = math.prod(shape) * dtype.itemsize
        if held != member.file_size - start:
            raise ValueError(f"'{name}' does not have the size that it says")
        stored = member.compress_type == zipfile.ZIP_STORED
        if on_disk is not None and stored and dtype.isnative and held:
            _fill(stream, name, held, None)
            # Where a stored member lies; its place was read, and so compared, before.
            names = struct.unpack_from("<HH", on_disk, member.header_offset + 26)
            place = int(member.header_offset + 30 + sum(names)) + start
            return np.ndarray(shape, dtype, on_disk, place, order=order)
        flat = np.empty(math.prod(shape), dtype)
        _fill(stream, name, held, flat.view(np.uint8).data if held else None)
    array = flat.reshape(shape, order=order)
    return array.astype(dtype.newbyteorder("="), copy=False)


def _form(
    stream: IO[bytes], member: zipfile.ZipInfo
) -> tuple[np.dtype[Any], tuple[int, ...], Literal["C", "F"], int]:
    """Type, shape and order of an array, and where its numbers start."""
    name, magic = member.filename, stream.read(8)
    if magic[:6] != _MAGIC or magic[6:] not in (b"\1\0", b"\2\0", b"\3\0"):
        raise ValueError(f"'{name}' is no array")
    width = 2 if magic[6] == 1 else 4
    length = int.from_bytes(stream.read(width), "little")
    if length > _LONGEST_FORM:
        raise ValueError(f"'{name}' is no array of numbers")
    form = _FORM.fullmatch(stream.read(length).decode("latin-1"))
    if form is None:
        raise ValueError(f"'{name}' is no array of numbers or text")
    order: Literal["C", "F"] = "F" if form[2] == "True" else "C"
    return np.dtype(form[1]), _shape(form[3]), order, 8 + width + length


def _fill(stream: IO[bytes], name: str, held: int, target: memoryview | None) -> None:
    """Read a member to its end, into a target or only for its check sum."""
    scratch = memoryview(bytearray(_CHUNK)) if target is None else None
    place = 0
    while place < held:
        step = min(held - place, _CHUNK)
        view = scratch[:step] if scratch is not None else target[place : place + step]  # type: ignore[index]
        count = stream.readinto(view)  # type: ignore[attr-defined]
        if not count:
            raise ValueError(f"'{name}' ends too early")
        place += count
    if stream.read(1):  # comes to the end, where the check sum is compared
        raise ValueError(f"'{name}' holds more than it says")


def _shape(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if words[-1] == "":
        words.pop()
    if not all(re.fullmatch(r"\d{1,15}", word) for word in words):
        raise ValueError(f"({text}) is no shape")
    return tuple(map(int, words))


def _text(array: np.ndarray) -> str:
    if array.dtype.kind != "U" or array.shape != ():
        raise ValueError("its header is no text")
    return array.tobytes().decode(f"utf-32-{sys.byteorder[0]}e").rstrip("\0")


COMPRESSED = 1 << 26
"""Largest content of an archive that is compressed [bytes]."""
_ALIGNMENT = 64
_DATE = (1980, 1, 1, 0, 0, 0)
"""Earliest that an archive knows: equal arrays give equal files."""


class Member(NamedTuple):
    """An array as it is written; ``parts``: its bytes in C order, piece by piece."""

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
    """Write arrays with a header, whole or not at all."""
    return write_members(
        path, header, {name: Member.of(array) for name, array in arrays.items()}
    )


def write_members(
    path: Path, header: Mapping[str, Any], members: Mapping[str, Member]
) -> Path:
    """Write an archive of a header and members, one after the other."""
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
        out.write(_array_head(member, start))
        written = 0
        for part in member.parts:
            written += out.write(part)
    if written != member.size:
        raise ValueError(f"{name}: {written} bytes instead of {member.size}")


def _array_head(member: Member, start: int) -> bytes:
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
        newest: how many rows are kept, the newest; None for all.
    """

    def __init__(
        self,
        path: Path,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        newest: int | None = None,
    ) -> None:
        self._path, self.dtype, self.shape, self._newest = path, dtype, shape, newest
        self._size = math.prod(shape) * dtype.itemsize
        self._count = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=path.parent, buffering=0)
        except (OSError, ValueError) as fault:
            raise FileWriteError(fault_reason(fault), path) from fault

    def __len__(self) -> int:
        newest = self._count if self._newest is None else self._newest
        return min(self._count, newest)

    def write(self, rows: np.ndarray) -> None:
        """Append rows."""
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


_LONGEST = 4096
"""Longest header [bytes]."""


class NpyHeader(NamedTuple):
    """The numbers that follow a header.

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
    """Read the header of an array of ``axes`` axes and at most ``most`` numbers."""
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
