# SPDX-License-Identifier: Apache-2.0
"""Files of markers, whatever their format.

*Optotrak tables* (CSV), as of the HuMAnS experiments. One line a sample, three columns
(x, y, z) an LED (manual, section 9.6). An LED that was not seen reads -3.6973E+028.
Real files differ: columns are parted by commas, semicolons or tabs, with decimal commas
where commas are free; a line of names may stand above the numbers, with numbers of
frames or times in the first columns if it says so; lines such as ``Frequency: , 100``
may stand above that.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from humans_sim.observation.markers.assemble import (
    NumberTable,
    ReadOptions,
    check_rate,
    even_times,
    length_of,
    make_trial,
    numbered_names,
    read_lines,
    table_end,
    tallest_axis,
)
from humans_sim.observation.markers.c3d_file import read_c3d
from humans_sim.observation.markers.trc_file import read_trc
from humans_sim.observation.markers.trial import MarkerFileError, MarkerTrial

OCCLUDED = -3.6973e28
"""What the Optotrak writes for each coordinate of an LED that it did not see."""
UNITS = "mm"
RATE = 100.0
"""Units and rate of files that say nothing about them [Hz]."""
_NEVER = -1e20
"""Numbers below stand for :data:`OCCLUDED`, however they were rounded."""
_LONGEST = 300
"""Characters of a label, or of a line above the table; searches in longer ones last."""
_FRAME = re.compile(r"(frame|sample|sampling|item|index)s?\b.*|n|no\.?|nr\.?|#|", re.I)
_TIME = re.compile(r"(time|t)(\W.*)?", re.I)
_PREAMBLE = re.compile(r"\s*\"?([A-Za-z][\w ]*?)\s*:\s*\"?[\s,;]*(.*?)[\s,;\"]*")
_DECIMAL_COMMA = re.compile(r"^([+-]?\d*),(\d*(?:[eE][+-]?\d+)?)$")
_COORDINATES = (
    re.compile(r"(?P<name>.*?)[\s_.:\-\[(]*(?P<axis>[xyz])[\])]?", re.I),
    re.compile(r"(?P<axis>[xyz])[\s_.:\-]*(?P<name>.*)", re.I),
)


def read_optotrak(path: Path, options: ReadOptions) -> MarkerTrial:
    """Read a table of positions.

    LEDs without names are called ``led1``, ``led2``, ... By default lengths are in mm,
    samples come at 100 Hz, and up is the axis along which the markers' mean positions
    lie furthest apart.

    Raises:
        MarkerFileError: it is no sound table.
    """
    lines = read_lines(path)
    preamble, first = _preamble(lines)
    if first == len(lines):
        raise MarkerFileError("the file holds no samples", path)
    separator = next((sign for sign in "\t;," if sign in lines[first]), None)
    if separator is None:
        raise MarkerFileError(
            "no tab, semicolon or comma parts the columns", path, first + 1
        )
    unit, rate = _said(path, preamble, options)
    heading = _fields(lines[first], separator)
    named = any(field and not _is_number(field) for field in heading)
    leading: list[str] = []
    notes: list[str] = []
    if named:
        leading, names = _names(path, heading, first + 1, notes)
        first += 1
    else:
        width = len(heading) - (len(heading) % 3 == 1 and not heading[-1])
        if width % 3:
            raise MarkerFileError(
                f"{width} columns are not three for each LED", path, first + 1
            )
        names = tuple(f"led{k}" for k in range(1, width // 3 + 1))
    table = NumberTable(path, len(leading) + 3 * len(names))
    for k in range(first, table_end(lines, first)):
        table.add(_fields(lines[k], separator), k + 1)
    values = table.numbers()
    frames = np.arange(1, len(table) + 1)
    if "frame" in leading:
        frames = table.frames(values[:, leading.index("frame")])
    times = (frames - frames[0]) / rate
    if "time" in leading and options.rate is None:
        column = leading.index("time")
        times = values[:, column]
        table.check_growing(times, "the time")
        texts = [_fields(lines[k - 1], separator)[column] for k in table.lines]
        even = even_times(times, texts, rate if "frequency" in preamble else None)
        times = times if even is None else even
    text, line = preamble.get("number of frames", (str(len(table)), 1))
    if not _is_number(text) or float(text) != len(table):
        message = f"the header says {text[:40]} frames, but {len(table)} follow"
        raise MarkerFileError(message, path, line)
    positions = values[:, len(leading) :].reshape(len(table), len(names), 3)
    positions[(positions < _NEVER).any(axis=2)] = np.nan
    positions *= unit
    up = tallest_axis(positions) if options.up is None else options.up
    trial = make_trial(path, names, times, positions, frames, up=up, error=table.error)
    return replace(trial, notes=tuple(notes))


def _fields(line: str, separator: str) -> list[str]:
    """Fields of a line without quotes; decimal commas become points."""
    fields = [field.strip().strip('"').strip() for field in line.split(separator)]
    if separator != ",":
        fields = [_DECIMAL_COMMA.sub(r"\1.\2", field) for field in fields]
    return fields


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _preamble(lines: list[str]) -> tuple[dict[str, tuple[str, int]], int]:
    """Lines ``key: value`` above the table, with their numbers, and where it begins."""
    columns: dict[str, tuple[str, int]] = {}
    for k, line in enumerate(lines):
        match = _PREAMBLE.fullmatch(line) if len(line) <= _LONGEST else None
        if match and not re.search(r"[,;\t]", match.group(2)):
            columns[match.group(1).lower()] = match.group(2), k + 1
        elif line.strip(" \t,;"):
            return columns, k
    return columns, len(lines)


def _said(
    path: Path, preamble: dict[str, tuple[str, int]], options: ReadOptions
) -> tuple[float, float]:
    """Length of the unit [m] and rate [Hz]."""
    word, line = preamble.get("units", (UNITS, 1))
    unit = length_of(word, options, partial(MarkerFileError, path=path, line=line))
    if options.rate is not None:
        return unit, options.rate
    text, line = preamble.get("frequency", (str(RATE), 1))
    error = partial(MarkerFileError, path=path, line=line)
    if not _is_number(text):
        raise error(f"a frequency of '{text[:40]}' is no number")
    return unit, check_rate(float(text), error)


def _names(
    path: Path, heading: list[str], line: int, notes: list[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Kinds of the first columns (``frame``, ``time``), and names of the LEDs."""
    error = partial(MarkerFileError, path=path, line=line)
    leading: list[str] = []
    for word, pattern in (("frame", _FRAME), ("time", _TIME)):
        if pattern.fullmatch(heading[len(leading)]) and len(heading) > len(leading) + 3:
            leading.append(word)
    labels = heading[len(leading) :]
    while len(labels) % 3 and not labels[-1]:
        labels.pop()
    if len(labels) % 3:
        raise error(f"{len(labels)} columns of coordinates are not three for each LED")
    names = [
        _name(labels[k : k + 3], k // 3 + 1, error) for k in range(0, len(labels), 3)
    ]
    return leading, numbered_names(
        names, "LED", lambda text: notes.append(f"line {line}: {text}")
    )


def _name(
    labels: list[str], number: int, error: Callable[[str], MarkerFileError]
) -> str:
    """Name of one LED from the three labels above its columns."""
    if max(map(len, labels)) > _LONGEST:
        raise error(f"the label '{labels[0][:40]}' is too long")
    for pattern in _COORDINATES:
        parts = [pattern.fullmatch(label) for label in labels]
        if all(parts):
            axes = "".join(part["axis"].lower() for part in parts if part)
            stems = {part["name"].strip() for part in parts if part}
            if axes == "xyz" and len(stems) == 1:
                stem = stems.pop()
                return f"led{stem or number}" if not stem or stem.isdigit() else stem
    first, second, third = labels
    if second in ("", first) and third == second:
        return first or f"led{number}"
    raise error(
        f"'{first[:40]}', '{second[:40]}', '{third[:40]}' are no x, y and z of one LED"
    )


READERS: dict[str, Callable[[Path, ReadOptions], MarkerTrial]] = {
    ".c3d": read_c3d,
    ".csv": read_optotrak,
    ".trc": read_trc,
    ".tsv": read_optotrak,
    ".txt": read_optotrak,
}
"""What reads a file, by the ending of its name."""


def read_markers(
    path: Path | str,
    *,
    up: str | None = None,
    units: str | None = None,
    rate: float | None = None,
) -> MarkerTrial:
    """Read markers from a TRC, C3D or HuMAnS/Optotrak CSV file.

    Args:
        path: the file; its ending says the format.
        up: axis of the file that points up: x, -x, y, -y, z or -z. By default what
            the file says (C3D), y (TRC), or the axis along which the markers lie
            furthest apart (CSV).
        units: of the file, e.g. mm, cm or m; by default what the file says, or mm.
        rate: samples a second [Hz]; by default what the file says, or 100 (CSV).

    Returns:
        The markers in metres, z up, NaN where they were not seen.

    Raises:
        MarkerFileError: the file cannot be read; the message names the line, or in a
            C3D file the parameter or the byte.
        ParameterError: an option cannot be used.
    """
    path, options = Path(path), ReadOptions(up, units, rate)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise MarkerFileError(
            f"files ending in '{path.suffix}' are not known: must be "
            f"one of {', '.join(READERS)}",
            path,
        )
    return reader(path, options)
