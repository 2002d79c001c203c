# SPDX-License-Identifier: Apache-2.0
"""What is written of a reconstruction: tables, motions, everything, a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from humans_sim.applications.force_analysis import ForceResults, write_forces
from humans_sim.core.errors import ParameterError
from humans_sim.core.registry import registered
from humans_sim.models.conventions import HUMANS
from humans_sim.observation.markers.marker_set import MarkerSet
from humans_sim.observation.markers.trc_file import write_trc
from humans_sim.observation.posture.angles_csv import write_angles_csv
from humans_sim.observation.posture.humans_csv import (
    humans_coordinates,
    write_humans_csv,
    write_std_csv,
)
from humans_sim.observation.posture.humans_tables import (
    write_rec_pos_bin,
    write_tab_table,
)
from humans_sim.observation.posture.mot_file import write_std_sto
from humans_sim.observation.posture.osim_file import write_osim
from humans_sim.observation.posture.result import Reconstruction

_SCENES = ("glb", "x3d", "wrl")
FORMATS = ("csv", "mot", "osim", "trc", "mcap", "npz", "bin", "tab", *_SCENES)
"""What can be written of a reconstruction."""
USUAL_FORMATS = ("csv", "mot", "npz")
"""What is written where nothing else is said."""


def check_formats(formats: Sequence[str]) -> None:
    """Refuse unknown formats.

    Raises:
        ParameterError: one is not in :data:`FORMATS`.
    """
    for word in formats:
        if word not in FORMATS:
            raise ParameterError(
                f"'{word}' is not one of the formats {', '.join(FORMATS)}"
            )


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
        formats: of :data:`FORMATS`.
        report: whether a page is written too.
        forces: of the motion, to be written and shown too.
        title: of the page; empty: the name.
        convention: of the angles in the table, the motion, the model and the page.
        marker_set: of the person, for ``osim``; None: the model's tags.

    Returns:
        The files.

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
    if "bin" in formats or "tab" in formats:
        paths += _write_coordinates(result, folder, name, formats)
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
        from humans_sim.observation.posture.mcap_file import write_mcap

        scene = registered("posture_topics")(result)
        paths.append(write_mcap(result, folder / f"{name}.mcap", scene))
    if "npz" in formats:
        paths.append(result.save(folder / f"{name}.npz"))
    for word in _SCENES:
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


def _write_coordinates(
    result: Reconstruction, folder: Path, name: str, formats: Sequence[str]
) -> list[Path]:
    """Write HuMAnS coordinates as the manual's RecPosBin, and as a table of tabs."""
    coordinates, paths = humans_coordinates(result), []
    if "bin" in formats:
        paths.append(write_rec_pos_bin(folder / f"RecPosBin{name}", coordinates))
    if "tab" in formats:
        text = "\t".join(result.model.humans.coordinate_names)
        paths.append(write_tab_table(folder / f"RecPos{name}.txt", coordinates, text))
    return paths
