"""Archives of arrays (``.npz``) with a header of JSON, written by anybody.

numpy's own reader trusts sizes, compression and headers. This one knows the members it
wants, compares what a member says of its size with the limits and with what it holds,
reads headers by their form instead of as Python, and takes numbers only.
"""

from __future__ import annotations

import json
import math
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from humans_sim.files import ErrorOf, atomic_stream, open_regular
from humans_sim.json_text import parse_json

LARGEST_ARCHIVE = 1 << 33
"""Archives above this size are refused [bytes]."""
FREE_SIZE = 1 << 28
"""What an archive may hold however small it is [bytes]."""
LARGEST_RATIO = 100
"""Beyond that, how many times its own size."""
_MEMBERS = 64
_HEADER = 1 << 26
"""Longest header of JSON [bytes]."""
_MAGIC = b"\x93NUMPY"
_FORM = re.compile(
    r"\{'descr': '([<>|=]?(?:b1|[iu][1248]|f[248]|U\d{1,9}))', "
    r"'fortran_order': (True|False), 'shape': \(([\d, ]{0,200})\), ?\} *\n?"
)
_LONGEST_FORM = 4096
_ENCRYPTED = 0x1


def write_npz(
    path: Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> Path:
    """Write arrays with a header, whole or not at all.

    Raises:
        FileWriteError: the file cannot be written.
    """
    with atomic_stream(path) as stream:
        text = np.array(json.dumps(dict(header)))
        np.savez_compressed(stream, header=text, **arrays)  # type: ignore[arg-type]
    return path


def read_npz(
    path: Path,
    error: ErrorOf,
    what: str,
    names: Sequence[str],
    optional: Sequence[str] = (),
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the header and arrays of numbers.

    Args:
        path: the file.
        error: makes the error to raise.
        what: the file should be, e.g. ``a run file``.
        names: arrays that must be there.
        optional: arrays that may be there; others are not looked at.

    Returns:
        The header, and the arrays by name.

    Raises:
        HumansError: made by ``error``: the file is missing or damaged.
    """
    with open_regular(path, error, LARGEST_ARCHIVE) as stream:
        try:
            return _read(stream, names, optional)
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
    stream: BinaryIO, names: Sequence[str], optional: Sequence[str]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    size = stream.seek(0, 2)
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        if len(members) > _MEMBERS:
            raise ValueError(f"{len(members)} members")
        found: dict[str, zipfile.ZipInfo] = {}
        for member in members:
            if member.filename in found:
                raise ValueError(f"'{member.filename}' is there twice")
            found[member.filename] = member
        wanted = ["header", *names, *(n for n in optional if f"{n}.npy" in found)]
        missing = [name for name in wanted if f"{name}.npy" not in found]
        if missing:
            raise ValueError(f"'{missing[0]}' is missing")
        chosen = {name: found[f"{name}.npy"] for name in wanted}
        held = sum(member.file_size for member in chosen.values())
        if held > max(FREE_SIZE, LARGEST_RATIO * size):
            raise ValueError(f"{size} bytes that say to hold {held}")
        if chosen["header"].file_size > _HEADER:
            raise ValueError("its header is too long")
        arrays = {name: _array(archive, member) for name, member in chosen.items()}
    header = _text(arrays.pop("header"))
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf":
            raise ValueError(f"'{name}' holds no numbers")
    return parse_json(header), arrays


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    name = member.filename
    if member.flag_bits & _ENCRYPTED:
        raise ValueError(f"'{name}' is encrypted")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"'{name}' is compressed in a way that is not known")
    with archive.open(member) as stream:
        magic = stream.read(8)
        if magic[:6] != _MAGIC or magic[6:] not in (b"\1\0", b"\2\0", b"\3\0"):
            raise ValueError(f"'{name}' is no array")
        width = 2 if magic[6] == 1 else 4
        length = int.from_bytes(stream.read(width), "little")
        if length > _LONGEST_FORM:
            raise ValueError(f"'{name}' is no array of numbers")
        form = _FORM.fullmatch(stream.read(length).decode("latin-1"))
        if form is None:
            raise ValueError(f"'{name}' is no array of numbers or text")
        dtype, shape = np.dtype(form[1]), _shape(form[3])
        held = math.prod(shape) * dtype.itemsize
        if held != member.file_size - 8 - width - length:
            raise ValueError(f"'{name}' does not have the size that it says")
        flat = np.empty(math.prod(shape), dtype)
        view = flat.view(np.uint8).data if held else memoryview(b"")
        place = 0
        while place < held:
            count = stream.readinto(view[place : place + (1 << 20)])  # type: ignore[attr-defined]
            if not count:
                raise ValueError(f"'{name}' ends too early")
            place += count
        if stream.read(1):  # comes to the end, where the check sum is compared
            raise ValueError(f"'{name}' holds more than it says")
    array = flat.reshape(shape, order="F" if form[2] == "True" else "C")
    return array.astype(dtype.newbyteorder("="), copy=False)


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
