# SPDX-License-Identifier: Apache-2.0
"""The tables that HuMAnS wrote of a reconstruction (manual, section 9.6.3).

One line a sample, its number first; one line of names above:

======================  ==============================================================
``RecPos<number>.csv``  coordinates ``QREC1``... of HuMAnS, joints then base [rad, m]
``TagPos<number>.csv``  ``X1, Y1, Z1``... of the tags, then of the centre of mass [m]
``COMPos<number>.csv``  the same of the segments' centres of mass, then of the body's
======================  ==============================================================

Positions are on HuMAnS axes: x forward, y up, z right. Numbers are written so that
reading them gives the same bits. The manual's fourth file, RecPosBin, is written by
:mod:`~humans_sim.observation.posture.humans_tables`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.core.files import write_lines
from humans_sim.observation.markers.errors import MarkerFileError
from humans_sim.observation.markers.text_file import NumberTable, read_lines
from humans_sim.observation.posture.result import Reconstruction

_CORNER = "Sample"
STD_BASE = ("base_x", "base_y", "base_z", "base_rx", "base_ry", "base_rz")
"""Columns of the base among standard deviations."""


def write_humans_csv(
    result: Reconstruction, folder: Path | str, number: str = "001"
) -> tuple[Path, Path, Path]:
    """Write RecPos, TagPos and COMPos files.

    Args:
        result: what was reconstructed.
        folder: where to; made if need be.
        number: of the trial, with which the manual's names end.

    Returns:
        The paths of the three files.

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

    Args:
        result: what was reconstructed, with standard deviations.
        path: the file.

    Returns:
        The path.

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

    Args:
        result: what was reconstructed.
        which: of its frames.

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
    """Read a RecPos file.

    Args:
        path: the file.

    Returns:
        Numbers of the samples (n,) and HuMAnS coordinates (n, nv);
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
