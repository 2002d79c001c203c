# SPDX-License-Identifier: Apache-2.0
"""Text of marker files: read whole, checked, and taken apart into numbers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from humans_sim.core.files import read_bytes, read_text
from humans_sim.observation.markers.errors import MarkerFileError

LARGEST_FILE = 1 << 30
"""Files above this size are refused [bytes]; an hour of 100 markers at 100 Hz needs a
third of it as text."""
LARGEST_FRAME = 2**32 - 1
"""What the ROS message of a frame can hold."""


def read_marker_bytes(path: Path) -> bytes:
    """Content of a regular file that is neither empty nor absurdly large.

    Raises:
        MarkerFileError: it cannot be read.
    """
    data = read_bytes(path, MarkerFileError, LARGEST_FILE)
    if not data:
        raise MarkerFileError("the file is empty", path)
    return data


def read_lines(path: Path) -> list[str]:
    """Lines of a UTF-8 text file without their ends; a last empty one is dropped.

    Raises:
        MarkerFileError: it cannot be read, or is no UTF-8 text.
    """
    text = read_text(path, MarkerFileError, LARGEST_FILE)
    if not text:
        raise MarkerFileError("the file is empty", path)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


class NumberTable:
    """Rows of numbers that know which lines of the file they stand on."""

    def __init__(self, path: Path, width: int) -> None:
        """An empty table of ``width`` columns."""
        self._path = path
        self._width = width
        self._rows: list[np.ndarray] = []
        self.lines: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    def error(self, message: str, row: int) -> MarkerFileError:
        """An error that points at the line of a row."""
        return MarkerFileError(message, self._path, self.lines[row])

    def add(self, fields: list[str], line: int) -> None:
        """Add the fields of a line, stripped; an empty field is NaN.

        Raises:
            MarkerFileError: their number is wrong, or one is no number.
        """
        extra = fields[self._width :]
        if len(fields) < self._width or any(extra):
            raise MarkerFileError(
                f"the line has {len(fields)} columns, not {self._width}",
                self._path,
                line,
            )
        row = np.empty(self._width)
        for column, field in enumerate(fields[: self._width]):
            try:
                row[column] = float(field) if field else math.nan
            except ValueError:
                raise self._no_number(field, column, line) from None
            if "_" in field:  # Python reads 1_0 as 10
                raise self._no_number(field, column, line)
        self._rows.append(row)
        self.lines.append(line)

    def _no_number(self, field: str, column: int, line: int) -> MarkerFileError:
        message = f"column {column + 1}: {field[:40]!r} is no number"
        return MarkerFileError(message, self._path, line)

    def numbers(self) -> np.ndarray:
        """All rows (n, width); none is infinite.

        Raises:
            MarkerFileError: there are no rows, or a number is infinite.
        """
        if not self._rows:
            raise MarkerFileError("the file holds no samples", self._path)
        values = np.array(self._rows)
        bad = np.argwhere(np.isinf(values))
        if bad.size:
            row, column = bad[0].tolist()
            raise self.error(f"column {column + 1}: the number is infinite", row)
        return values

    def frames(self, values: np.ndarray) -> np.ndarray:
        """A column as frame numbers (n,): whole, not negative, growing."""
        whole = (values >= 0) & (values <= LARGEST_FRAME) & (values == np.rint(values))
        if not whole.all():
            row = int(np.argmin(whole))
            raise self.error(f"{values[row]:g} is no number of a frame", row)
        self.check_growing(values, "the number of the frame")
        return values.astype(np.int64)

    def check_growing(self, values: np.ndarray, word: str) -> None:
        """Check that a column is finite and grows from row to row."""
        if np.isnan(values).any():
            row = int(np.argmax(np.isnan(values)))
            raise self.error(f"{word} is missing", row)
        steps = np.diff(values)
        if (steps <= 0).any():
            row = int(np.argmax(steps <= 0)) + 1
            raise self.error(
                f"{word} is {values[row]:g} after {values[row - 1]:g}: it must grow",
                row,
            )
