# SPDX-License-Identifier: Apache-2.0
"""Angles of a reconstruction in a convention as a table (``.csv``)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from humans_sim.core.files import write_atomically
from humans_sim.models.conventions import HUMANS
from humans_sim.observation.posture.result import Reconstruction


def write_angles_csv(
    result: Reconstruction, path: Path | str, convention: str | Path = HUMANS
) -> Path:
    """Write a line of names, then one a sample: time [s], angles [degrees].

    The position of the base is in metres, on the axes x forward, y up, z right.

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
    lines = [",".join(["time", *angles.names])]
    lines += [",".join(map(repr, row)) for row in values.tolist()]
    write_atomically(path, "\n".join(lines) + "\n")
    return path
