# SPDX-License-Identifier: Apache-2.0
"""Archives of arrays (``.npz``) with a header of JSON, written by anybody.

numpy's own reader trusts sizes, compression and headers. This one knows the members it
wants, compares what a member says of its size with the limits and with what it holds,
reads headers by their form instead of as Python, and takes numbers only.
"""

from __future__ import annotations

import math
import mmap
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal

import numpy as np

from humans_sim.core.budget import check_expansion
from humans_sim.core.files import ErrorOf, open_regular
from humans_sim.core.json_text import parse_json

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
    """Read the header and arrays of numbers.

    Args:
        path: the file.
        error: makes the error to raise.
        what: the file should be, e.g. ``a run file``.
        names: arrays that must be there.
        optional: arrays that may be there; others are not looked at.
        lazy: leave arrays that are not compressed on the disk: they are compared with
            their check sums, and read again where they are used. Such arrays cannot be
            written to. Nobody may change the file meanwhile; one that is exchanged for
            another, as all writers of this package do, remains as it was.

    Returns:
        The header, and the arrays by name.

    Raises:
        HumansError: made by ``error``: the file is missing or damaged.
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
            place = _data_start(on_disk, member) + start
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


def _data_start(on_disk: mmap.mmap, member: zipfile.ZipInfo) -> int:
    """Where a stored member lies; its place was read, and so compared, before."""
    names = struct.unpack_from("<HH", on_disk, member.header_offset + 26)
    return int(member.header_offset + 30 + sum(names))


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
