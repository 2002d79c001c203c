# SPDX-License-Identifier: Apache-2.0
"""C3D, the binary format of most motion-capture systems.

The reader is our own, because a file from elsewhere must never end the process: of 600
files damaged at random, ezc3d 1.7 crashed on 36 (segmentation fault), did not come back
from 5 within 5 s, and it reads files whose data were cut off without a word. What we
need of the format is small, and is checked against the size of the file first. ezc3d
writes the files, and reads them beside us in the tests.
"""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.core.files import atomic_stream
from humans_sim.observation.markers.assemble import (
    ReadOptions,
    check_rate,
    distinct_names,
    length_of,
    make_trial,
)
from humans_sim.observation.markers.axes import (
    METRES,
    UP_AXES,
    check_units,
    from_z_up,
)
from humans_sim.observation.markers.c3d_parameters import BLOCK, C3dHead
from humans_sim.observation.markers.errors import MarkerFileError
from humans_sim.observation.markers.ezc3d_module import ezc3d_module
from humans_sim.observation.markers.text_file import read_marker_bytes
from humans_sim.observation.markers.trial import MarkerTrial

UP = "z"
UNITS = "mm"
"""Axis and units where a file says nothing."""
_MOST = 0xFFFF
"""What a 16-bit count shows when the true one is larger."""
_NO_MARKERS = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS", "REACTIONS")
"""Parameters of POINT that list columns which are no positions."""
_SCREEN = {"x": "y", "y": "z", "z": "x"}
"""An axis that can lie to the right of a screen whose upward axis is given."""


def read_c3d(path: Path, options: ReadOptions) -> MarkerTrial:
    """Read the markers of a C3D file; what is no marker (angles, forces) is left out.

    Times begin at 0 with the first frame stored. A marker was not seen where its
    residual is negative or its coordinates are no numbers.

    Args:
        path: the file.
        options: axis, units and rate, where the caller knows better.

    Raises:
        MarkerFileError: it is no sound C3D file.
    """
    data = read_marker_bytes(path)
    head = C3dHead(path, data)

    def at_row(message: str, row: int) -> MarkerFileError:
        return head.error(message, f"frame {first + row}")

    def at(parameter: str, message: str) -> MarkerFileError:
        return head.error(message, parameter)

    unit = length_of(
        head.text("POINT:UNITS") or UNITS, options, lambda text: at("POINT:UNITS", text)
    )
    rate, up = options.rate, options.up
    if rate is None:
        rate = check_rate(
            _needed(head, "POINT:RATE"), lambda text: at("POINT:RATE", text)
        )
    if up is None:
        up = _up(head)
    labels = _labels(head)
    first, count = _frames(head)
    values, scale = _points(head, data, count)
    other = {label for kind in _NO_MARKERS for label in head.texts(f"POINT:{kind}")}
    kept = [k for k, label in enumerate(labels) if not label or label not in other]
    if not kept:
        raise head.error("the file holds no markers", "POINT:USED")
    names = distinct_names(
        [labels[k] for k in kept], lambda text: at("POINT:LABELS", text)
    )
    values = values[:, kept]
    positions = values[:, :, :3] * unit
    residuals = _residuals(values[:, :, 3], scale, unit)
    positions[np.isnan(residuals)] = np.nan
    if np.isinf(positions).any():
        row = int(np.argwhere(np.isinf(positions))[0, 0])
        raise at_row("a coordinate is infinite", row)
    residuals[np.isnan(positions).any(axis=2)] = np.nan
    return make_trial(
        path,
        names,
        np.arange(count) / rate,
        positions,
        first + np.arange(count),
        up=up,
        error=at_row,
        residuals=residuals,
    )


def _single(head: C3dHead, name: str) -> float | None:
    numbers = head.numbers(name)
    return None if numbers is None else float(numbers[0])


def _needed(head: C3dHead, name: str) -> float:
    number = _single(head, name)
    if number is None:
        raise head.error("this parameter is missing", name)
    return number


def _up(head: C3dHead) -> str:
    """The axis that the file shows upwards on a screen."""
    word = head.text("POINT:Y_SCREEN").lower().lstrip("+") or UP
    if word not in UP_AXES:
        raise head.error(
            f"'{word[:40]}' is no axis: give up, one of {', '.join(UP_AXES)}",
            "POINT:Y_SCREEN",
        )
    return word


def _labels(head: C3dHead) -> list[str]:
    """A label for each point; empty where the file has none."""
    used = _needed(head, "POINT:USED")
    if used not in (head.points, head.points - _MOST - 1):
        raise head.error(
            f"{used:g} points, but the header says {head.points}", "POINT:USED"
        )
    if head.points == 0:
        raise head.error("the file holds no markers", "POINT:USED")
    labels = head.texts("POINT:LABELS")[: head.points]
    return labels + [""] * (head.points - len(labels))


