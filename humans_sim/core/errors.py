# SPDX-License-Identifier: Apache-2.0
"""Typed errors: what was wrong, where, and what to do about it."""

from __future__ import annotations

from pathlib import Path


def printable(text: object, lines: bool = False) -> str:
    """Text that any terminal takes: names of files can hold anything.

    Args:
        text: what to print.
        lines: whether it may be of several lines; else they are put into one.
    """
    if lines:
        return "\n".join(_visible(line) for line in str(text).split("\n"))
    return _visible(str(text).strip())


def _visible(text: str) -> str:
    return "".join(
        sign
        if sign.isprintable()
        else " "
        if sign.isspace()
        else sign.encode("unicode_escape").decode("ascii")
        for sign in text
    )


LONGEST_MESSAGE = 2000
"""Characters of a message: texts of files stand in it."""
_LONGEST_KEY = 100


def cut_middle(text: str, length: int) -> str:
    """The text, or its beginning and end where it has more than ``length`` letters."""
    if len(text) <= length:
        return text
    half = (length - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


MALFORMED_CONTENT = (AttributeError, KeyError, OverflowError, TypeError, ValueError)
"""What content of a file raises that is used as if it were sound."""


class HumansError(Exception):
    """Parent of every error that humans_sim raises on purpose."""

    def __str__(self) -> str:
        """The message, at most :data:`LONGEST_MESSAGE` characters of it."""
        return cut_middle(super().__str__(), LONGEST_MESSAGE)


class ParameterError(HumansError, ValueError):
    """A parameter of a model or a function is out of its range."""


class UnknownModelError(HumansError, LookupError):
    """No model has that name, and no URDF lies at that path."""


class ConfigurationError(HumansError, ValueError):
    """A configuration, velocity or coordinate vector cannot be used."""


class FileError(HumansError, ValueError):
    """A file is malformed.

    Attributes:
        path: the file, or None where the text came from memory.
        line: line of the fault, counted from 1, or None where unknown.
        key: the key or element at fault, or None.
    """

    def __init__(
        self,
        message: str,
        path: str | Path | None = None,
        line: int | None = None,
        key: str | None = None,
    ) -> None:
        """Compose the message as ``path:line: key: message``."""
        self.path = None if path is None else Path(path)
        self.line = line
        self.key = key
        where = "" if path is None else f"{printable(path)}:"
        if line is not None:
            where += f"{line}:" if where else f"line {line}:"
        if key:
            shown = printable(cut_middle(key, _LONGEST_KEY))
            where += f" {shown}:" if where else f"{shown}:"
        super().__init__(f"{where} {printable(message)}".strip())


class FileWriteError(HumansError, OSError):
    """A file cannot be written; what was there before still is.

    Attributes:
        path: the file.
    """

    def __init__(self, message: str, path: str | Path) -> None:
        """Compose the message as ``path: message``."""
        self.path = Path(path)
        super().__init__(f"{printable(path)}: cannot write the file: {message}")


class ModelFileError(FileError):
    """A model file (YAML or URDF) is malformed."""


class ModelFileWarning(UserWarning):
    """A model file says something that its model leaves out."""


class MissingDependencyError(HumansError, ImportError):
    """An optional part of the software is not installed on this machine."""


class RunFileError(FileError):
    """A run file is missing, damaged or of another kind."""
