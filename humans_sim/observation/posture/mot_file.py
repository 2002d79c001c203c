# SPDX-License-Identifier: Apache-2.0
"""OpenSim's motion files (``.mot``): coordinates over time, degrees and metres."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from humans_sim.core.files import write_atomically
from humans_sim.models.conventions import BASE_COLUMNS as BASE_COLUMNS
from humans_sim.models.conventions import HUMANS

if TYPE_CHECKING:  # a result writes itself by this file
    from humans_sim.observation.posture.result import Reconstruction


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
    values = np.column_stack([result.t, angles.in_degrees()])
    columns = ["time", *angles.names]
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
