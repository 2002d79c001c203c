# SPDX-License-Identifier: Apache-2.0
"""OpenSim's motion files (``.mot``): coordinates over time, degrees and metres."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.core.files import write_atomically
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
    columns = ["time", *BASE_COLUMNS, *result.model.joint_names]
    to_ground = Rotation.from_matrix(ROS_FROM_HUMANS.T)
    attitudes = to_ground * Rotation.from_quat(result.q[:, 3:7]) * to_ground.inv()
    angles = np.unwrap(attitudes.as_euler("ZXY"), axis=0)
    values = np.column_stack(
        [
            result.t,
            np.degrees(angles),
            to_humans(result.q[:, :3]),
            np.degrees(result.q[:, 7:]),
        ]
    )
    lines = [
        path.stem,
        "version=1",
        f"nRows={len(values)}",
        f"nColumns={len(columns)}",
        "inDegrees=yes",
        "endheader",
        "\t".join(columns),
    ]
    lines += ["\t".join(map(repr, row)) for row in values.tolist()]
    write_atomically(path, "\n".join(lines) + "\n")
    return path
