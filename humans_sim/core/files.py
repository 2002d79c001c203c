# SPDX-License-Identifier: Apache-2.0
"""Files: bounded reading of regular ones, writing whole or not at all.

Every reader of the package gets its bytes here. A name that leads to a pipe, a device,
a socket or a folder is refused before anything is read from it, and so is a file that
is larger than its format ever is. Every writer writes a temporary file beside the final
one, locked while its writer lives, and renames it when it is whole.

*Destinations* of results are checked before the work is done. One rule for every
command: the folder of a file has to be there; a folder of results is made in one that
is there, which is said. Nothing is left behind by asking.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from humans_sim.core.errors import (
    FileError,
    FileWriteError,
    HumansError,
    ParameterError,
    printable,
)

LARGEST_FILE = 1 << 30
"""Files above this size are refused unless a format has another limit [bytes]."""
LARGEST_TEXT = 1 << 24
"""The same of files that a person might write [bytes]."""
_TEMPORARY = re.compile(r"\.humans-sim\.[0-9a-f]{32}\.part")
"""Names that files have while they are written; short, whatever the file's own."""
_CHUNK = 1 << 16
_LINES = 1000
"""Lines that are written at once."""
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

_unfinished: set[Path] = set()
"""What this process is writing."""

ErrorOf = Callable[[str, Path], HumansError]
"""Makes an error of a message and a path, as the children of FileError do."""


def open_regular(
    path: Path | str, error: ErrorOf = FileError, limit: int = LARGEST_FILE
) -> BufferedReader:
    """Open a regular file of at most ``limit`` [bytes]; ``error`` makes the error."""
    path = Path(path)
    try:
        # Looked at before it is opened: opening alone makes some devices act.
        _check_kind(path, path.stat(), error)
        stream = os.fdopen(os.open(path, _OPEN), "rb")
    except (OSError, ValueError) as fault:
        if isinstance(fault, HumansError):
            raise
        raise error(f"cannot read the file: {fault_reason(fault)}", path) from fault
    try:
        # Looked at again, as what was opened: the name may lead elsewhere by now.
        status = os.fstat(stream.fileno())
        _check_kind(path, status, error)
        if status.st_size > limit:
            raise error(
                f"cannot read the file: it has {status.st_size} bytes, more than the "
                f"{limit} that are read",
                path,
            )
    except BaseException:
        stream.close()
        raise
    return stream


def read_bytes(
    path: Path | str, error: ErrorOf = FileError, limit: int = LARGEST_FILE
) -> bytes:
    """Content of a regular file of at most ``limit`` bytes."""
    with open_regular(path, error, limit) as stream:
        try:
            # No more is set aside than there is.
            size = os.fstat(stream.fileno()).st_size
            data = stream.read(min(size, limit) + 1)
            while len(data) <= limit and (more := stream.read(_CHUNK)):
                data += more
        except (OSError, MemoryError) as fault:
            reason = f"cannot read the file: {fault_reason(fault)}"
            raise error(reason, Path(path)) from fault
    if len(data) > limit:  # it grew, or its size is not known before
        raise error(f"cannot read the file: it has more than {limit} bytes", Path(path))
    return data


def read_text(
    path: Path | str,
    error: Callable[..., HumansError] = FileError,
    limit: int = LARGEST_TEXT,
) -> str:
    """Content of a regular file as UTF-8 text; a mark at its start is dropped."""
    path = Path(path)
    data = read_bytes(path, error, limit)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise error("cannot read the file: it is UTF-16: save it as UTF-8", path, 1)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = fault.object.count(b"\n", 0, fault.start) + 1
        byte = fault.object[fault.start]
        raise error(
            f"cannot read the file: the byte 0x{byte:02x} is no UTF-8 text: save it as "
            "UTF-8",
            path,
            line,
        ) from fault
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise error("this is no text: it holds a zero byte", path, line)
    return text


def content_hash(path: Path | str) -> str:
    """SHA-256 of a regular file, in hexadecimal digits."""
    with open_regular(path) as stream:
        try:
            return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as fault:
            reason = f"cannot read the file: {fault_reason(fault)}"
            raise FileError(reason, path) from fault


def check_regular(
    path: Path | str, error: ErrorOf = FileError, limit: int = LARGEST_FILE
) -> None:
    """Check a file that a library opens by its name."""
    open_regular(path, error, limit).close()


def is_file(path: Path) -> bool:
    """Whether there is a regular file; a name that no file can have is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder; a name that no folder can have is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _check_kind(path: Path, status: os.stat_result, error: ErrorOf) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise error("cannot read the file: this is a folder, not a file", path)
    if not stat.S_ISREG(status.st_mode):
        word = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise error(f"cannot read the file: this is {word}, not a regular file", path)


def absence_reason(path: Path) -> str:
    """Why a name leads to no regular file and no folder, in words."""
    try:
        word = _KINDS.get(stat.S_IFMT(path.stat().st_mode))
    except (OSError, ValueError):
        if path.is_symlink():
            return "this is a link that leads nowhere"
        return "there is no such file or folder"
    return f"this is {word or 'something else'}, not a file or folder"


def fault_reason(fault: BaseException) -> str:
    """Why something cannot be read or written, in the system's words."""
    if isinstance(fault, FileNotFoundError):
        return "there is no such file"
    if isinstance(fault, MemoryError):
        return "too little memory"
    return str(getattr(fault, "strerror", None) or fault)


