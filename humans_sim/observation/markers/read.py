# SPDX-License-Identifier: Apache-2.0
"""Files of markers, whatever their format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from humans_sim.observation.markers.assemble import ReadOptions
from humans_sim.observation.markers.c3d_file import read_c3d
from humans_sim.observation.markers.errors import MarkerFileError
from humans_sim.observation.markers.optotrak_file import read_optotrak
from humans_sim.observation.markers.trc_file import read_trc
from humans_sim.observation.markers.trial import MarkerTrial

READERS: dict[str, Callable[[Path, ReadOptions], MarkerTrial]] = {
    ".c3d": read_c3d,
    ".csv": read_optotrak,
    ".trc": read_trc,
    ".tsv": read_optotrak,
    ".txt": read_optotrak,
}
"""What reads a file, by the ending of its name."""


def read_markers(
    path: Path | str,
    *,
    up: str | None = None,
    units: str | None = None,
    rate: float | None = None,
) -> MarkerTrial:
    """Read markers from a TRC, C3D or HuMAnS/Optotrak CSV file.

    Args:
        path: the file; its ending says the format.
        up: axis of the file that points up: x, -x, y, -y, z or -z. By default what
            the file says (C3D), y (TRC), or the axis along which the markers lie
            furthest apart (CSV).
        units: of the file, e.g. mm, cm or m; by default what the file says, or mm.
        rate: samples a second [Hz]; by default what the file says, or 100 (CSV).

    Returns:
        The markers in metres, z up, NaN where they were not seen.

    Raises:
        MarkerFileError: the file cannot be read; the message names the line, or in a
            C3D file the parameter or the byte.
        ParameterError: an option cannot be used.
    """
    path, options = Path(path), ReadOptions(up, units, rate)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise MarkerFileError(
            f"files ending in '{path.suffix}' are not known: one of "
            f"{', '.join(READERS)} is wanted",
            path,
        )
    return reader(path, options)
