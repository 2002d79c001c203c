# SPDX-License-Identifier: Apache-2.0
r"""Our joint angles of a recording beside those of another program, in its convention.

The other program's angles are an OpenSim motion (``.mot``) or points of a C3D file that
are called after angles (Plug-in Gait: ``LHipAngles``, or with a letter after it). For
every angle that both have: the correlation, the mean difference, and the spread of the
difference about it. A negative correlation of an angle that moves is a wrong sign, or a
posture that differs.

    python benchmarks/convention_angles.py static.c3d walk.c3d walk.c3d \
        --marker-set plug-in-gait --convention plug-in-gait
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.applications.person import calibrate_recordings

MOVES = 1.0
"""Spread above which the correlation of an angle says something [degrees]."""


def motion_file(path: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times and columns of an OpenSim motion in degrees."""
    head, _, body = path.read_text().partition("endheader\n")
    if "inDegrees=yes" not in head:
        raise SystemExit(f"{path} is not in degrees")
    names, *rows = body.strip().splitlines()
    values = np.array([row.split() for row in rows], dtype=float)
    columns = dict(zip(names.split(), values.T, strict=True))
    return columns.pop("time"), columns


def point_angles(path: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Angles that a C3D file stores as points, by our names; NaN where it has none."""
    from humans_sim.observation.markers.c3d_writer import ezc3d_module

    recorded = ezc3d_module().c3d(str(path))
    labels = recorded["parameters"]["POINT"]["LABELS"]["value"]
    points = recorded["data"]["points"]
    columns = {}
    for name in names:
        word, _, axis = name.rpartition("_")
        places = [k for k, label in enumerate(labels) if word and word in label]
        if places and axis in "XYZ":
            values = points["XYZ".index(axis), places[0]]
            columns[name] = np.where(values == 0.0, np.nan, values)
    return columns


def main() -> int:
    """Print the table; exits with 1 if an angle that moves has r below zero."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("static", type=Path)
    parser.add_argument("trial", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--marker-set", required=True)
    parser.add_argument("--convention", default="opensim")
    parser.add_argument("--heavy", default="", help="markers of ten times the weight")
    arguments = parser.parse_args()
    subject = calibrate_recordings([arguments.static], arguments.marker_set).subject
    heavy = arguments.heavy.split(",")
    marker_set = replace(
        subject.marker_set(),
        markers=tuple(
            replace(marker, weight=10 * marker.weight)
            if marker.name in heavy
            else marker
            for marker in subject.markers
        ),
    )
    result = hs.reconstruct(subject.model(), arguments.trial, marker_set)
    angles = result.angles(arguments.convention)
    ours = dict(zip(angles.names, angles.in_degrees().T, strict=True))
    times = result.t
    if arguments.reference.suffix == ".mot":
        times, theirs = motion_file(arguments.reference)
    else:
        theirs = point_angles(arguments.reference, angles.names)
    table = Table(title=f"{arguments.convention}, {result.rms * 1e3:.1f} mm rms")
    for column in ("angle", "r", "offset [°]", "rms about it [°]", "moves [°]"):
        table.add_column(column, justify="left" if column == "angle" else "right")
    wrong = 0
    for name, reference in theirs.items():
        if name not in ours or name.endswith(("_tx", "_ty", "_tz")):
            continue
        values = np.interp(times, result.t, ours[name])
        seen = np.isfinite(reference)
        spread = float(np.std(reference[seen]))
        difference = values[seen] - reference[seen]
        r = float(np.corrcoef(values[seen], reference[seen])[0, 1])
        wrong += r < 0 and spread > MOVES
        table.add_row(
            name,
            f"{r:+.2f}",
            f"{difference.mean():+.1f}",
            f"{difference.std():.1f}",
            f"{spread:.1f}",
        )
    Console().print(table)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
