# SPDX-License-Identifier: Apache-2.0
"""Files of a reconstruction: tables, motions, everything, a page.

Also the forces of its motion, with plates or without.
"""

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
    write_external_loads,
    write_generalised_forces,
)
from humans_sim.analysis.inverse_dynamics import InverseDynamics, inverse_dynamics
from humans_sim.core.lazy_names import registered
from humans_sim.models.conventions import HUMANS
from humans_sim.observation.markers.force_plate import ForcePlate, GroundReaction
from humans_sim.observation.markers.marker_set import MarkerSet
from humans_sim.observation.markers.trc_file import read_force_file, write_trc
from humans_sim.observation.posture.export import write_angles_csv, write_forces_csv
from humans_sim.observation.posture.humans_tables import (
    humans_coordinates,
    write_humans_csv,
    write_rec_pos_bin,
    write_std_csv,
    write_tab_table,
)
from humans_sim.observation.posture.opensim_files import write_osim, write_std_sto
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.observation.reconstruction_options import (
    SCENES,
    USUAL_FORMATS,
    ReconstructionOptions,
    check_formats,
)

_AXES = ("fx", "fy", "fz", "mx", "my", "mz")


@dataclass(frozen=True, eq=False)
class ForceResults:
    """Forces of a motion.

    Attributes:
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
            "correlation": None
            if vertical is None
            else json_number(vertical.correlation),
            "rms": None if vertical is None else json_number(vertical.rms),
            "residual_force": [json_number(value) for value in residual.force_rms],
            "residual_force_max": json_number(residual.force_max),
            "residual_moment": [json_number(value) for value in residual.moment_rms],
            "residual_moment_max": json_number(residual.moment_max),
            "largest_shift": float(np.abs(self.dynamics.shift).max()),
            "notes": list(self.dynamics.notes),
        }


def analyse_forces(
    result: Reconstruction,
    options: ReconstructionOptions | None = None,
    mass: float | None = None,
) -> ForceResults:
    """Inverse dynamics of a reconstruction, and how markers alone agree with plates.

    The mass of the body [kg] is by the plates, else that of the model, where it is
    not given.

    Raises:
        HumansError: the file of forces is wrong, or the motion is too short.
    """
    options = options or ReconstructionOptions()
    plates: Sequence[ForcePlate | GroundReaction] = ()
    if options.plates:
        plates = result.trial.plates
        if options.force_file is not None:
            plates = read_force_file(options.force_file, up=options.up or "y")
    reduce = options.reduce_residual
    dynamics = inverse_dynamics(result, plates, mass=mass, reduce_residual=reduce)
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
    whether plates measured all; ``<name>_forces.sto`` and ``<name>_loads.mot`` are for
    OpenSim, and written with ``opensim``.
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


def json_number(value: float) -> float | None:
    """A number that JSON has, or None."""
    return float(value) if np.isfinite(value) else None


def write_reconstruction(
    result: Reconstruction,
    folder: Path,
    name: str,
    *,
    formats: Sequence[str] = USUAL_FORMATS,
    report: bool = True,
    forces: ForceResults | None = None,
    title: str = "",
    convention: str | Path = HUMANS,
    marker_set: MarkerSet | None = None,
) -> tuple[Path, ...]:
    """Write a reconstruction, each file whole or not at all.

    Args:
        result: what was reconstructed.
        folder: made if it is not there.
        name: of the files, without an ending.
        formats: of ``reconstruction_options.FORMATS``.
        report: whether a page is written too.
        forces: of the motion, to be written and shown too.
        title: of the page; empty: the name.
        convention: of the angles in the table, the motion, the model and the page.
        marker_set: of the person, for ``osim``; None: the model's tags.

    Raises:
        ParameterError: a format or the convention is unknown.
    """
    check_formats(formats)
    paths: list[Path] = []
    if "csv" in formats:
        paths += write_humans_csv(result, folder, name)
        if str(convention) != HUMANS:
            table = folder / f"JointAngles{name}.csv"
            paths.append(write_angles_csv(result, table, convention))
        if result.std is not None:
            paths.append(write_std_csv(result, folder / f"StdPos{name}.csv"))
    if "bin" in formats:
        coordinates = humans_coordinates(result)
        paths.append(write_rec_pos_bin(folder / f"RecPosBin{name}", coordinates))
    if "tab" in formats:
        table, top = folder / f"RecPos{name}.txt", result.model.humans.coordinate_names
        coordinates = humans_coordinates(result)
        paths.append(write_tab_table(table, coordinates, "\t".join(top)))
    if "mot" in formats:
        paths.append(result.to_mot(folder / f"{name}.mot", convention))
        if result.std is not None:
            paths.append(write_std_sto(result, folder / f"{name}_std.sto"))
    if "osim" in formats:
        body = folder / f"{name}.osim"
        paths.append(write_osim(result.model, body, marker_set, convention))
    if "trc" in formats:
        paths.append(write_trc(result.trial, folder / f"{name}.trc"))
    if "mcap" in formats:
        from humans_sim.observation.posture.export import write_mcap

        scene = registered("posture_topics")(result)
        paths.append(write_mcap(result, folder / f"{name}.mcap", scene))
    if "npz" in formats:
        paths.append(result.save(folder / f"{name}.npz"))
    for word in SCENES:
        if word in formats:
            paths.append(registered("animate")(result, folder / f"{name}.{word}"))
    if forces is not None:
        paths += write_forces(forces.dynamics, folder, name, "mot" in formats)
    if report:
        # Plots take long to load: whoever wants no page does not wait for them.
        page = folder / f"{name}.html"
        paths.append(
            registered("write_posture_report")(
                result,
                page,
                title or name,
                dynamics=None if forces is None else forces.dynamics,
                comparison=None if forces is None else forces.comparison,
                convention=convention,
            )
        )
    return tuple(paths)
