# SPDX-License-Identifier: Apache-2.0
"""OpenSim's motion files (``.mot``): coordinates over time, degrees and metres."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.core.errors import ParameterError
from humans_sim.core.files import write_lines
from humans_sim.models.axes import ROS_FROM_HUMANS, to_humans

if TYPE_CHECKING:  # a result writes itself by this file
    from humans_sim.observation.posture.result import Reconstruction

BASE_COLUMNS = (
    "base_tilt",
    "base_list",
    "base_rotation",
    "base_tx",
    "base_ty",
    "base_tz",
)
"""Columns of the base, as those of a pelvis in OpenSim's models of the body."""
_AT_ONCE = 1000
"""Rows that are worked out at once."""


def write_mot(result: Reconstruction, path: Path | str) -> Path:
    """Write a reconstruction as an OpenSim motion.

    After the time [s] come the base and the joints, which keep the names of the model.
    The base is given on the axes of OpenSim's ground (x forward, y up, z right): tilt
    about z, list about x, rotation about y, each about the axes turned so far
    [degrees], then the position of its origin [m]. Angles of the base run on over half
    turns.

    Args:
        result: what was reconstructed.
        path: the file; written whole or not at all.

    Returns:
        The path.
    """
    path = Path(path)
    head = ["time", *BASE_COLUMNS, *result.model.joint_names]
    write_lines(path, _lines(path.stem, len(result.q), head, _motion(result)))
    return path


def write_std_sto(result: Reconstruction, path: Path | str) -> Path:
    """Write standard deviations of a reconstruction as an OpenSim storage (``.sto``).

    The columns are those of the motion [degrees, m]. The base's are about and along
    the axes of OpenSim's ground.

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


def _motion(result: Reconstruction) -> Iterator[np.ndarray]:
    """Rows of the motion, some at a time."""
    to_ground = Rotation.from_matrix(ROS_FROM_HUMANS.T)
    last = np.zeros(3)
    for first in range(0, len(result.q), _AT_ONCE):
        rows = slice(first, first + _AT_ONCE)
        q = result.q[rows]
        attitudes = to_ground * Rotation.from_quat(q[:, 3:7]) * to_ground.inv()
        angles = attitudes.as_euler("ZXY")
        # Angles run on over half turns, from one part to the next as well.
        angles = np.unwrap(np.vstack([last, angles]) if first else angles, axis=0)
        angles = angles[1:] if first else angles
        last = angles[-1]
        yield np.column_stack(
            [
                result.t[rows],
                np.degrees(angles),
                to_humans(q[:, :3]),
                np.degrees(q[:, 7:]),
            ]
        )


def _spreads(result: Reconstruction, std: np.ndarray) -> Iterator[np.ndarray]:
    """Rows of standard deviations, some at a time; world x, y, z are x, -z, y there."""
    for first in range(0, len(std), _AT_ONCE):
        rows = slice(first, first + _AT_ONCE)
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
