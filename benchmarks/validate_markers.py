# SPDX-License-Identifier: Apache-2.0
"""Angles from markers beside OpenSim's and Vicon's, forces beside plates.

Three recorded people are calibrated, from their static trial alone and from static
trial and walk together; their walks are reconstructed, as the commands do. The
recordings are no part of the repository: ``--data`` names their folder, or the variable
``HUMANS_SIM_DATA`` does.

``--write`` brings the tables of ``docs/validation.md`` and its figures up to date.
Exits with 1 if a figure is missed that the tests ask for.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import humans_sim as hs

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "helpers"))

from marker_validation import (  # noqa: E402
    JOINTS,
    RECORDINGS,
    SIDES,
    Outcome,
    Recording,
    direct_ankle,
    forces_beside_plates,
    measure,
    misses,
)

PAGE = ROOT / "docs" / "validation.md"
IMAGES = ROOT / "docs" / "images"
THEIRS, STATIC, BOTH = "#222222", "#d9822b", "#1f6fb4"
SIDE = {"r": "right", "l": "left"}
MOTION = {"hip": "hip flexion", "knee": "knee flexion", "ankle": "ankle dorsiflexion"}
SEGMENTS = ("pelvis", "thigh", "knee", "shank", "foot", "trunk and arms")
DOTS, COLOURS = 100, 48
"""Of the figures, to the inch; few colours make small files."""

People = dict[Recording, tuple[Outcome, Outcome]]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def calibration_table(people: People) -> str:
    """Residuals and standing."""
    rows = []
    for recording, outcomes in people.items():
        for label, outcome in zip(("static", "static + walk"), outcomes, strict=True):
            worst = max(outcome.standing, key=lambda n: abs(outcome.standing[n]))
            ankles = (outcome.standing[f"{side}_ankle_pitch"] for side in SIDES)
            rows.append(
                [
                    recording.name,
                    label,
                    f"{1e3 * outcome.walk.rms:.1f} mm",
                    f"{outcome.standing[worst]:+.1f}° ({worst})",
                    ", ".join(f"{angle:+.1f}°" for angle in ankles),
                    f"{100 * outcome.calibration.subject.height:.0f} cm",
                ]
            )
    head = ("recording", "calibrated from", "walk, rms", "standing, furthest of a leg")
    return table([*head, "ankles, right and left", "stature"], rows)


def angle_table(people: People) -> str:
    """Correlations, shapes and offsets."""
    rows = []
    for recording, (static, both) in people.items():
        for (side, joint), curve in both.curves.items():
            alone = static.curves[side, joint]
            rows.append(
                [
                    recording.program,
                    f"{SIDE[side]} {joint}",
                    f"{alone.r:.3f}",
                    f"**{curve.r:.3f}**",
                    f"{alone.shape:.1f}°",
                    f"**{curve.shape:.1f}°**",
                    f"{alone.offset:+.1f}°",
                    f"{curve.offset:+.1f}°",
                ]
            )
    head = ["beside", "angle"]
    for quantity in ("r", "shape", "offset"):
        head += [f"{quantity}, static", f"{quantity}, static + walk"]
    return table(head, rows)


def segment_table(people: People) -> str:
    """Residuals of the walk by where markers are."""
    rows = []
    for recording, (_, both) in people.items():
        segments = {m.name: m.segment for m in both.calibration.subject.markers}
        named = zip(both.walk.trial.names, both.walk.marker_means, strict=True)
        means: dict[str, list[float]] = {group: [] for group in SEGMENTS}
        for name, mean in named:
            if name in segments:
                means[_group(name, segments[name])].append(mean)
        cells = [f"{1e3 * np.mean(m):.0f}" if m else "" for m in means.values()]
        rows.append([recording.name, *cells])
    return table(["recording", *(f"{group} [mm]" for group in SEGMENTS)], rows)


def _group(marker: str, segment: str) -> str:
    if segment.endswith("thigh") and ("KNE" in marker.upper()):
        return "knee"
    for ending, group in (("base_link", "pelvis"), ("thigh", "thigh")):
        if segment.endswith(ending):
            return group
    for group in ("shank", "foot"):
        if segment.endswith(group):
            return group
    return "trunk and arms"


def ankle_table(data: Path, people: People) -> str:
    """The ankle's correlation, with a model and without."""
    rows = []
    for recording, (static, both) in people.items():
        if not recording.program:
            continue
        direct = direct_ankle(data, recording)
        for side in SIDES:
            rows.append(
                [
                    recording.program,
                    SIDE[side],
                    f"{direct[side]:.3f}",
                    f"{static.curves[side, 'ankle'].r:.3f}",
                    f"{both.curves[side, 'ankle'].r:.3f}",
                ]
            )
    head = ["beside", "ankle", "markers alone, no model", "static", "static + walk"]
    return table(head, rows)


def force_table(forces: dict[Recording, hs.ForceComparison]) -> str:
    """Vertical forces beside plates, and what plates leave over."""
    rows = []
    for recording, force in forces.items():
        feet = [force.feet[name] for name in sorted(force.feet, reverse=True)]
        left = force.residual
        rows.append(
            [
                recording.name,
                f"{force.mass:.1f} kg",
                ", ".join(f"{foot.correlation:.3f}" for foot in feet),
                ", ".join(f"{100 * foot.rms:.1f} %" for foot in feet),
                f"{force.total.correlation:.3f}, {100 * force.total.rms:.1f} %",
                ", ".join(f"{100 * part:.1f}" for part in left.force_rms) + " %",
                f"{100 * left.force_norm_rms:.1f} %",
            ]
        )
    head = ["recording", "mass by plates", "r, right and left foot", "rms"]
    head += ["sum of the feet: r, rms", "residual x, y, z", "residual, whole"]
    return table(head, rows)


