# SPDX-License-Identifier: Apache-2.0
"""TRC, the text format of Motion Analysis and OpenSim.

Five lines of header, tabs between columns::

    PathFileType  4  (X/Y/Z)  walk.trc
    DataRate  CameraRate  NumFrames  NumMarkers  Units  ...
    100.0     100.0       238        41          mm     ...
    Frame#  Time  R.Shoulder          L.Shoulder        ...
                  X1  Y1  Z1          X2  Y2  Z2        ...

then, after an empty line or not, one line a sample. The axes are those of OpenSim's
ground, y up, unless the caller says otherwise. A marker was not seen where its columns
are blank, say NaN (as OpenSim writes) or are all exactly zero (as cameras write).

*Force files* of OpenSim (``.mot``, ``.sto``): the ground on the feet. Each foot or
plate has columns ``..._vx``, ``..._vy``, ``..._vz`` for the force, ``..._px`` and so on
for the point at which it acts, and mostly a torque, in a column of the same name with
torque or moment for force.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.core.files import write_atomically
from humans_sim.observation.markers.assemble import (
    FARTHEST,
    LARGEST_FRAME,
    METRES,
    NumberTable,
    ReadOptions,
    check_rate,
    check_units,
    check_up,
    even_times,
    from_z_up,
    length_of,
    make_trial,
    numbered_names,
    read_lines,
    table_end,
    to_z_up,
)
from humans_sim.observation.markers.force_plate import LEAST_LOAD, GroundReaction
from humans_sim.observation.markers.trial import MarkerFileError, MarkerTrial

UP = "y"
"""The axis that points up where nothing else is said."""
_NEEDED = ("DataRate", "NumFrames", "NumMarkers", "Units")
_ORDER = re.compile(r"\(([XYZ]/[XYZ]/[XYZ])\)", re.I)
_RATE_TOLERANCE = 0.05
_RATE_OF_ONE_SAMPLE = 100.0


def read_trc(path: Path, options: ReadOptions) -> MarkerTrial:
    """Read a TRC file.

    The times are those of the file. Where they are only the multiples of the sampling
    period, rounded to the digits printed, the multiples themselves are taken, so that
    0.008, 0.017, 0.025 at 120 Hz are evenly spaced again.

    Raises:
        MarkerFileError: it is no sound TRC file.
    """
    lines = read_lines(path)
    header = _header(path, lines)

    at_values = partial(MarkerFileError, path=path, line=3)
    unit = length_of(header["Units"], options, at_values)
    rate = options.rate
    if rate is None:
        rate = check_rate(_number(path, header, "DataRate"), at_values)
    markers = _count(path, header, "NumMarkers")
    frames_said = _count(path, header, "NumFrames")
    notes: list[str] = []
    names = _names(path, lines[3], markers, notes)
    table, time_texts = _samples(path, lines, 2 + 3 * markers)
    if len(table) != frames_said:
        raise MarkerFileError(
            f"the header says {frames_said} frames, but {len(table)} follow", path, 3
        )
    values = table.numbers()
    frames = table.frames(values[:, 0])
    if options.rate is None:
        times = _times(table, values[:, 1], frames, time_texts, rate)
    else:
        times = np.arange(len(table)) / rate
    positions = values[:, 2:].reshape(len(table), markers, 3) * unit
    positions[(positions == 0.0).all(axis=2)] = np.nan
    up = UP if options.up is None else options.up
    trial = make_trial(path, names, times, positions, frames, up=up, error=table.error)
    return replace(trial, notes=tuple(notes))


def _header(path: Path, lines: list[str]) -> dict[str, str]:
    """Lines 1 to 3: the values by their keys."""
    if not lines[0].strip().lower().startswith("pathfiletype"):
        raise MarkerFileError("a TRC file begins with PathFileType", path, 1)
    order = _ORDER.search(lines[0])
    if order and order.group(1).upper() != "X/Y/Z":
        raise MarkerFileError(
            f"coordinates in the order {order.group(1)} are not known: must be X/Y/Z",
            path,
            1,
        )
    if len(lines) < 4:
        raise MarkerFileError("the file ends within its header", path, len(lines))
    # Some programs put two tabs between values, so columns do not count.
    header = dict(zip(lines[1].split(), lines[2].split(), strict=False))
    for key in _NEEDED:
        if key not in lines[1].split():
            raise MarkerFileError(f"{key} is missing in the header", path, 2)
        if key not in header:
            raise MarkerFileError(f"{key} has no value in the header", path, 3)
    return header


def _number(path: Path, header: dict[str, str], key: str) -> float:
    try:
        return float(header[key])
    except ValueError:
        message = f"{key} is {header[key][:40]!r}, which is no number"
        raise MarkerFileError(message, path, 3) from None


def _count(path: Path, header: dict[str, str], key: str) -> int:
    value = _number(path, header, key)
    if not (1 <= value <= LARGEST_FRAME and value.is_integer()):
        raise MarkerFileError(
            f"{key} must be a count of at least 1, not {value:g}", path, 3
        )
    return int(value)


def _names(path: Path, line: str, markers: int, notes: list[str]) -> tuple[str, ...]:
    """Line 4: names in the third column and every third after it."""
    error = partial(MarkerFileError, path=path, line=4)
    fields = [field.strip() for field in line.split("\t")]
    start = [field.lower() for field in fields[:2]]
    if start not in (["frame#", "time"], ["frame", "time"]):
        raise error("the line of names begins with Frame# and Time")
    labels = fields[2::3]
    between = [name for k, name in enumerate(fields[2:]) if k % 3 and name]
    if between:
        raise error(
            f"'{between[0][:40]}' does not stand above the x of a marker: two empty "
            "columns follow each name"
        )
    columns = len(labels)
    while labels and not labels[-1]:
        labels.pop()  # tabs at the end of the line, or markers without names
    if not len(labels) <= markers <= columns:
        raise error(f"{len(labels)} names of markers, where the header says {markers}")
    labels += [""] * (markers - len(labels))
    return numbered_names(
        labels, "marker", lambda text: notes.append(f"line 4: {text}")
    )


def _samples(path: Path, lines: list[str], width: int) -> tuple[NumberTable, list[str]]:
    """The lines of samples, and their times as printed."""
    first = 4
    if len(lines) > first and re.match(r"\s*X1\b", lines[first], re.I):
        first += 1
    while first < len(lines) and not lines[first].strip():
        first += 1
    last = table_end(lines, first)
    table, times = NumberTable(path, width), []
    for k in range(first, last):
        fields = [field.strip() for field in lines[k].split("\t")]
        table.add(fields, k + 1)
        times.append(fields[1])
    return table, times


def _times(
    table: NumberTable,
    times: np.ndarray,
    frames: np.ndarray,
    texts: list[str],
    rate: float,
) -> np.ndarray:
    """The column of times, without the rounding of its print."""
    table.check_growing(times, "the time")
    if len(times) < 2:
        return times
    even = even_times(times, texts, rate)
    if even is not None:
        return even
    steps = np.diff(times)
    of_frames = (times[-1] - times[0]) / (frames[-1] - frames[0])
    periods = np.array([np.median(steps), of_frames])
    if (np.abs(periods * rate - 1.0) > _RATE_TOLERANCE).all():
        raise table.error(
            f"the header says {rate:g} Hz, the times {1.0 / np.median(steps):g} Hz: "
            "give the rate that is right",
            0,
        )
    return times


def write_trc(
    trial: MarkerTrial, path: Path | str, *, up: str = UP, units: str = "mm"
) -> Path:
    """Write a trial as TRC; numbers come back as they were, to their last digit.

    A marker that is missing leaves its columns blank. A trial of one sample has no
    rate: 100 Hz is written.

    Args:
        trial: what to write.
        path: the file; written whole or not at all.
        up: axis that shall point up in the file.
        units: of the file.

    Raises:
        ParameterError: a name cannot stand in the file, or an option is unknown.
    """
    path, units = Path(path), check_units(units)
    for name in trial.names:
        if not name or name != name.strip() or re.search(r"[\t\r\n\0]", name):
            raise ParameterError(f"a marker called {name!r} cannot be written as TRC")
    rate = trial.rate if len(trial) > 1 else _RATE_OF_ONE_SAMPLE
    count = len(trial)
    keys = "DataRate CameraRate NumFrames NumMarkers Units OrigDataRate"
    keys += " OrigDataStartFrame OrigNumFrames"
    head = (rate, rate, count, len(trial.names), units, rate, trial.frames[0], count)
    numbers = range(1, len(trial.names) + 1)
    lines = [
        f"PathFileType\t4\t(X/Y/Z)\t{path.name}",
        keys.replace(" ", "\t"),
        "\t".join(str(value) for value in head),
        "Frame#\tTime\t" + "\t".join(f"{name}\t\t" for name in trial.names),
        "\t\t" + "\t".join(f"X{k}\tY{k}\tZ{k}" for k in numbers),
        "",
    ]
    positions = from_z_up(trial.positions, up) / METRES[units]
    rows = positions.reshape(count, -1).tolist()
    for frame, time, row in zip(
        trial.frames.tolist(), trial.times.tolist(), rows, strict=True
    ):
        cells = ["" if value != value else repr(value) for value in row]
        lines.append("\t".join([str(frame), repr(time), *cells]))
    write_atomically(path, "\n".join(lines) + "\n")
    return path


_END = "endheader"
_LONGEST_HEADER = 1000
"""Lines in which the header must end."""
_LONGEST_LINE = 200
_DATA_RATE = re.compile(r"data_?rate\s*[=\s]\s*(\d{1,9}(?:\.\d{1,12})?)", re.I)


def read_force_file(path: Path | str, *, up: str = "y") -> tuple[GroundReaction, ...]:
    """Read the forces of the ground from a file of OpenSim.

    Args:
        path: the file, in newtons, metres and seconds.
        up: axis of the file that points up; OpenSim's is y.

    Returns:
        A reaction for each foot or plate, in the file's order, z up; its points are
        NaN where it carries no load.

    Raises:
        MarkerFileError: the file cannot be read, or holds no forces.
        ParameterError: ``up`` is no axis.
    """
    path = Path(path)
    check_up(up)
    lines = read_lines(path)
    header = [line.strip().lower() for line in lines[:_LONGEST_HEADER]]
    if _END not in header:
        raise MarkerFileError(f"no line is '{_END}': it ends the header", path)
    start = header.index(_END) + 1
    while start < len(lines) and not lines[start].strip():
        start += 1
    names = lines[start].split() if start < len(lines) else []
    if not names or names[0].lower() != "time":
        raise MarkerFileError(
            "the first column is not called time", path, min(start + 1, len(lines))
        )
    if len(set(names)) < len(names):
        raise MarkerFileError("two columns have one name", path, start + 1)
    table = NumberTable(path, len(names))
    for number, line in enumerate(lines[start + 1 :], start=start + 2):
        if line.strip():
            table.add(line.split(), number)
    values = table.numbers()
    table.check_growing(values[:, 0], "the time")
    texts = [lines[k - 1].split()[0] for k in table.lines]
    even = even_times(values[:, 0], texts, _rate(path, lines[:start]))
    if even is not None:
        values[:, 0] = even
    columns = {name: values[:, k] for k, name in enumerate(names)}
    prefixes = [name[:-2] for name in names if name.endswith("vx")]
    prefixes = [prefix for prefix in prefixes if _has(columns, prefix, "v", "p")]
    if not prefixes:
        raise MarkerFileError(
            "no columns are a force and its point (as ground_force_vx, ground_force_px "
            "and so on)",
            path,
            start + 1,
        )
    return tuple(_reaction(columns, prefix, up, table) for prefix in prefixes)


def _rate(path: Path, header: list[str]) -> float | None:
    """Samples a second that the header says [Hz]; None: it is silent."""
    for number, line in enumerate(header, start=1):
        said = _DATA_RATE.fullmatch(line.strip()) if len(line) < _LONGEST_LINE else None
        if said:
            error = partial(MarkerFileError, path=path, line=number)
            return check_rate(float(said[1]), error)
    return None


def _has(columns: dict[str, np.ndarray], prefix: str, *words: str) -> bool:
    return all(prefix + word + axis in columns for word in words for axis in "xyz")


def _vectors(columns: dict[str, np.ndarray], prefix: str, up: str) -> np.ndarray:
    return to_z_up(np.stack([columns[prefix + axis] for axis in "xyz"], axis=1), up)


def _reaction(
    columns: dict[str, np.ndarray], prefix: str, up: str, table: NumberTable
) -> GroundReaction:
    force = _vectors(columns, f"{prefix}v", up)
    point = _vectors(columns, f"{prefix}p", up)
    torque = np.zeros(force.shape)
    for word in ("torque", "moment"):
        for letter in ("", "m", "t"):
            name = prefix.replace("force", word) + letter
            if name != prefix and _has(columns, name, ""):
                torque = _vectors(columns, name, up)
    loaded = np.nan_to_num(force[:, 2]) > LEAST_LOAD
    whole = np.isfinite(np.concatenate([force, torque], axis=1)).all(axis=1)
    bad = np.flatnonzero(~whole | (loaded & ~np.isfinite(point).all(axis=1)))
    if bad.size:
        raise table.error(f"a number of '{prefix.strip('_')}' is missing", int(bad[0]))
    point = np.where(loaded[:, None], point, np.nan)
    with np.errstate(invalid="ignore"):
        far = np.flatnonzero((np.abs(point) > FARTHEST).any(axis=1))
    if far.size:
        raise table.error(
            f"the force of '{prefix.strip('_')}' acts more than {FARTHEST:g} m away",
            int(far[0]),
        )
    return GroundReaction(
        prefix.strip("_") or "force", columns["time"], force, point, torque
    )
