# SPDX-License-Identifier: Apache-2.0
"""Forces of a motion as OpenSim reads them: generalised forces and external loads.

Axes are those of OpenSim's ground: x forward, y up, z right.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.analysis.inverse_dynamics import InverseDynamics
from humans_sim.core.files import write_atomically
from humans_sim.models.axes import ROS_FROM_HUMANS, to_humans
from humans_sim.observation.posture.mot_file import BASE_COLUMNS

_TITLE = "Inverse Dynamics Generalized Forces"
"""By which OpenSim's tools know such a file."""


def write_generalised_forces(dynamics: InverseDynamics, path: Path | str) -> Path:
    """Write the generalised forces (``.sto``), as OpenSim's inverse dynamics does.

    After the time [s] come those of the base, which are the residual: moments about the
    axes of its three angles, then the force; then ``<joint>_moment`` [N m, N].
    Coordinates and their signs are those of the motion file
    (:func:`~humans_sim.observation.posture.mot_file.write_mot`).

    Args:
        dynamics: forces of a motion.
        path: the file; written whole or not at all.

    Returns:
        The path.
    """
    base = [f"{name}_moment" for name in BASE_COLUMNS[:3]]
    base += [f"{name}_force" for name in BASE_COLUMNS[3:]]
    joints = [f"{name}_moment" for name in dynamics.model.joint_names]
    values = [dynamics.t[:, None], _base_moments(dynamics)]
    values += [to_humans(dynamics.residual[:, :3]), dynamics.torques]
    return _write(path, _TITLE, ["time", *base, *joints], np.hstack(values))


def write_external_loads(dynamics: InverseDynamics, path: Path | str) -> Path:
    """Write the forces of the ground on the feet (``.mot``).

    Columns are ``ground_force_r_vx`` and so on of the force, ``ground_force_r_px`` of
    the centre of pressure on the floor, ``ground_torque_r_x`` of the moment about it,
    for the right and the left foot; a foot without load keeps its last point.
    :func:`humans_sim.read_force_file` reads it.

    Args:
        dynamics: forces of a motion.
        path: the file; written whole or not at all.

    Returns:
        The path.
    """
    names, values = ["time"], [dynamics.t[:, None]]
    for sole in sorted(dynamics.feet, reverse=True):
        side = sole.removesuffix("_sole")
        names += [f"ground_force_{side}_v{axis}" for axis in "xyz"]
        names += [f"ground_force_{side}_p{axis}" for axis in "xyz"]
        names += [f"ground_torque_{side}_{axis}" for axis in "xyz"]
        reaction = dynamics.reaction(sole)
        values += [to_humans(reaction.force), to_humans(_held(reaction.point))]
        values += [to_humans(reaction.torque)]
    return _write(path, Path(path).stem, names, np.hstack(values))


def _base_moments(dynamics: InverseDynamics) -> np.ndarray:
    """The residual's moment about the axes of tilt, list and rotation (n, 3)."""
    to_ground = Rotation.from_matrix(ROS_FROM_HUMANS.T)
    attitudes = Rotation.from_quat(dynamics.q[:, 3:7])
    angles = (to_ground * attitudes * to_ground.inv()).as_euler("ZXY")
    tilt = Rotation.from_euler("Z", angles[:, :1])
    tilt_list = Rotation.from_euler("ZX", angles[:, :2])
    axes = np.stack(
        [
            np.tile([0.0, 0.0, 1.0], (len(angles), 1)),
            tilt.apply([1.0, 0.0, 0.0]),
            tilt_list.apply([0.0, 1.0, 0.0]),
        ],
        axis=1,
    )
    moments: np.ndarray = np.einsum(
        "nij,nj->ni", axes, to_humans(dynamics.residual[:, 3:])
    )
    return moments


def _held(points: np.ndarray) -> np.ndarray:
    """Points, the nearest one in time where there is none; zero without any."""
    there = np.flatnonzero(np.isfinite(points).all(axis=1))
    if not len(there):
        return np.zeros_like(points)
    rows = np.arange(len(points))
    after = np.clip(np.searchsorted(there, rows), 0, len(there) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.abs(there[before] - rows) <= np.abs(there[after] - rows)
    held: np.ndarray = points[np.where(nearer, there[before], there[after])]
    return held


def _write(
    path: Path | str, title: str, names: Sequence[str], values: np.ndarray
) -> Path:
    path = Path(path)
    lines = [
        title,
        "version=1",
        f"nRows={len(values)}",
        f"nColumns={len(names)}",
        "inDegrees=no",
        "endheader",
        "\t".join(names),
    ]
    lines += ["\t".join(map(repr, row)) for row in values.tolist()]
    write_atomically(path, "\n".join(lines) + "\n")
    return path
