"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_unfinished: set[Path] = set()


@contextmanager
def atomic_stream(path: Path) -> Iterator[BinaryIO]:
    """A binary stream that becomes the file at ``path`` when all went well.

    On any failure the old file stays and nothing else is left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    _unfinished.add(temporary)
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
        _unfinished.discard(temporary)


def remove_unfinished() -> None:
    """Remove what is half written: for a process that ends without cleaning up."""
    for temporary in list(_unfinished):
        temporary.unlink(missing_ok=True)


def write_atomically(path: Path, text: str) -> None:
    """Write a text file; on any failure the old file stays and nothing else is left."""
    with atomic_stream(path) as stream:
        stream.write(text.encode("utf-8"))
