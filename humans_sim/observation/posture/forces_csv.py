# SPDX-License-Identifier: Apache-2.0
"""Torques of the joints and the ground's reaction as a table (``.csv``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from humans_sim.core.files import write_atomically

GROUND = ("ground_fx", "ground_fy", "ground_fz", "ground_mx", "ground_my", "ground_mz")
"""Columns of the ground's force and moment [N, N m]."""


class Forces(Protocol):
    """What inverse dynamics say of a motion."""

    @property
    def t(self) -> np.ndarray:
        """Times (n,) [s]."""

    @property
    def torques(self) -> np.ndarray:
        """Of the joints (n, joints) [N m]."""

    @property
    def ground(self) -> np.ndarray | None:
        """Force and moment of the ground (n, 6) [N, N m]; None where unknown."""


def write_forces_csv(
    forces: Forces,
    joints: Sequence[str],
    path: Path | str,
    columns: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Write a line of names, then one a sample: time [s], torques, the ground.

    Args:
        forces: what inverse dynamics say.
        joints: names of the joints.
        path: the file; written whole or not at all.
        columns: what follows, by name (n,) each.

    Returns:
        The path.
    """
    path = Path(path)
    names = ["time", *joints]
    values = [forces.t[:, None], forces.torques]
    if forces.ground is not None:
        names += GROUND
        values.append(forces.ground)
    for name, column in (columns or {}).items():
        names.append(name)
        values.append(column[:, None])
    lines = [",".join(names)]
    lines += [",".join(map(repr, row)) for row in np.hstack(values).tolist()]
    write_atomically(path, "\n".join(lines) + "\n")
    return path
