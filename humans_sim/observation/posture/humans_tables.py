# SPDX-License-Identifier: Apache-2.0
"""Matrices as HuMAnS wrote them: comma tables, tab tables, and RecPosBin.

``WriteInCsvFile`` and ``WriteInFile`` of the manual (section 9.6.7), and the binary
file of section 9.6.3. Of that one the manual prints a name and no layout. Here it is:
two 32-bit whole numbers, NDOF and NSamplings, then QREC column by column as 64-bit
numbers, all little-endian. Scilab reads it by::

    f = mopen("RecPosBin106", "rb"); n = mget(2, "il", f);
    QREC = matrix(mget(n(1) * n(2), "dl", f), n(1), n(2)); mclose(f);
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.core.files import atomic_stream, write_lines
from humans_sim.observation.markers.errors import MarkerFileError
from humans_sim.observation.markers.text_file import read_marker_bytes

_HEAD = struct.Struct("<ii")


def write_csv_table(
    path: Path | str, matrix: np.ndarray, columns: Sequence[str], rows: Sequence[str]
) -> Path:
    """Write a matrix with names, parted by commas (WriteInCsvFile).

    Args:
        path: the file.
        matrix: M (n, m).
        columns: names of the columns, HText (m,).
        rows: the corner, then names of the rows, VText (n + 1,).

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
    """Write a matrix under a line of text, parted by tabs (WriteInFile).

    Args:
        path: the file.
        matrix: M (n, m).
        text: the first line.
    """
    _check_name(text, "\n")
    rows = ["\t".join(map(repr, row)) for row in _matrix(matrix).tolist()]
    write_lines(Path(path), [text, *rows])
    return Path(path)


def write_rec_pos_bin(path: Path | str, coordinates: np.ndarray) -> Path:
    """Write a motion as RecPosBin.

    Args:
        path: the file.
        coordinates: HuMAnS coordinates, one row a sample (n, nv).
    """
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
        raise ParameterError(f"a matrix is wanted, not shape {matrix.shape}")
    return matrix


def _check_name(name: str, separator: str) -> None:
    if separator in name or "\n" in name or "\r" in name:
        raise ParameterError(f"the text {name!r} would break the table")
