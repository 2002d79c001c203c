# SPDX-License-Identifier: Apache-2.0
"""OpenSim's motion files (``.mot``): coordinates over time, degrees and metres."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.core.files import write_lines
from humans_sim.models.axes import to_humans
from humans_sim.models.conventions import BASE_COLUMNS as BASE_COLUMNS
from humans_sim.models.conventions import HUMANS

if TYPE_CHECKING:  # a result writes itself by this file
    from humans_sim.observation.posture.result import Reconstruction

_AT_ONCE = 1000
"""Rows that are worked out at once."""


def write_mot(
    result: Reconstruction, path: Path | str, convention: str | Path = HUMANS
) -> Path:
    """Write a reconstruction as an OpenSim motion.

    After the time [s] come the base and the joints, with the names and signs of a
    convention; it plays on the ``.osim`` of the same convention. The base is given on
    the axes of OpenSim's ground (x forward, y up, z right): tilt about z, list about x,
    rotation about y, each about the axes turned so far [degrees], then the position of
    its origin [m]. Angles of the base run on over half turns.

    Args:
        result: what was reconstructed.
        path: the file; written whole or not at all.
        convention: name of a convention, or the path of one's own.

    Returns:
        The path.
    """
    path = Path(path)
    angles = result.angles(convention)
    parts = (
        np.column_stack([result.t[rows], angles.in_degrees(rows)])
        for rows in _parts(len(result.q))
    )
    head = ["time", *angles.names]
    write_lines(path, _lines(path.stem, len(result.q), head, parts))
    return path


def write_std_sto(result: Reconstruction, path: Path | str) -> Path:
    """Write standard deviations of a reconstruction as an OpenSim storage (``.sto``).

    The columns are those of the motion in the model's own names, whatever convention
    the motion has [degrees, m]. The base's are about and along the axes of OpenSim's
    ground.

    Args:
        result: what was reconstructed, with standard deviations.
        path: the file; written whole or not at all.

    Returns:
        The path.

    Raises:
        ParameterError: it has no standard deviations.
    """
    path = Path(path)
    if result.std is None:
        raise ParameterError("this reconstruction has no standard deviations")
    head = ["time", *BASE_COLUMNS, *result.model.joint_names]
    write_lines(
        path, _lines(path.stem, len(result.q), head, _spreads(result, result.std))
    )
    return path


def _parts(count: int) -> Iterator[slice]:
    """Rows, some at a time."""
    for first in range(0, count, _AT_ONCE):
        yield slice(first, first + _AT_ONCE)


def _spreads(result: Reconstruction, std: np.ndarray) -> Iterator[np.ndarray]:
    """Rows of standard deviations, some at a time; world x, y, z are x, -z, y there."""
    for rows in _parts(len(std)):
        along, about = np.abs(to_humans(std[rows, :3])), std[rows, 3:6]
        # Tilt about z, list about x, rotation about y of the ground.
        turns = np.abs(to_humans(about))[:, [2, 0, 1]]
        yield np.column_stack(
            [
                result.t[rows],
                np.degrees(turns),
                along,
                np.degrees(std[rows, 6:].astype(float)),
            ]
        )


def _lines(
    title: str, count: int, head: list[str], parts: Iterable[np.ndarray]
) -> Iterator[str]:
    """Lines of a storage."""
    yield from (
        title,
        "version=1",
        f"nRows={count}",
        f"nColumns={len(head)}",
        "inDegrees=yes",
        "endheader",
        "\t".join(head),
    )
    for part in parts:
        for row in part.tolist():
            yield "\t".join(map(repr, row))
