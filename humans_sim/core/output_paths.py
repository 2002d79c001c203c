# SPDX-License-Identifier: Apache-2.0
"""Whether a result can be written where it is wanted: asked before the work is done.

One rule for every command: the folder of a file has to be there; a folder of results is
made in one that is there, which is said. Nothing is left behind by asking.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from humans_sim.core.errors import ParameterError, printable


def check_output_file(
    path: Path, suffixes: Sequence[str], replace: bool = True
) -> None:
    """Refuse a file that cannot be written.

    Args:
        path: the file.
        suffixes: allowed endings, in lower case with their dots.
        replace: whether it may be there already.

    Raises:
        ParameterError: it ends otherwise, is there, is a folder or something else that
            is no file, or its folder is not there or cannot be written.
    """
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
    """Refuse a folder of results that can neither be made nor written to.

    Raises:
        ParameterError: it is a file, or the folder above it is not there, or nothing
            can be written there.
    """
    _check_name(path)
    if path.exists() and not path.is_dir():
        raise ParameterError(f"{path} is a file: a folder is wanted for the results")
    _check_writable(path, path if path.is_dir() else path.absolute().parent)


def make_output_folder(path: Path) -> bool:
    """Make a folder of results; whether it was not there.

    Raises:
        ParameterError: it cannot be made.
    """
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
