# SPDX-License-Identifier: Apache-2.0
"""The last step of every reader: from text and columns to a checked trial.

Units and axes of laboratories become metres, z up.

*Times* of samples without the rounding of the print. A file at 60 Hz that prints
milliseconds has 0.017, 0.033, 0.050: 17, 16 and 17 ms. Differences of such times are
off by 4 %, and accelerations by twice that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np

from humans_sim.core.arrays import by_rows
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import read_bytes, read_text
from humans_sim.models.points import ROS_FROM_HUMANS
from humans_sim.observation.markers.trial import MarkerFileError, MarkerTrial

METRES = {
    "mm": 1e-3,
    "millimeters": 1e-3,
    "millimetres": 1e-3,
    "cm": 1e-2,
    "centimeters": 1e-2,
    "centimetres": 1e-2,
    "dm": 1e-1,
    "m": 1.0,
    "meters": 1.0,
    "metres": 1.0,
    "in": 0.0254,
    "inches": 0.0254,
    "ft": 0.3048,
    "feet": 0.3048,
}
"""Length of each unit [m], by the words that files use, in small letters."""

_Z_UP_FROM = {
    "x": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "-x": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]]),
    "y": ROS_FROM_HUMANS,
    "-y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "z": np.eye(3),
    "-z": np.diag([1.0, -1.0, -1.0]),
}

UP_AXES = tuple(_Z_UP_FROM)
"""The axes that can point up."""


def check_up(up: str) -> str:
    """The word for an up axis, if it is one; else a ParameterError."""
    if up not in _Z_UP_FROM:
        raise ParameterError(f"no axis '{up}' can be up: one of {', '.join(UP_AXES)}")
    return up


def check_units(units: str) -> str:
    """The word for a unit of length in small letters; ParameterError for another."""
    word = units.strip().lower()
    if word not in METRES:
        raise ParameterError(
            f"the unit of length '{units[:40]}' is not known: one of "
            f"{', '.join(METRES)}"
        )
    return word


def full_units(word: str) -> str:
    """The word for a unit of length that a file cut to four letters, as ``mete``."""
    short = word.strip().lower()
    if short in METRES or len(short) < 4:
        return word
    return next((unit for unit in METRES if unit.startswith(short)), word)


def to_z_up(vectors: np.ndarray, up: str) -> np.ndarray:
    """Vectors (..., 3) on axes with ``up`` upwards, on axes with z upwards."""
    return np.asarray(vectors @ _Z_UP_FROM[check_up(up)].T)


def from_z_up(vectors: np.ndarray, up: str) -> np.ndarray:
    """Vectors (..., 3) on axes with z upwards, on axes with ``up`` upwards."""
    return np.asarray(vectors @ _Z_UP_FROM[check_up(up)])


def axis_vector(axis: str) -> np.ndarray:
    """Unit vector along one of :data:`UP_AXES` (3,)."""
    return np.eye(3)["xyz".index(axis[-1])] * (-1.0 if axis.startswith("-") else 1.0)


def nearest_axis(vector: np.ndarray, cosine: float) -> str:
    """The axis along a vector (3,), to the cosine of an angle; empty: none of them."""
    length = float(np.linalg.norm(vector))
    k = int(np.argmax(np.abs(vector)))
    if not length > 0 or abs(vector[k]) < cosine * length:
        return ""
    return ("-" if vector[k] < 0 else "") + "xyz"[k]


def tallest_axis(positions: np.ndarray) -> str:
    """The axis along which markers (n, m, 3) lie furthest apart: a standing person's.

    ``x``, ``y`` or ``z``; ``z`` where the markers do not show it.
    """
    present = ~np.isnan(positions)
    counts = present.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # of a damaged file
        means = np.where(present, positions, 0.0).sum(axis=0) / np.maximum(counts, 1)
        means = means[counts.all(axis=1)]
        if len(means) < 2:
            return "z"
        return "zyx"[int(np.argmax(means.std(axis=0)[::-1]))]


FARTHEST = 1e4
"""No marker is further from the origin of a laboratory [m]."""
LOWEST_RATE, HIGHEST_RATE = 1e-3, 1e6
"""Rates of sampling outside are taken for mistakes [Hz]."""


@dataclass(frozen=True)
class ReadOptions:
    """Options that overrule the file; None: as the file says.

    Attributes:
        up: axis that points up.
        units: of the positions.
        rate: samples a second [Hz].
    """

    up: str | None = None
    units: str | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        """Check the words: ParameterError where one cannot be used."""
        if self.up is not None:
            check_up(self.up)
        if self.units is not None:
            check_units(self.units)
        if self.rate is not None and not LOWEST_RATE <= self.rate <= HIGHEST_RATE:
            raise ParameterError(
                f"a rate of {self.rate} Hz cannot be: it lies from {LOWEST_RATE:g} to "
                f"{HIGHEST_RATE:g} Hz"
            )


def length_of(
    word: str, options: ReadOptions, error: Callable[[str], MarkerFileError]
) -> float:
    """Length of the unit of a file [m], or of the one that the caller gave."""
    try:
        return METRES[check_units(word if options.units is None else options.units)]
    except ParameterError as fault:
        raise error(f"{fault}; or give units") from fault


def check_rate(rate: float, error: Callable[[str], MarkerFileError]) -> float:
    """A rate that a file gives, if it can be one [Hz]."""
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise error(
            f"a rate of {rate:g} Hz cannot be: it lies from {LOWEST_RATE:g} to "
            f"{HIGHEST_RATE:g} Hz; or give rate"
        )
    return rate


def make_trial(
    path: Path,
    names: tuple[str, ...],
    times: np.ndarray,
    positions: np.ndarray,
    frames: np.ndarray,
    *,
    up: str,
    error: Callable[[str, int], MarkerFileError],
    residuals: np.ndarray | None = None,
) -> MarkerTrial:
    """A trial, z up, once every position is whole and near.

    Positions (n, m, 3) [m] are on the axes of the file, NaN where missing; residuals
    (n, m) [m] are the cameras'. ``error`` makes an error that points at a row.
    """
    lacking = by_rows(lambda p: np.isnan(p).sum(axis=2, dtype=np.uint8), positions)
    partial = np.argwhere((lacking > 0) & (lacking < 3))
    if partial.size:
        row, column = partial[0].tolist()
        raise error(
            f"the marker '{names[column]}' lacks some of its three coordinates: a "
            "marker that was not seen lacks all",
            row,
        )
    with np.errstate(invalid="ignore"):
        far = np.argwhere(by_rows(lambda p: np.abs(p) > FARTHEST, positions))
    if far.size:
        row, column, axis = far[0].tolist()
        raise error(
            f"the marker '{names[column]}' is {abs(positions[row, column, axis]):g} m "
            "away: check the file and its units",
            row,
        )
    return MarkerTrial(
        names,
        times,
        by_rows(lambda p: to_z_up(p, up), positions),
        frames,
        camera_residuals=residuals,
        source=path,
    )


def numbered_names(
    labels: Sequence[str], word: str, note: Callable[[str], None]
) -> tuple[str, ...]:
    """Labels as names; one that stands again gets a number, as ``RANK_2``.

    An empty label is called after its column, by a word such as marker. A note is made
    of labels that stand more than once.
    """
    names: list[str] = []
    again: list[str] = []
    seen = set(labels)
    counts: dict[str, int] = {}
    for column, label in enumerate(labels, start=1):
        name = label or f"unnamed{column}"
        if label and label in counts or not label and name in seen:
            again.append(name)
            number = counts.get(name, 1) + 1
            while f"{name}_{number}" in seen:
                number += 1
            counts[name] = number
            name = f"{name}_{number}"
        else:
            counts[name] = 1
        seen.add(name)
        names.append(name)
    if again:
        shown = ", ".join(f"'{name[:40]}'" for name in dict.fromkeys(again[:5]))
        note(
            f"{len(again)} {word}s have the label of another and get a number: {shown}"
        )
    return tuple(names)


LARGEST_FILE = 1 << 30
"""Files above this size are refused [bytes]; an hour of 100 markers at 100 Hz needs a
third of it as text."""
LARGEST_FRAME = 2**32 - 1
"""What the ROS message of a frame can hold."""


def read_marker_bytes(path: Path) -> bytes:
    """Content of a regular file that is neither empty nor absurdly large."""
    data = read_bytes(path, MarkerFileError, LARGEST_FILE)
    if not data:
        raise MarkerFileError("the file is empty", path)
    return data


def read_lines(path: Path) -> list[str]:
    """Lines of a UTF-8 text file without their ends; a last empty one is dropped."""
    text = read_text(path, MarkerFileError, LARGEST_FILE)
    if not text:
        raise MarkerFileError("the file is empty", path)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def table_end(lines: Sequence[str], first: int) -> int:
    """Number of the line after the last one that is not blank, from one on."""
    last = len(lines)
    while last > first and not lines[last - 1].strip():
        last -= 1
    return last


class NumberTable:
    """Rows of numbers that know which lines of the file they stand on."""

    def __init__(self, path: Path, width: int) -> None:
        """An empty table of ``width`` columns."""
        self._path, self._width = path, width
        self._rows: list[np.ndarray] = []
        self.lines: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    def error(self, message: str, row: int) -> MarkerFileError:
        """An error that points at the line of a row."""
        return MarkerFileError(message, self._path, self.lines[row])

    def add(self, fields: list[str], line: int) -> None:
        """Add the fields of a line, stripped; an empty field is NaN."""
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
                if "_" in field:  # Python reads 1_0 as 10
                    raise ValueError
            except ValueError:
                message = f"column {column + 1}: {field[:40]!r} is no number"
                raise MarkerFileError(message, self._path, line) from None
        self._rows.append(row)
        self.lines.append(line)

    def numbers(self) -> np.ndarray:
        """All rows (n, width); none is infinite."""
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


_MOST_DIGITS = 300
_LARGEST_SHARE = 0.999
"""Rounding moves a time by half a digit to either side, a skipped frame by one."""
_ROUND = (100, 60, 50, 10, 5, 1)
"""Rates of cameras and plates are multiples of these, tried in this order [Hz]."""


def even_times(
    times: np.ndarray, texts: Sequence[str], rate: float | None
) -> np.ndarray | None:
    """Multiples of the sampling period, where the times are these but for rounding.

    Zeros at the end of all times, as printed, are padding: 0.017000 has three digits.
    The file may say a rate [Hz]; else the roundest number of hertz that agrees with the
    times is taken. None where the samples are not even.
    """
    if len(times) < 2:
        return None
    if rate is None:
        mean = (len(times) - 1) / (times[-1] - times[0])
        rates = [float(step * np.rint(mean / step)) for step in _ROUND]
    else:
        rates = [rate]
    digits = 0  # decimals, without zeros at the end
    for text in texts:
        exponent = Decimal(text).normalize().as_tuple().exponent
        digits = max(digits, -exponent if isinstance(exponent, int) else 0)
    digit = 10.0 ** -min(digits, _MOST_DIGITS)
    for candidate in rates:
        if candidate > 0:
            even: np.ndarray = times[0] + np.arange(len(times)) / candidate
            if np.ptp(times - even) < _LARGEST_SHARE * digit:
                return even
    return None
