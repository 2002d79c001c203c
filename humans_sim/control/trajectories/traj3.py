# SPDX-License-Identifier: Apache-2.0
"""Files of trajectories, ``.traj3`` (manual section 8.2.2).

Text with three blocks, each below its label. The layout of the blocks is assumed, the
manual's figure being lost; numbers of the second block may stand on several lines::

    Nombre de points
    3
    Temps et contacts
    0.0 1 2.0
    Coordonnees points
    0.0 0.0 0.5
    0.1 0.2 0.5
    0.0 0.4 0.5

The number of positions n; times of stable positions [s] and contact codes of
intermediate ones, alternating; n lines, a position each. Blank lines do not count.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from humans_sim.control.trajectories.trajectory import Trajectory, TrajectoryError
from humans_sim.core.errors import FileError
from humans_sim.core.files import read_text, write_atomically

_COUNT, _DATA, _POINTS = LABELS = (
    "Nombre de points",
    "Temps et contacts",
    "Coordonnees points",
)
"""The labels of the blocks, in order."""
_DIGITS = 9


class TrajectoryFileError(FileError):
    """A trajectory file is malformed or cannot be read."""


def write_traj3(path: Path | str, trajectory: Trajectory) -> Path:
    """Write a trajectory; reading it gives the same numbers to the last bit.

    Args:
        path: of the file.
        trajectory: to write.
    """
    lines = [_COUNT, str(len(trajectory.positions)), _DATA]
    lines.append(" ".join(_text(number) for number in trajectory.data))
    lines.append(_POINTS)
    lines += [
        " ".join(_text(number) for number in row)
        for row in trajectory.positions.tolist()
    ]
    path = Path(path)
    write_atomically(path, "\n".join(lines) + "\n")
    return path


def read_traj3(path: Path | str, size: int | None = None) -> Trajectory:
    """Read a trajectory.

    Args:
        path: the file.
        size: number of coordinates a position must have (21 for Bip), if given.

    Raises:
        TrajectoryFileError: no such file, or it is malformed.
    """
    path = Path(path)
    blocks = _blocks(path)
    label_lines = {label: block[0] for label, block in blocks.items()}
    count = _count(path, *blocks[_COUNT])
    data, data_lines = [], []
    for line, words in blocks[_DATA][1]:
        for word in words:
            data.append(_number(path, line, word))
            data_lines.append(line)
    if len(data) != count:
        at = data_lines[-1] if data else label_lines[_DATA]
        message = f"'{_DATA}' holds {len(data)} numbers, not {count}"
        raise TrajectoryFileError(message, path, at)
    rows = blocks[_POINTS][1]
    if len(rows) != count:
        at = rows[-1][0] if rows else label_lines[_POINTS]
        message = f"'{_POINTS}' holds {len(rows)} lines, not {count}"
        raise TrajectoryFileError(message, path, at)
    width = len(rows[0][1]) if size is None else size
    points = []
    for line, words in rows:
        if len(words) != width:
            message = f"a position has {width} coordinates, this line {len(words)}"
            raise TrajectoryFileError(message, path, line)
        points.append([_number(path, line, word) for word in words])
    try:
        return Trajectory.from_data(np.array(points), data)
    except TrajectoryError as error:
        at = label_lines[_COUNT] if error.point is None else data_lines[error.point]
        raise TrajectoryFileError(error.reason, path, at) from error


_Lines = list[tuple[int, list[str]]]


def _blocks(path: Path) -> dict[str, tuple[int, _Lines]]:
    """Line of each label, and the numbered lines of words below it."""
    text = read_text(path, TrajectoryFileError)
    blocks: dict[str, tuple[int, _Lines]] = {}
    lines: _Lines = []
    for i, content in enumerate(text.split("\n"), start=1):
        words = content.split()
        if not words:
            continue
        label = " ".join(words)
        if label[0].isalpha():
            expected = LABELS[len(blocks)] if len(blocks) < len(LABELS) else None
            if label != expected:
                hope = "only numbers are" if expected is None else f"'{expected}' is"
                message = f"'{label[:40]}' stands where {hope} wanted"
                raise TrajectoryFileError(message, path, i)
            lines = []
            blocks[label] = (i, lines)
        elif not blocks:
            message = f"the label '{_COUNT}' is wanted before any number"
            raise TrajectoryFileError(message, path, i)
        else:
            lines.append((i, words))
    if len(blocks) < len(LABELS):
        missing = LABELS[len(blocks)]
        raise TrajectoryFileError(f"the block '{missing}' is missing", path)
    return blocks


def _count(path: Path, label_line: int, lines: _Lines) -> int:
    """The number of positions."""
    words = [(line, word) for line, row in lines for word in row]
    if len(words) != 1:
        at = words[1][0] if words else label_line
        raise TrajectoryFileError(f"'{_COUNT}' holds one number", path, at)
    line, word = words[0]
    if not (word.isascii() and word.isdigit() and len(word) <= _DIGITS):
        raise TrajectoryFileError(
            f"'{word[:40]}' is not a number of points", path, line
        )
    return int(word)


def _number(path: Path, line: int, word: str) -> float:
    """A finite number."""
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in word:
        raise TrajectoryFileError(f"'{word[:40]}' is not a finite number", path, line)
    return value


def _text(number: float) -> str:
    """Shortest text that reads as the same number; codes stay integers."""
    return str(int(number)) if isinstance(number, int) else repr(number)
