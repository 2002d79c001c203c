# SPDX-License-Identifier: Apache-2.0
"""The tables that HuMAnS wrote of a reconstruction (manual, section 9.6.3).

One line a sample, its number first; one line of names above:

======================  ==============================================================
``RecPos<number>.csv``  coordinates ``QREC1``... of HuMAnS, joints then base [rad, m]
``TagPos<number>.csv``  ``X1, Y1, Z1``... of the tags, then of the centre of mass [m]
``COMPos<number>.csv``  the same of the segments' centres of mass, then of the body's
======================  ==============================================================

Positions are on HuMAnS axes: x forward, y up, z right. Numbers are written so that
reading them gives the same bits. The manual's fourth file, RecPosBin, is Scilab's
binary form of the first and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from humans_sim.core.errors import ConfigurationError
from humans_sim.core.files import write_atomically
from humans_sim.observation.markers.errors import MarkerFileError
from humans_sim.observation.markers.text_file import NumberTable, read_lines
from humans_sim.observation.posture.result import Reconstruction

_CORNER = "Sample"


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
    q_h = humans_coordinates(result)
    view = result.model.humans
    samples = result.trial.frames
    coordinates = [f"QREC{k + 1}" for k in range(q_h.shape[1])]
    tags = np.array([view.tags(row).ravel() for row in q_h])
    coms = np.array([view.com(row).ravel() for row in q_h])
    return (
        _write(folder / f"RecPos{number}.csv", coordinates, samples, q_h),
        _write(folder / f"TagPos{number}.csv", _axes(tags), samples, tags),
        _write(folder / f"COMPos{number}.csv", _axes(coms), samples, coms),
    )


def humans_coordinates(result: Reconstruction) -> np.ndarray:
    """The motion in HuMAnS coordinates (n, nv), e.g. q1..q42 of Human36.

    Raises:
        ConfigurationError: in a frame the base is where its angles are singular.
    """
    rows = []
    for frame, q in zip(result.trial.frames.tolist(), result.q, strict=True):
        try:
            rows.append(result.model.humans.from_pin(q)[0])
        except ConfigurationError as error:
            raise ConfigurationError(f"frame {frame}: {error}") from error
    return np.array(rows)


def _axes(values: np.ndarray) -> list[str]:
    """``X1, Y1, Z1``..., the last three those of the body's centre of mass."""
    points = [str(k + 1) for k in range(values.shape[1] // 3 - 1)] + ["GlobalCOM"]
    return [f"{axis}{point}" for point in points for axis in "XYZ"]


def _write(
    path: Path, names: Sequence[str], samples: np.ndarray, values: np.ndarray
) -> Path:
    lines = [",".join([_CORNER, *names])]
    for sample, row in zip(samples.tolist(), values.tolist(), strict=True):
        lines.append(",".join([str(sample), *map(repr, row)]))
    write_atomically(path, "\n".join(lines) + "\n")
    return path


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