def draw_angles(recording: Recording, static: Outcome, both: Outcome) -> Figure:
    """Curves of six joints."""
    figure = Figure(figsize=(9.5, 5.2), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True, sharey="col")
    for row, side in enumerate(SIDES):
        for column, joint in enumerate(JOINTS):
            axes: Axes = panels[row, column]
            curve, alone = both.curves[side, joint], static.curves[side, joint]
            axes.plot(curve.t, curve.theirs, color=THEIRS, lw=2.2)
            axes.plot(alone.t, alone.ours, color=STATIC, lw=1.2, ls="--")
            axes.plot(curve.t, curve.ours, color=BOTH, lw=1.5)
            text = f"r {curve.r:.3f}, shape {curve.shape:.1f}°"
            text += f", offset {curve.offset:+.1f}°"
            axes.set_title(f"{SIDE[side]} {MOTION[joint]}\n{text}", fontsize=9)
            axes.grid(alpha=0.3)
            axes.tick_params(labelsize=8)
            if row == 1:
                axes.set_xlabel("time [s]", fontsize=9)
            if column == 0:
                axes.set_ylabel("angle [deg]", fontsize=9)
    lines = panels[0, 0].lines
    names = [recording.program, "calibrated from static trial"]
    names.append("from static trial and walk")
    figure.legend(lines, names, loc="outside lower center", ncols=3, fontsize=9)
    return figure


def draw_forces(forces: dict[Recording, hs.ForceComparison]) -> Figure:
    """Vertical forces of the walks, foot by foot."""
    figure = Figure(figsize=(9.5, 4.6), layout="constrained")
    panels = figure.subplots(2, len(forces), sharey=True, sharex="col")
    for column, (recording, force) in enumerate(forces.items()):
        weight = 9.81 * force.mass
        for row, name in enumerate(sorted(force.feet, reverse=True)):
            axes: Axes = panels[row, column]
            rows = force.plates.measured
            measured = np.where(rows, force.plates.feet[name][:, 2] / weight, np.nan)
            axes.plot(force.plates.t, measured, color=THEIRS, lw=2.2)
            alone = force.alone.feet[name][:, 2] / weight
            axes.plot(force.alone.t, alone, color=BOTH, lw=1.5)
            foot = force.feet[name]
            text = f"r {foot.correlation:.3f}, rms {100 * foot.rms:.0f} % of the weight"
            side = SIDE[name[0]]
            axes.set_title(f"{recording.name}, {side} foot\n{text}", fontsize=9)
            axes.grid(alpha=0.3)
            axes.tick_params(labelsize=8)
            if row == 1:
                axes.set_xlabel("time [s]", fontsize=9)
    for axes in panels[:, 0]:
        axes.set_ylabel("vertical force\n[body weights]", fontsize=9)
    figure.legend(
        panels[0, 0].lines,
        ["force plates", "markers alone"],
        loc="outside lower center",
        ncols=2,
        fontsize=9,
    )
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a picture of few colours."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=DOTS)
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(COLOURS).save(path, optimize=True)


def replaced(page: str, name: str, text: str) -> str:
    """A page with another table between two comments."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{PAGE.name} has no place for the table '{name}'")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def main() -> int:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    given = os.environ.get("HUMANS_SIM_DATA")
    parser.add_argument(
        "--data", type=Path, default=given, required=given is None, help="recordings"
    )
    parser.add_argument(
        "--write", action="store_true", help="bring docs/validation.md up to date"
    )
    arguments = parser.parse_args()
    data = Path(arguments.data).expanduser()
    missing = [r.walk for r in RECORDINGS if not (data / r.walk).is_file()]
    if missing:
        print(f"{data} has no {', '.join(missing)}: give --data", file=sys.stderr)
        return 2
    people: People = {}
    forces: dict[Recording, hs.ForceComparison] = {}
    failures = []
    for recording in RECORDINGS:
        outcomes = tuple(measure(data, recording, motion=m) for m in (False, True))
        people[recording] = outcomes
        forces[recording] = forces_beside_plates(data, recording, outcomes[1])
        failures += misses(recording, *outcomes)
    tables = {
        "calibration": calibration_table(people),
        "angles": angle_table(people),
        "ankles": ankle_table(data, people),
        "segments": segment_table(people),
        "forces": force_table(forces),
    }
    for name, text in tables.items():
        print(f"{name}\n\n{text}\n")
    if arguments.write:
        page = PAGE.read_text()
        for name, text in tables.items():
            page = replaced(page, name, text)
        PAGE.write_text(page)
        for recording, outcomes in people.items():
            if recording.program:
                path = IMAGES / f"validation_{recording.program.lower()}.png"
                save(draw_angles(recording, *outcomes), path)
        save(draw_forces(forces), IMAGES / "validation_forces.png")
    for failure in failures:
        print(f"missed: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