@contextmanager
def reader_errors(what: str, path: Path | str) -> Iterator[None]:
    """What readers of other libraries raise, which is anything, as a FileError."""
    try:
        yield
    except HumansError:
        raise
    except Exception as error:
        raise FileError(f"not {what}: {error}", path) from error


@contextmanager
def atomic_stream(path: Path) -> Iterator[BinaryIO]:
    """A binary stream that becomes the file at ``path`` when all went well.

    On any failure the old file stays and nothing else is left. What writers that were
    killed have left in the folder is removed.
    """
    try:
        if "\0" in str(path):
            raise FileWriteError("no name can hold a null byte", path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            raise FileWriteError("something else has this name", path)
        remove_stale(path.parent)
        temporary, stream = _temporary(path.parent)
        _unfinished.add(temporary)
    except (OSError, ValueError) as fault:
        if isinstance(fault, FileWriteError):
            raise
        raise FileWriteError(fault_reason(fault), path) from fault
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            # Still locked: nobody takes it for what a killed writer has left.
            temporary.replace(path)
    except Exception as fault:
        cause = _write_fault(fault)
        if cause is None:
            raise
        raise FileWriteError(fault_reason(cause), path) from fault
    finally:
        temporary.unlink(missing_ok=True)
        _unfinished.discard(temporary)


def remove_unfinished() -> None:
    """Remove what is half written: for a process that ends without cleaning up."""
    for temporary in list(_unfinished):
        temporary.unlink(missing_ok=True)


def write_atomically(path: Path, text: str) -> None:
    """Write a text file; on any failure the old file stays and nothing else is left."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as fault:
        part = fault.object[fault.start : fault.end]
        raise FileWriteError(f"{part!r} is no text that UTF-8 has", path) from fault
    with atomic_stream(path) as stream:
        stream.write(data)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text file line by line, as :func:`write_atomically` but never whole."""
    with atomic_stream(path) as stream:
        rest = iter(lines)
        while many := list(islice(rest, _LINES)):
            stream.write(("\n".join(many) + "\n").encode("utf-8"))


def remove_stale(folder: Path) -> None:
    """Remove what writers that no longer run have left in a folder."""
    with os.scandir(folder) as entries:
        names = [e.name for e in entries if _TEMPORARY.fullmatch(e.name)]
    for name in names:
        path = folder / name
        try:
            handle = os.open(path, _OPEN | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            # A writer holds the lock of its file as long as it lives.
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        except OSError:
            continue
        finally:
            os.close(handle)


def _temporary(folder: Path) -> tuple[Path, BinaryIO]:
    """A new file with its lock."""
    while True:
        path = folder / f".humans-sim.{uuid.uuid4().hex}.part"
        stream = path.open("xb")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX)
        except OSError:  # a file system without locks: nothing there is removed
            return path, stream
        if os.fstat(stream.fileno()).st_nlink:
            return path, stream
        stream.close()  # another writer removed it before it was locked


def _write_fault(fault: BaseException | None) -> OSError | None:
    """The failure to write behind an exception; libraries raise others after it."""
    while isinstance(fault, (OSError, ValueError, RuntimeError)):
        if isinstance(fault, HumansError):
            return None
        if isinstance(fault, OSError):
            return fault
        fault = fault.__cause__ or fault.__context__
    return None


def check_ending(what: str, path: Path, endings: Iterable[str]) -> str:
    """The ending of a file for something, in small letters; refuse any other one."""
    ending, allowed = path.suffix.lower(), tuple(endings)
    if ending not in allowed:
        raise ParameterError(
            f"{what} is written to {', '.join(allowed)}, not to '{path.name}'"
        )
    return ending


def check_output_file(
    path: Path, suffixes: Sequence[str], replace: bool = True
) -> None:
    """Refuse a file that cannot be written, or has none of the suffixes."""
    _check_name(path)
    if path.suffix.lower() not in suffixes:
        *others, last = suffixes
        allowed = f"{', '.join(others)} or {last}" if others else last
        raise ParameterError(f"'{path}' ends in '{path.suffix}': {allowed} is written")
    if path.is_dir():
        raise ParameterError(f"{path} is a folder: give a file")
    if path.exists():
        if not path.is_file():
            raise ParameterError(f"{path} is no ordinary file, which it would become")
        if not replace:
            raise ParameterError(
                f"{path} is there already (--overwrite writes over it)"
            )
    _check_writable(path, path.parent)


def check_output_folder(path: Path) -> None:
    """Refuse a folder of results that can neither be made nor written to."""
    _check_name(path)
    if path.exists() and not path.is_dir():
        raise ParameterError(f"{path} is a file: results must go to a folder")
    _check_writable(path, path if path.is_dir() else path.absolute().parent)


def make_output_folder(path: Path) -> bool:
    """Make a folder of results; whether it was not there."""
    check_output_folder(path)
    if path.is_dir():
        return False
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror}") from None
    return True


def _check_name(path: Path) -> None:
    """Refuse names that no file can have, and those that may not be looked at."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParameterError(f"{printable(path)}: {reason}") from None


def _check_writable(path: Path, folder: Path) -> None:
    if not folder.is_dir():
        raise ParameterError(f"{path}: there is no folder {folder}: make it first")
    try:
        # Rights alone are not enough: a device may be read-only or full of files.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ParameterError(
            f"{path}: nothing can be written to {folder}: {error.strerror}"
        ) from None