def _frames(head: C3dHead) -> tuple[int, int]:
    """Number of the first frame, and how many there are.

    The header counts with 16 bits; longer trials have TRIAL:ACTUAL_START_FIELD and
    TRIAL:ACTUAL_END_FIELD, two words each, or POINT:FRAMES as a real.
    """
    first, last = head.first_frame, head.last_frame
    starts = head.numbers("TRIAL:ACTUAL_START_FIELD")
    ends = head.numbers("TRIAL:ACTUAL_END_FIELD")
    said = _single(head, "POINT:FRAMES")
    if starts is not None and ends is not None and len(starts) == len(ends) == 2:
        first, last = (
            int(words[0]) % (_MOST + 1) + (int(words[1]) % (_MOST + 1) << 16)
            for words in (starts, ends)
        )
    elif last == _MOST and said is not None and math.isfinite(said):
        last = first + int(said) % (1 << 32 if said > _MOST else _MOST + 1) - 1
    count = last - first + 1
    if count < 1:
        raise head.error(f"frames from {first} to {last}: there are none", 6)
    if said is not None and min(count, _MOST) != (
        min(said, _MOST) if said >= 0 else said + _MOST + 1
    ):
        raise head.error(
            f"{said:g} frames, but they are numbered from {first} to {last}",
            "POINT:FRAMES",
        )
    return first, count


def _points(head: C3dHead, data: bytes, count: int) -> tuple[np.ndarray, float]:
    """All points (count, points, 4) in the file's units, and the scale of residuals.

    The fourth column is the word of residual and cameras.
    """
    scale = _needed(head, "POINT:SCALE")
    if not math.isfinite(scale) or scale == 0.0:
        raise head.error(f"a scale of {scale:g} cannot be", "POINT:SCALE")
    size = 4 if scale < 0 else 2
    width = 4 * head.points + head.analog
    begin = (head.data_block - 1) * BLOCK
    needed, present = count * width * size, max(len(data) - begin, 0)
    if begin < BLOCK or needed > present:
        raise head.error(
            f"{count} frames of {head.points} points and {head.analog} analogue values "
            f"take {needed} bytes from byte {begin} on, but {present} are there",
            begin,
        )
    words = np.frombuffer(data, np.uint8, needed, begin).reshape(count, width * size)
    words = np.ascontiguousarray(words[:, : 4 * head.points * size])
    raw = words.tobytes()
    with np.errstate(all="ignore"):  # damaged reals; they are looked at later
        values = head.reals(raw) if scale < 0 else head.integers(raw).astype(float)
        values = values.reshape(count, head.points, 4)
        if scale > 0:
            values[:, :, :3] *= scale
    return values, abs(scale)


def _residuals(words: np.ndarray, scale: float, unit: float) -> np.ndarray:
    """Residuals of the cameras [m]; NaN where a marker was not seen.

    The low byte of the word counts in units of the scale, the high byte has a bit for
    each camera; the whole is negative where no camera saw the marker.
    """
    seen = np.isfinite(words) & (words >= 0) & (words <= 0x7FFF)
    low = np.where(seen, words, 0.0).astype(np.int64) & 0xFF
    residuals: np.ndarray = np.where(seen, low * scale * unit, np.nan)
    return residuals


def write_c3d(
    trial: MarkerTrial, path: Path | str, *, up: str = UP, units: str = UNITS
) -> Path:
    """Write a trial as C3D; its reals keep seven digits.

    Args:
        trial: what to write.
        path: the file; written whole or not at all.
        up: axis that shall point up in the file; it is noted there.
        units: of the file.

    Returns:
        The path.

    Raises:
        ParameterError: the trial has one sample, too many markers or frames for a C3D
            file, or a name that cannot stand there.
    """
    ezc3d = ezc3d_module()  # takes long to load, and readers do not need it

    path, units, count = Path(path), check_units(units), len(trial)
    if count < 2:
        raise ParameterError("a trial of one sample has no rate to write as C3D")
    if len(trial.names) > 255 or count >= _MOST:
        raise ParameterError(
            f"{count} samples of {len(trial.names)} markers are too many for one C3D "
            f"file: up to {_MOST - 1} of 255"
        )
    for name in trial.names:
        if not name or name != name.strip() or len(name) > 127 or not name.isascii():
            raise ParameterError(f"a marker called {name!r} cannot be written as C3D")
    points = np.ones((4, len(trial.names), count))
    points[:3] = from_z_up(trial.positions, up).transpose(2, 1, 0) / METRES[units]
    residuals = np.where(trial.occluded, -1.0, 0.0).T[None]
    points[:3, trial.occluded.T] = 0.0
    file = ezc3d.c3d()
    file["parameters"]["POINT"]["RATE"]["value"] = [trial.rate]
    file["parameters"]["POINT"]["UNITS"]["value"] = [units]
    file["parameters"]["POINT"]["LABELS"]["value"] = list(trial.names)
    sign, axis = ("-", up[1]) if up.startswith("-") else ("+", up)
    file.add_parameter("POINT", "X_SCREEN", f"+{_SCREEN[axis].upper()}")
    file.add_parameter("POINT", "Y_SCREEN", f"{sign}{axis.upper()}")
    file["data"]["points"] = points
    file["data"]["meta_points"]["residuals"] = residuals
    with TemporaryDirectory() as folder:
        written = Path(folder) / "trial.c3d"
        file.write(str(written))
        content = written.read_bytes()
    with atomic_stream(path) as stream:
        stream.write(content)
    return path
