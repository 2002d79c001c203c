# SPDX-License-Identifier: Apache-2.0
"""Force files of OpenSim (``.mot``, ``.sto``): forces of the ground on the feet.

Each foot or plate has columns ``..._vx``, ``..._vy``, ``..._vz`` for the force,
``..._px`` and so on for the point at which it acts, and mostly a torque, in a column
of the same name with torque or moment for force.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np

from humans_sim.observation.markers.assemble import FARTHEST, check_rate
from humans_sim.observation.markers.axes import check_up, to_z_up
from humans_sim.observation.markers.errors import MarkerFileError
from humans_sim.observation.markers.ground_reaction import LEAST_LOAD, GroundReaction
from humans_sim.observation.markers.sample_times import even_times
from humans_sim.observation.markers.text_file import NumberTable, read_lines

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
    start = next(
        (
            k
            for k, line in enumerate(lines[:_LONGEST_HEADER], start=1)
            if line.strip().lower() == _END
        ),
        None,
    )
    if start is None:
        raise MarkerFileError(f"no line is '{_END}': it ends the header", path)
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
