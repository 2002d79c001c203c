"""What can be wrong with a file of markers."""

from __future__ import annotations

from pathlib import Path

from humans_sim.errors import HumansError


class MarkerFileError(HumansError, ValueError):
    """A file of markers, or of what was made of them, cannot be read.

    Attributes:
        path: the file, or None where the text came from memory.
        line: line of the fault, counted from 1, or None where there are no lines.
        key: the parameter or the byte at fault (C3D), or None.
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
        where = "" if path is None else f"{path}:"
        if line is not None:
            where += f"{line}:" if where else f"line {line}:"
        if key:
            where += f" {key}:" if where else f"{key}:"
        super().__init__(f"{where} {message}".strip())
