# SPDX-License-Identifier: Apache-2.0
"""Forces of a reconstructed motion as a user asks for them: with plates or without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.analysis.force_comparison import (
    ForceComparison,
    compared_rows,
    comparison,
    residual_summary,
)
from humans_sim.analysis.inverse_dynamics import InverseDynamics, inverse_dynamics
from humans_sim.analysis.opensim_forces import (
    write_external_loads,
    write_generalised_forces,
)
from humans_sim.observation.markers.force_file import read_force_file
from humans_sim.observation.markers.force_plate import ForcePlate
from humans_sim.observation.markers.ground_reaction import GroundReaction
from humans_sim.observation.posture.forces_csv import write_forces_csv
from humans_sim.observation.posture.result import Reconstruction

_AXES = ("fx", "fy", "fz", "mx", "my", "mz")


@dataclass(frozen=True)
class ForceOptions:
    """What is known of the forces of a recording.

    Attributes:
        file: forces of the ground (OpenSim's ``.mot`` or ``.sto``); None: those of the
            recording.
        up: axis of the file that points up.
        plates: whether plates are used at all.
        mass: of the body [kg]; None: by the plates, else that of the model.
        reduce_residual: whether the body is shifted to agree with the plates.
    """

    file: Path | None = None
    up: str = "y"
    plates: bool = True
    mass: float | None = None
    reduce_residual: bool = False


@dataclass(frozen=True, eq=False)
class ForceResults:
    """Forces of a motion.

    Attributes:
        dynamics: torques and ground reaction.
        comparison: of the plates with the markers alone; None where no foot stepped on
            a plate.
    """

    dynamics: InverseDynamics
    comparison: ForceComparison | None = None

    def summary(self) -> dict[str, Any]:
        """Numbers for tables; forces in body weights, moments times stature."""
        residual = residual_summary(self.dynamics)
        vertical = None if self.comparison is None else self.comparison.vertical
        return {
            "mass": self.dynamics.mass,
            "covered": float(self.dynamics.measured.mean()),
            "correlation": None if vertical is None else _number(vertical.correlation),
            "rms": None if vertical is None else _number(vertical.rms),
            "residual_force": [_number(value) for value in residual.force_rms],
            "residual_force_max": _number(residual.force_max),
            "residual_moment": [_number(value) for value in residual.moment_rms],
            "residual_moment_max": _number(residual.moment_max),
            "largest_shift": float(np.abs(self.dynamics.shift).max()),
            "notes": list(self.dynamics.notes),
        }


def analyse_forces(
    result: Reconstruction, options: ForceOptions | None = None
) -> ForceResults:
    """Inverse dynamics of a reconstruction, and how markers alone agree with plates.

    Raises:
        HumansError: the file of forces is wrong, or the motion is too short.
    """
    options = options or ForceOptions()
    plates: Sequence[ForcePlate | GroundReaction] = ()
    if options.plates:
        plates = result.trial.plates
        if options.file is not None:
            plates = read_force_file(options.file, up=options.up)
    dynamics = inverse_dynamics(
        result,
        plates,
        mass=options.mass,
        reduce_residual=options.reduce_residual,
    )
    if not any(compared_rows(dynamics, sole).any() for sole in dynamics.feet):
        return ForceResults(dynamics)
    alone = inverse_dynamics(result, (), mass=dynamics.mass)
    return ForceResults(dynamics, comparison(alone, dynamics))


def write_forces(
    dynamics: InverseDynamics, folder: Path, name: str, opensim: bool = True
) -> tuple[Path, ...]:
    """Write the forces of a motion, each file whole or not at all.

    ``Forces<name>.csv`` has the time, torques of the joints, the ground's force and
    moment about the origin, the same of each sole, the residual at the base, and
    whether plates measured all; ``<name>_forces.sto`` and ``<name>_loads.mot`` are
    for OpenSim.

    Args:
        dynamics: forces of a motion.
        folder: where to.
        name: of the files.
        opensim: whether the two files for OpenSim are written too.

    Returns:
        The files.
    """
    columns = {
        f"{sole}_{axis}": wrench[:, k]
        for sole, wrench in dynamics.feet.items()
        for k, axis in enumerate(_AXES)
    }
    for k, axis in enumerate(_AXES):
        columns[f"residual_{axis}"] = dynamics.residual[:, k]
    columns["measured"] = dynamics.measured.astype(float)
    joints = dynamics.model.joint_names
    paths = [write_forces_csv(dynamics, joints, folder / f"Forces{name}.csv", columns)]
    if opensim:
        paths.append(write_generalised_forces(dynamics, folder / f"{name}_forces.sto"))
        paths.append(write_external_loads(dynamics, folder / f"{name}_loads.mot"))
    return tuple(paths)


def _number(value: float) -> float | None:
    """A number that JSON has."""
    return float(value) if np.isfinite(value) else None
