# SPDX-License-Identifier: Apache-2.0
"""HuMAnS tables: matrices with commas or tabs, RecPosBin, results, subjects.

``WriteInCsvFile`` and ``WriteInFile`` of the manual (section 9.6.7), and the binary
file of section 9.6.3. Of that one the manual prints a name and no layout. Here it is:
two 32-bit whole numbers, NDOF and NSamplings, then QREC column by column as 64-bit
numbers, all little-endian. Scilab reads it by::

    f = mopen("RecPosBin106", "rb"); n = mget(2, "il", f);
    QREC = matrix(mget(n(1) * n(2), "dl", f), n(1), n(2)); mclose(f);

*Tables of a reconstruction* (manual, section 9.6.3). One line a sample, its number
first; one line of names above:

======================  ==============================================================
``RecPos<number>.csv``  coordinates ``QREC1``... of HuMAnS, joints then base [rad, m]
``TagPos<number>.csv``  ``X1, Y1, Z1``... of the tags, then of the centre of mass [m]
``COMPos<number>.csv``  the same of the segments' centres of mass, then of the body's
======================  ==============================================================

Positions are on HuMAnS axes: x forward, y up, z right. Numbers are written so that
reading them gives the same bits. The manual's fourth file is RecPosBin.

``ReconstructionParameters.csv`` has the sizes of subjects, one column each. The
manual's file of section 9.6.2, whose figure is lost. The first column names the rows:
``Subject``, the 31 anatomical lengths ``L1``... and the 84 distances from tags to
joints ``X1, Y1, Z1``..., all in metres on HuMAnS axes. Each further column is a
subject, or a test of one: its number is XX or XXYY...Y. A set that is saved goes into a
new column at the end.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from humans_sim.core.errors import ConfigurationError, HumansError, ParameterError
from humans_sim.core.files import atomic_stream, is_file, write_lines
from humans_sim.models.catalogue import load_model
from humans_sim.models.model import Model
from humans_sim.observation.markers.assemble import (
    NumberTable,
    read_lines,
    read_marker_bytes,
)
from humans_sim.observation.markers.marker_set import SetMarker
from humans_sim.observation.markers.trial import MarkerFileError
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.observation.posture.subject import Subject

_HEAD = struct.Struct("<ii")


def write_csv_table(
    path: Path | str, matrix: np.ndarray, columns: Sequence[str], rows: Sequence[str]
) -> Path:
    """Write a matrix M (n, m) with names, parted by commas (WriteInCsvFile).

    Names of the columns are HText (m,); the corner, then those of the rows, VText (n +
    1,).

    Raises:
        ParameterError: the names do not fit the matrix, or hold a comma.
    """
    matrix = _matrix(matrix)
    if (len(rows), len(columns)) != (matrix.shape[0] + 1, matrix.shape[1]):
        raise ParameterError(
            f"a matrix of {matrix.shape[0]} x {matrix.shape[1]} needs {len(matrix)} + "
            f"1 names of rows and {matrix.shape[1]} of columns, not {len(rows)} and "
            f"{len(columns)}"
        )
    for name in (*rows, *columns):
        _check_name(name, ",")
    lines = [",".join([rows[0], *columns])]
    for name, row in zip(rows[1:], matrix.tolist(), strict=True):
        lines.append(",".join([name, *map(repr, row)]))
    write_lines(Path(path), lines)
    return Path(path)


def write_tab_table(path: Path | str, matrix: np.ndarray, text: str) -> Path:
    """Write a matrix M (n, m) under a line of text, parted by tabs (WriteInFile)."""
    _check_name(text, "\n")
    rows = ["\t".join(map(repr, row)) for row in _matrix(matrix).tolist()]
    write_lines(Path(path), [text, *rows])
    return Path(path)


def write_rec_pos_bin(path: Path | str, coordinates: np.ndarray) -> Path:
    """Write a motion, HuMAnS coordinates (n, nv), as RecPosBin."""
    coordinates = _matrix(coordinates)
    with atomic_stream(Path(path)) as stream:
        stream.write(_HEAD.pack(coordinates.shape[1], coordinates.shape[0]))
        stream.write(np.ascontiguousarray(coordinates, dtype="<f8").tobytes())
    return Path(path)


def read_rec_pos_bin(path: Path | str) -> np.ndarray:
    """Read a RecPosBin file: HuMAnS coordinates, one row a sample (n, nv).

    Raises:
        MarkerFileError: it is no sound RecPosBin file.
    """
    path = Path(path)
    data = read_marker_bytes(path)
    if len(data) < _HEAD.size:
        raise MarkerFileError("the file ends in its head", path)
    size, samples = _HEAD.unpack_from(data)
    if size < 1 or samples < 1 or len(data) != _HEAD.size + 8 * size * samples:
        raise MarkerFileError(
            f"its head says {size} coordinates in {samples} samples, which are not "
            f"the {len(data) - _HEAD.size} bytes that follow",
            path,
        )
    values = np.frombuffer(data, "<f8", offset=_HEAD.size).reshape(samples, size)
    if not np.isfinite(values).all():
        raise MarkerFileError("a coordinate is not a finite number", path)
    return values.astype(float)


def _matrix(matrix: np.ndarray) -> np.ndarray:
    matrix = np.asarray(matrix, dtype=float)
    if matrix.ndim != 2:
        raise ParameterError(f"must be a matrix, not shape {matrix.shape}")
    return matrix


def _check_name(name: str, separator: str) -> None:
    if separator in name or "\n" in name or "\r" in name:
        raise ParameterError(f"the text {name!r} would break the table")


_CORNER = "Sample"
STD_BASE = ("base_x", "base_y", "base_z", "base_rx", "base_ry", "base_rz")
"""Columns of the base among standard deviations."""


def write_humans_csv(
    result: Reconstruction, folder: Path | str, number: str = "001"
) -> tuple[Path, Path, Path]:
    """Write RecPos, TagPos and COMPos files of a trial's number; gives their paths.

    Raises:
        ConfigurationError: in a frame the base is where its angles are singular.
    """
    folder = Path(folder)
    view, samples = result.model.humans, result.trial.frames
    coordinates = [f"QREC{k + 1}" for k in range(result.model.nv)]
    first = humans_coordinates(result, slice(0, 1))
    tags, coms = view.tags(first[0]).size, view.com(first[0]).size
    parts: dict[str, tuple[list[str], Callable[[np.ndarray], np.ndarray]]] = {
        "RecPos": (coordinates, lambda row: row),
        "TagPos": (_axes(tags), lambda row: view.tags(row).ravel()),
        "COMPos": (_axes(coms), lambda row: view.com(row).ravel()),
    }
    paths = []
    for word, (names, values) in parts.items():
        path = folder / f"{word}{number}.csv"
        rows = map(values, _rows(result))
        write_lines(path, _table([_CORNER, *names], samples, rows))
        paths.append(path)
    return paths[0], paths[1], paths[2]


def write_std_csv(result: Reconstruction, path: Path | str) -> Path:
    """Write standard deviations: one line a sample, its number first.

    The columns are named: base along [m] and about [rad] the world's axes, joints
    [rad].

    Raises:
        ParameterError: it has no standard deviations.
    """
    path = Path(path)
    if result.std is None:
        raise ParameterError("this reconstruction has no standard deviations")
    names = [_CORNER, *STD_BASE, *result.model.joint_names]
    write_lines(path, _table(names, result.trial.frames, result.std))
    return path


def _rows(result: Reconstruction) -> Iterator[np.ndarray]:
    """HuMAnS coordinates of each frame, worked out as they are written."""
    for k in range(len(result.q)):
        yield humans_coordinates(result, slice(k, k + 1))[0]


def humans_coordinates(
    result: Reconstruction, which: slice = slice(None)
) -> np.ndarray:
    """The motion in HuMAnS coordinates (n, nv), e.g. q1..q42 of Human36.

    Raises:
        ConfigurationError: in a frame the base is where its angles are singular.
    """
    rows = []
    frames = result.trial.frames[which].tolist()
    for frame, q in zip(frames, result.q[which], strict=True):
        try:
            rows.append(result.model.humans.from_pin(q)[0])
        except ConfigurationError as error:
            raise ConfigurationError(f"frame {frame}: {error}") from error
    return np.array(rows)


def _axes(count: int) -> list[str]:
    """``X1, Y1, Z1``..., the last three those of the body's centre of mass."""
    points = [str(k + 1) for k in range(count // 3 - 1)] + ["GlobalCOM"]
    return [f"{axis}{point}" for point in points for axis in "XYZ"]


def _table(
    names: Sequence[str], samples: np.ndarray, rows: Iterable[np.ndarray]
) -> Iterator[str]:
    """Lines of a table, the numbers of the samples first."""
    yield ",".join(names)
    for sample, row in zip(samples.tolist(), rows, strict=True):
        yield ",".join([str(sample), *map(repr, row.tolist())])


def read_rec_pos(path: Path | str) -> tuple[np.ndarray, np.ndarray]:
    """Read a RecPos file: numbers of the samples (n,), HuMAnS coordinates (n, nv).

    ``model.humans.to_pin`` makes configurations of these.

    Raises:
        MarkerFileError: it is no sound RecPos file.
    """
    path = Path(path)
    lines = read_lines(path)
    names = [name.strip() for name in lines[0].split(",")]
    if len(names) < 2 or names[1:] != [f"QREC{k}" for k in range(1, len(names))]:
        raise MarkerFileError("the names should be QREC1, QREC2, ...", path, 1)
    table = NumberTable(path, len(names))
    for number, line in enumerate(lines[1:], start=2):
        table.add([field.strip() for field in line.split(",")], number)
    values = table.numbers()
    if np.isnan(values).any():
        row = int(np.argwhere(np.isnan(values))[0, 0])
        raise table.error("a coordinate is missing", row)
    return table.frames(values[:, 0]), values[:, 1:]


MODEL = "human36"
_SUBJECT = "Subject"
_STATURE = ("l_yfoot", "l_ytibia", "l_yfemur", "yvT10", "yvC7", "yhead")
"""Lengths that are the height of the vertex together."""


def read_reconstruction_parameters(path: Path | str) -> dict[str, Subject]:
    """Read the subjects of a file of parameters, by their numbers.

    Stature is the height of the vertex; mass is the model's usual one, since the file
    has none (:func:`dataclasses.replace` gives another). Markers are the model's tags,
    at the distances of the file.

    Args:
        path: the file.

    Raises:
        MarkerFileError: it is no sound file of parameters.
    """
    path, model = Path(path), load_model(MODEL)
    names, lines = _row_names(model), read_lines(path)
    table = [[field.strip() for field in line.split(",")] for line in lines]
    if len(table) != len(names):
        raise MarkerFileError(
            f"the file has {len(table)} lines, not {len(names)}: {_SUBJECT}, "
            f"{len(model.lengths)} lengths, {3 * len(model.tag_names)} distances",
            path,
        )
    width = len(table[0])
    for line, (name, row) in enumerate(zip(names, table, strict=True), start=1):
        if row[0] != name or len(row) != width or width < 2:
            raise MarkerFileError(
                f"must be a line of {name} with {width - 1} values", path, line
            )
    subjects: dict[str, Subject] = {}
    for column in range(1, width):
        number = table[0][column]
        if not number.isdecimal() or number in subjects:
            raise MarkerFileError(
                f"column {column + 1}: '{number[:20]}' is no number of a subject, or "
                "stands twice",
                path,
                1,
            )
        values = np.array(
            [_number(table[k][column], path, k + 1) for k in range(1, len(table))]
        )
        try:
            subjects[number] = _subject(model, number, values)
        except HumansError as error:
            raise MarkerFileError(f"subject {number}: {error}", path) from error
    return subjects


def write_reconstruction_parameters(
    path: Path | str, number: str, person: Subject | Model | None = None
) -> Path:
    """Save the sizes of a person as a new column at the end of a file of parameters.

    Args:
        path: the file; made if it is not there.
        number: of the subject: XX, or XXYY...Y for a test of one.
        person: a subject or a model; None: the model as it is by default.

    Raises:
        ParameterError: the number is none, or stands in the file already.
        MarkerFileError: the file that is there cannot be read.
    """
    path = Path(path)
    model = person if isinstance(person, Model) else load_model(MODEL)
    if isinstance(person, Subject):
        model = person.model()
        places = {m.name: m.at for m in person.markers if m.name in model.tag_names}
        model = model.with_tag_positions(places)
    if model.name != MODEL:
        raise ParameterError(f"parameters are those of {MODEL}, not of {model.name}")
    if not number.isdecimal():
        raise ParameterError(f"'{number}' is no number of a subject, such as 01")
    values = [*model.lengths.values(), *model.tag_positions.ravel().tolist()]
    column = [number, *(repr(float(value)) for value in values)]
    before = _row_names(model)
    if is_file(path):
        if number in read_reconstruction_parameters(path):
            raise ParameterError(f"{path} has a subject {number} already")
        before = read_lines(path)
    pairs = zip(before, column, strict=True)
    write_lines(path, [f"{old},{new}" for old, new in pairs])
    return path


def _row_names(model: Model) -> list[str]:
    points = [f"{a}{k + 1}" for k in range(len(model.tag_names)) for a in "XYZ"]
    return [_SUBJECT, *(f"L{k + 1}" for k in range(len(model.lengths))), *points]


def _subject(model: Model, number: str, values: np.ndarray) -> Subject:
    count = len(model.lengths)
    lengths = dict(zip(model.lengths, map(float, values[:count]), strict=True))
    body = model.with_lengths(lengths)
    places = np.reshape(values[count:], (-1, 3))
    markers = tuple(
        SetMarker(tag.name, tag.link, place)
        for tag, place in zip(body.parts.tags, places, strict=True)
    )
    stature = sum(lengths[name] for name in _STATURE)
    title = f"subject {number}"
    return Subject(MODEL, stature, body.mass, lengths, markers, title)


def _number(text: str, path: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value) or "_" in text or abs(value) > 10.0:
        raise MarkerFileError(f"'{text[:20]}' is no length in metres", path, line)
    return value
