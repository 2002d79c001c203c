# SPDX-License-Identifier: Apache-2.0
"""Motion files: poses of 24 channels, each with the speed step that leads to it.

A CSV file with the header ``position,speed,ch1,...,ch24``; one line a pose. Positions
count from 0; speed steps are 0 (fast) to 7 (slow); a channel holds degrees, 0 to 180,
or :data:`UNUSED`.

Motions have names: those of the package, or files of one's own.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from humans_sim.core.constants import SPEED_STEPS
from humans_sim.core.errors import FileError, ParameterError
from humans_sim.core.files import read_text, write_atomically
from humans_sim.core.resources import resource

CHANNELS = 24
"""Two RCB-1 boards of twelve."""
UNUSED = 225
"""A channel without a servo (the board's E1: output low)."""
LARGEST = 180
"""Degrees of a channel (the board's B4)."""
POSES = 100
"""Poses that the board keeps of one motion."""
_LARGEST_FILE = 1 << 20
"""A longer file is no motion [bytes]."""
_DIGITS = 9
HEADER = ("position", "speed", *(f"ch{k}" for k in range(1, CHANNELS + 1)))


class MotionFileError(FileError):
    """A motion, or the file of one, is malformed."""


@dataclass(frozen=True)
class Pose:
    """Where all channels go, and how fast.

    Attributes:
        speed: speed step towards this pose, 0 (fast) to 7 (slow).
        channels: 24 angles [deg], or :data:`UNUSED`.
    """

    speed: int
    channels: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse what the board would not take."""
        if self.speed not in range(len(SPEED_STEPS)):
            raise MotionFileError(f"the speed step must be 0 to 7, not {self.speed}")
        if len(self.channels) != CHANNELS:
            raise MotionFileError(
                f"{CHANNELS} channels must be given, not {len(self.channels)}"
            )
        for number, value in enumerate(self.channels, 1):
            if value != UNUSED and value not in range(LARGEST + 1):
                raise MotionFileError(
                    f"ch{number} must be 0 to {LARGEST}, or {UNUSED} where unused, "
                    f"not {value}"
                )


@dataclass(frozen=True)
class KondoMotion:
    """A named list of poses.

    Attributes:
        name: of the motion.
        poses: in their order.
    """

    name: str
    poses: tuple[Pose, ...]

    def __post_init__(self) -> None:
        """Refuse a motion without poses, or with more than the board keeps."""
        if not 1 <= len(self.poses) <= POSES:
            raise MotionFileError(
                f"a motion has 1 to {POSES} poses, not {len(self.poses)}"
            )


def read_motion(path: Path | str) -> KondoMotion:
    """Read a motion file; its name is the file's.

    Args:
        path: of the file (``.csv``).

    Raises:
        MotionFileError: the file is missing or not a motion; with the line.
    """
    path = Path(path)
    text = read_text(path, MotionFileError, _LARGEST_FILE)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise MotionFileError(f"cannot read the file: {error}", path) from error
    if not rows or tuple(rows[0]) != HEADER:
        header = f"{','.join(HEADER[:3])},...,{HEADER[-1]}"
        raise MotionFileError(f"the header must be {header}", path, 1)
    poses: list[Pose] = []
    for line, row in enumerate(rows[1:], 2):
        try:
            poses.append(_pose(row, len(poses)))
        except MotionFileError as error:
            raise MotionFileError(str(error), path, line) from None
    try:
        return KondoMotion(path.stem, tuple(poses))
    except MotionFileError as error:
        raise MotionFileError(str(error), path) from None


def _pose(row: list[str], position: int) -> Pose:
    if len(row) != len(HEADER):
        raise MotionFileError(f"must be {len(HEADER)} numbers, not {len(row)}")
    for name, text in zip(HEADER, row, strict=True):
        if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
            raise MotionFileError(f"{name} must be a whole number, not '{text[:40]}'")
    number, speed, *channels = map(int, row)
    if number != position:
        raise MotionFileError(f"must be position {position}, not {number}")
    return Pose(speed, tuple(channels))


def write_motion(motion: KondoMotion, path: Path | str) -> Path:
    """Write a motion as a file that :func:`read_motion` reads; returns its path."""
    path = Path(path)
    lines = [",".join(HEADER)]
    for position, pose in enumerate(motion.poses):
        lines.append(",".join(map(str, (position, pose.speed, *pose.channels))))
    write_atomically(path, "\n".join(lines) + "\n")
    return path


def load_motion(name: str) -> KondoMotion:
    """A motion of ``config/motions`` by its name, or the path of a .csv file.

    Raises:
        ParameterError: no motion has that name.
        MotionFileError: the file is no motion.
    """
    if Path(name).suffix == ".csv":
        return read_motion(Path(name).expanduser())
    known = sorted(path.stem for path in resource("config", "motions").glob("*.csv"))
    if name not in known:
        raise ParameterError(
            f"no motion is called '{name}' (there are: {', '.join(known)}; or give the "
            "path of a .csv file)"
        )
    return read_motion(resource("config", "motions", f"{name}.csv"))
